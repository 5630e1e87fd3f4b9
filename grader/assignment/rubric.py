"""The rubric: what an assignment asks for, what each check is worth, and what may be used."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from grader.assignment.questions import MILESTONE, Questions
from grader.assignment.usual import OTHER_NAMES, SYNONYMS

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=80)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=80)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Points = Annotated[Decimal, Field(gt=0, max_digits=8, decimal_places=3)]
Seconds = Annotated[float, Field(gt=0, le=3600)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Model):
    """What one submission may take.

    Attributes:
        load_seconds: for running the submission's modules.
        call_seconds: for one call of the student's code.
        check_seconds: for all calls of one check.
        submission_seconds: for all of it.
        memory_mb: memory of the worker on top of what it starts with.
        trains: whether checks train, so that workers have optimizers ready.
    """

    load_seconds: Seconds = 30
    call_seconds: Seconds = 10
    check_seconds: Seconds = 30
    submission_seconds: Seconds = 180
    memory_mb: Annotated[int, Field(ge=256)] = 2048
    trains: bool = False


class Component(_Model):
    """A definition that the assignment asks for.

    Attributes:
        name: its name.
        arguments: a function's arguments, or a class's constructor's, in order.
        forward: the arguments of a module's forward, in order; None for a function.
        keywords: the arguments that are passed by name, where a parameter has that name.
        other_names: further names under which it is found, before those that are usual anyway.
    """

    name: Text
    arguments: tuple[Text, ...]
    forward: tuple[Text, ...] | None = None
    keywords: tuple[Text, ...] = ()
    other_names: tuple[Text, ...] = ()

    @property
    def is_module(self) -> bool:
        """Whether it is a class that makes modules."""
        return self.forward is not None

    @property
    def usual_names(self) -> tuple[str, ...]:
        """Its other names: the rubric's, then those that are usual in public code."""
        return tuple(dict.fromkeys((*self.other_names, *OTHER_NAMES.get(self.name, ()))))


class Check(_Model):
    """A row of the rubric; the test function `test_<id>` carries it out.

    Attributes:
        id: unique in the assignment.
        points: what it is worth.
        needs: checks that must have passed, else this one is blocked.
        component: the definition whose place a failure points to.
        hint: what to look at when it fails.
        lesson: what to reread.
        hidden: whether students see that it exists before the deadline.
        seconds: a limit of its own in place of the assignment's.
        partial: the part of the points that a failed check can still earn, by the steps of the
            recipe that its table of steps finds; 0 for none.
        from_: the assignment whose test of that id carries it out, in place of its own; component,
            hint and lesson are that rubric's where this one gives none.
    """

    id: Identifier
    points: Points
    needs: tuple[Identifier, ...] = ()
    component: Text
    hint: Text
    lesson: Text
    hidden: bool = False
    seconds: Seconds | None = None
    partial: Annotated[Decimal, Field(ge=0, lt=1, decimal_places=3)] = Decimal(0)
    from_: Identifier | None = Field(default=None, alias="from")


class Milestone(_Model):
    """A part of the assignment, with its checks in the order in which they run."""

    id: Slug
    title: Text
    checks: Annotated[tuple[Check, ...], Field(min_length=1)]

    @property
    def points(self) -> Decimal:
        """The sum of its checks' points."""
        return sum((check.points for check in self.checks), Decimal(0))


class Assignment(_Model):
    """An assignment: `rubric.toml`, with the folder that it lies in.

    Attributes:
        folder: where `rubric.toml` and the tests lie.
        module: the file name, without ending, that students are given.
        mask_convention: what True means in a mask, for messages.
        disallowed: library names that must not be used, such as "torch.nn.Transformer*".
        synonyms: other names of arguments, besides those that are usual anyway.
        other_names: whether a definition under a usual other name is noted and graded in full, or
            counts as missing.
        argument_order: whether arguments have the assignment's order, or any when they are named.
        milestones: those whose checks run the submission.
        questions: what is asked besides, or None; a milestone of its own, the last.
    """

    schema_: Literal["transformer-grader/rubric/1"] = Field(alias="schema")
    folder: Path
    id: Identifier
    title: Text
    lesson: Text
    module: Identifier
    mask_convention: Text | None = None
    limits: Limits = Limits()
    disallowed: tuple[Text, ...] = ()
    synonyms: dict[str, tuple[str, ...]] = {}
    other_names: Literal["note", "costs"] = "note"
    argument_order: Literal["fixed", "free"] = "fixed"
    components: Annotated[tuple[Component, ...], Field(min_length=1)]
    milestones: Annotated[tuple[Milestone, ...], Field(min_length=1)]
    questions: Questions | None = None

    @property
    def points(self) -> Decimal:
        """The sum of its milestones' points, the questions' included."""
        asked = self.questions.points if self.questions else Decimal(0)
        return sum((milestone.points for milestone in self.milestones), asked)

    @property
    def milestone_ids(self) -> tuple[str, ...]:
        """The ids of its milestones, in order; the questions' last."""
        asked = (MILESTONE,) if self.questions else ()
        return (*(milestone.id for milestone in self.milestones), *asked)

    def test_folder(self, check: Check) -> Path:
        """The folder that holds a check's test."""
        return self.folder.parent / check.from_ if check.from_ else self.folder

    @property
    def names(self) -> tuple[str, ...]:
        """The definitions that it asks for."""
        return tuple(component.name for component in self.components)

    def checks(self) -> Iterator[tuple[Milestone, Check]]:
        """Every check with its milestone, in the order in which they run."""
        for milestone in self.milestones:
            for check in milestone.checks:
                yield milestone, check

    def component(self, name: str) -> Component:
        """The component of that name; raises KeyError."""
        return next(c for c in self.components if c.name == name)

    def argument_names(self, argument: str) -> list[str]:
        """An argument's name, the rubric's other names for it, and those that are usual anyway."""
        others = (*self.synonyms.get(argument, ()), *SYNONYMS.get(argument, ()))
        return list(dict.fromkeys((argument, *others)))

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        seen: set[str] = set()
        names = set(self.names)
        for milestone, check in self.checks():
            if check.id in seen:
                raise ValueError(f"two checks have the id {check.id}")
            for needed in check.needs:
                if needed not in seen:
                    raise ValueError(f"{check.id} needs {needed}, which does not come before it")
            if check.component not in names:
                raise ValueError(f"{check.id} is about {check.component}, which is no component")
            seen.add(check.id)
            del milestone
        ids = self.milestone_ids
        if len(set(ids)) != len(ids):
            raise ValueError("two milestones have the same id")
        return self
