"""The commands. Modules that import torch are imported inside them, so that errors come at once."""

import os
import re
import shlex
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from grader.errors import AssignmentError, GraderError, InputError

FULL_MARKS, POINTS_LOST, NOT_GRADED, STOPPED = 0, 1, 2, 130
MOST_LINES = 40  # submissions of a class that are shown one by one
FORMATS_HELP = (
    "classroom, classroom50, gradescope, canvas, moodle, blackboard, junit, csv, markdown, outputs "
    "or annotations."
)
WORKFLOW = Path(".github", "workflows", "classroom.yml")
ACTION = r"YOUR_ORGANISATION/transformer-grader@\S+"  # no name that anybody could have

app = typer.Typer(
    name="grader",
    help="Grades what students write when they learn Transformers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

AssignmentOption = Annotated[
    str | None,
    typer.Option("--assignment", "-a", metavar="ID", help="Which one; else it is recognised."),
]

AssignmentArgument = Annotated[str, typer.Argument(metavar="ID", help="The assignment.")]


class Stopped(GraderError):
    """A person stopped it; the message says what is kept."""


def main() -> None:
    """Run the command line; errors of the user are one sentence and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        app(standalone_mode=True)
    except SystemExit as end:
        if end.code == STOPPED:
            _complain("Stopped.", STOPPED)
        _leave(end.code)
    except Stopped as stopped:
        _complain(str(stopped), STOPPED)
    except (InputError, AssignmentError) as error:
        _complain(str(error))
    except GraderError as error:
        _complain(f"The grader itself failed: {error}")
    except KeyboardInterrupt:
        _complain("Stopped.", STOPPED)
    except RecursionError:
        _complain("The submission is nested too deeply to be read.")
    except BrokenPipeError:
        _leave(NOT_GRADED)
    except Exception as error:
        if os.environ.get("GRADER_DEBUG"):
            raise
        _complain(
            f"The grader itself failed ({type(error).__name__}: {error}). Please report it; with "
            "GRADER_DEBUG=1 it says where."
        )


def _complain(message: str, code: int = NOT_GRADED) -> None:
    from grader.report.terminal import printable

    print(f"grader: {printable(' '.join(message.split()))}", file=sys.stderr)
    _leave(code)


def _leave(code: object) -> None:
    """End the process at once: tearing torch down would take another 0.3 s."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, AttributeError):  # whoever read it has gone, or it was never open
            pass
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        from importlib.metadata import version as installed

        print(f"transformer-grader {installed('transformer-grader')}")
        raise typer.Exit


IsolationOption = Annotated[
    str | None,
    typer.Option(
        "--isolation",
        metavar="LEVEL",
        help="How submissions are shut in: namespaces, limits or none; else as well as can be.",
    ),
]


def _path(text: str) -> Path:
    """A path; an empty one, as of a variable that is not set, is none."""
    if not str(text):
        raise InputError("The path is empty: name a file or a folder.")
    return Path(text)


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Grades what students write when they learn Transformers."""


@app.command()
def check(
    path: Annotated[
        Path, typer.Argument(parser=_path, help="A .py file, a notebook, or a folder.")
    ] = Path("."),
    assignment: AssignmentOption = None,
    milestone: Annotated[
        str | None, typer.Option("--milestone", "-m", metavar="ID", help="Only this milestone.")
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write the report as JSON; - for the output."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", help="What all of it may take at most."),
    ] = None,
    unattended: Annotated[
        bool,
        typer.Option(
            "--unattended",
            help="For machines: always write a report, never ask, run nothing without a sandbox.",
        ),
    ] = False,
    at_least: Annotated[
        str | None,
        typer.Option(
            "--at-least",
            metavar="LEVEL",
            help="With --unattended, the least that will do: a level, or `user` for a user id of "
            "its own; else limits.",
        ),
    ] = None,
    isolation: IsolationOption = None,
) -> None:
    """Grade one submission and show what to mend."""
    from grader.cli.unattended import limited
    from grader.intake import Reading
    from grader.worker.client import make_launcher

    level = _isolation(isolation)
    if unattended:
        least = at_least if at_least == "user" else _isolation(at_least)
        _check_unattended(path, assignment, milestone, json_file, timeout, level, least)
    if at_least is not None:
        raise InputError("--at-least goes with --unattended.")
    if not path.exists():
        raise InputError(f"There is no file or folder {path}: check the path.")
    if json_file not in (None, "-"):
        _expect_writable(Path(str(json_file)))
    with Reading() as reading, make_launcher(level) as launcher:  # it imports torch meanwhile
        name = path.resolve().name
        read = reading.begin(path, name, neighbours=True)
        from grader.assignment import load_assignment, recognise
        from grader.assignment.candidates import candidates, without

        submission = read()
        chosen = load_assignment(assignment) if assignment else recognise(submission)
        chosen = limited(chosen, timeout)
        several = candidates(submission, chosen)
        if len(several) > 1:
            submission = without(submission, several, _choose(several, path))
        from grader.grading import Grader

        milestones = _milestones(chosen, milestone)
        _expect_definitions(submission, chosen)
        with _progress(chosen, quiet=json_file == "-") as progress:
            report = Grader(chosen, launcher, _secret()).grade(submission, name, progress)
    if json_file not in (None, "-"):
        report = _with_earlier_marks(report, Path(str(json_file)))
    _conclude(report, json_file, milestones)


def _check_unattended(
    path: Path,
    assignment: str | None,
    milestone: str | None,
    json_file: str | None,
    timeout: float | None,
    level: Any,
    least: Any,
) -> NoReturn:
    """Grade one submission where nobody watches."""
    from grader.assignment import load_assignment
    from grader.cli.unattended import grade_unattended

    if assignment is None or json_file is None:
        raise InputError("--unattended needs --assignment ID and --json FILE.")
    chosen = load_assignment(assignment)
    milestones = _milestones(chosen, milestone)
    if json_file != "-":
        _expect_writable(Path(json_file))
    report = grade_unattended(path, chosen, _secret(), level, least, timeout)
    _conclude(report, json_file, milestones)


def _conclude(report: Any, json_file: str | None, milestones: list[str]) -> NoReturn:
    """Write and show a report, and end with the exit code that it stands for."""
    from grader.report.model import awaits_mark

    if json_file is not None:
        _write_json(report.to_json(), json_file)
    if json_file != "-":
        from grader.report.terminal import print_report

        print_report(report, _console(), milestones)
    if report.status != "graded":
        raise typer.Exit(NOT_GRADED)
    lost = any(
        check.score != check.max_score and not awaits_mark(m, check)
        for m in report.milestones
        if not milestones or m.id in milestones
        for check in m.checks
    )
    raise typer.Exit(POINTS_LOST if lost else FULL_MARKS)


@app.command()
def grade(
    paths: Annotated[
        list[Path], typer.Argument(help="Submissions, or folders whose children are submissions.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the reports.")],
    assignment: AssignmentOption = None,
    roster: Annotated[
        Path | None,
        typer.Option(
            "--roster", metavar="FILE", help="The class list, a CSV with a column of ids."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="How many at a time; else one a core."),
    ] = None,
    regrade: Annotated[
        bool, typer.Option("--regrade", help="Grade what is unchanged since the last time, too.")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Grade on a dask cluster's workers."),
    ] = None,
    isolation: IsolationOption = None,
) -> None:
    """Grade many submissions into a folder of reports and a gradebook; goes on where it stopped."""
    from grader.assignment import load_assignment
    from grader.batch import class_secret, grade_class
    from grader.batch.folder import make_folder
    from grader.batch.roster import read_roster
    from grader.batch.submissions import survey
    from grader.cli.progress import ClassProgress
    from grader.intake import Reading

    level = _isolation(isolation)
    students = read_roster(roster) if roster is not None else None
    with Reading() as reading:
        hand = survey(paths, reading, out)
    found = hand.found
    chosen = load_assignment(assignment) if assignment else _recognise_any(found)
    make_folder(out)
    secret = _secret() or class_secret(out)
    errors = _console(stderr=True, width=120)
    for line in _told(hand):
        errors.print(line, markup=False)
    begun = time.monotonic()
    with _stoppable(), ClassProgress(errors, len(found)) as progress:
        executor = _executor(chosen, secret, level, jobs, len(found), cluster)
        try:
            with executor:
                count = grade_class(
                    found, chosen, out, executor, secret, progress, students, regrade
                )
        except KeyboardInterrupt:
            raise Stopped(
                f"Stopped: {progress.done} of {len(found)} are finished and kept in {out}. The "
                "same command goes on from there."
            ) from None
    there = sum(submission.is_there for submission in found)
    _show_class(out, there, count, time.monotonic() - begun)
    if students is not None:
        for line in _unmatched(students, out, there):
            errors.print(line, markup=False)
    for path in paths:
        if not path.exists():
            errors.print(f"There is no file or folder {path}: check the path.", markup=False)
    if not there or count.errors:
        raise typer.Exit(NOT_GRADED)


def _executor(
    assignment: Any, secret: str, level: Any, jobs: int | None, total: int, cluster: str | None
) -> Any:
    """Who grades a class: lanes on this machine, or a cluster."""
    from grader.batch.lane import Setup
    from grader.batch.lanes import Lanes
    from grader.batch.machine import default_width

    setup = Setup.here(assignment, secret, level)
    if cluster is None:
        return Lanes(setup, min(jobs or default_width(), max(1, total)))
    from grader.batch.cluster import Cluster

    return Cluster(cluster, setup.travelling(assignment), jobs)


def _show_class(out: Path, total: int, count: Any, seconds: float) -> None:
    """What a run came to: a line a submission where they are few, and the class at a glance."""
    from grader.batch import read_class
    from grader.batch.statistics import class_statistics
    from grader.batch.terminal import class_table, print_statistics
    from grader.cli.progress import duration

    console = _console(width=120)
    if 0 < total <= MOST_LINES:
        console.print(class_table(list(islice(read_class(out), total))))
    found = class_statistics(out)
    print_statistics(found, console)
    console.print()
    if found.submissions > total:
        others = found.submissions - total
        console.print(f"{others} more in {out}, from earlier runs, count in all of this.")
    rate = f", {60 * count.graded / seconds:.0f} a minute" if count.graded else ""
    kept = f"{count.kept} unchanged and kept, " if count.kept else ""
    console.print(f"{kept}{count.graded} graded in {duration(seconds)}{rate}.", markup=False)
    console.print(f"Reports: {out / 'reports'}   Gradebook: {out / 'gradebook.csv'}", markup=False)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Have a request to end be like Ctrl-C, so that it stops as cleanly."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        numbers.append(signal.SIGHUP)  # a terminal that is closed; `nohup` has it ignored
    before = [(number, signal.signal(number, stop)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@app.command()
def stats(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The --out of a class.")],
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write them as JSON; - for the output."),
    ] = None,
) -> None:
    """Show a class at a glance: points, misconceptions, checks, and what to explain again."""
    from grader.batch.statistics import class_statistics
    from grader.batch.terminal import print_statistics

    if json_file not in (None, "-"):
        _expect_writable(Path(str(json_file)))
    found = class_statistics(out)
    if json_file is not None:
        _write_json(found.to_json(), json_file)
    if json_file != "-":
        print_statistics(found, _console(width=120))


@app.command()
def diff(
    first: Annotated[Path, typer.Argument(metavar="OUT1", help="The --out of one grading.")],
    second: Annotated[Path, typer.Argument(metavar="OUT2", help="The --out of another.")],
) -> None:
    """Show whose grade changed between two gradings, and why; exit code 1 if any did."""
    from grader.batch.comparison import compare
    from grader.batch.terminal import print_comparison

    changed = print_comparison(compare(first, second), _console(width=120))
    raise typer.Exit(POINTS_LOST if changed else FULL_MARKS)


@app.command()
def mark(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A report's JSON, or the --out of a class.")
    ],
    check: Annotated[str, typer.Argument(metavar="CHECK", help="The check or question.")],
    score: Annotated[str, typer.Argument(metavar="SCORE", help="Its points, such as 0.15.")],
    submission: Annotated[
        str | None, typer.Option("--submission", "-s", metavar="ID", help="Whose, in a class.")
    ] = None,
    comment: Annotated[str, typer.Option("--comment", "-c", help="For the student.")] = "",
) -> None:
    """Enter a person's mark and comment for a row; regrading keeps it."""
    from grader.batch import load_report, mark_in_class, mark_report
    from grader.grading.marks import marks_file
    from grader.report.terminal import points

    value = _points(score)
    if source.is_dir():
        if submission is None:
            raise InputError("Say whose mark it is with --submission ID, as in the gradebook.")
        report = mark_in_class(source, submission, check, value, comment)
    else:
        report = load_report(source)
        report = mark_report(report, source, marks_file(source), check, value, comment)
    row = next(row for row in report.checks() if row.id == check)
    print(
        f"{check}: {points(row.score)} of {points(row.max_score)}; "
        f"{report.submission} has {points(report.score)} of {points(report.max_score)} points"
    )


@app.command()
def export(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help=FORMATS_HELP)],
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A report's JSON, or the --out of a class.")
    ],
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Else it is printed.")
    ] = None,
    roster: Annotated[
        Path | None,
        typer.Option("--roster", metavar="FILE", help="The site's own export, or a class list."),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="The site's column of grades.")
    ] = None,
    max_score: Annotated[
        str | None,
        typer.Option("--max-score", metavar="POINTS", help="What full marks are; else as graded."),
    ] = None,
    test_name: Annotated[
        str | None, typer.Option("--test-name", metavar="NAME", help="What the tests are called.")
    ] = None,
    base: Annotated[
        str,
        typer.Option("--base", metavar="PATH", help="Where the submission is in its repository."),
    ] = "",
) -> None:
    """Write reports as other programs read them."""
    from grader.batch.roster import read_roster
    from grader.export import FORMATS, Source, Wanted
    from grader.report.terminal import printable

    chosen = FORMATS.get(form)
    if chosen is None:
        raise InputError(f"There is no format {form!r}: choose one of {', '.join(FORMATS)}.")
    most = None if max_score is None else _full_marks(max_score)
    given = {
        "roster": roster, "column": column, "max_score": most, "test_name": test_name, "base": base,
    }  # fmt: skip
    for name, value in given.items():
        if value not in (None, "") and name not in chosen.options:
            raise InputError(f"The format {form} has no --{name.replace('_', '-')}.")
    if out not in (None, "-"):
        _expect_writable(Path(str(out)))
    wanted = Wanted(
        max_score=most,
        test_name=test_name,
        base=base,
        roster=None if roster is None else read_roster(roster),
        column=column,
    )
    try:
        written = chosen.write(Source(source), wanted)
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}.") from None
    for sentence in written.told:
        print(f"grader: {printable(sentence)}", file=sys.stderr)
    _write_text(written.text, out)


@app.command()
def bundle(
    site: Annotated[str, typer.Argument(metavar="SITE", help="gradescope or classroom50.")],
    assignment: AssignmentArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Gradescope's zip, or Classroom 50's folder.")
    ],
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=1, help="For each submission.")
    ] = 480,
) -> None:
    """Pack the grader for a site that grades every submission itself."""
    from grader.batch.folder import make_folder, write_atomically
    from grader.export.bundle import classroom50_bundle, gradescope_bundle
    from grader.report.terminal import points

    target = _named(assignment)
    if site == "gradescope":
        _expect_writable(out)
        write_atomically(out, gradescope_bundle(target, _secret(), timeout))
        print(
            f"{out}: upload it as the autograder of a programming assignment of "
            f"{points(target.points)} points; its README.txt says what is in it."
        )
    elif site == "classroom50":
        files = classroom50_bundle(target, _secret(), timeout)
        make_folder(out)
        for name, data in files.items():
            write_atomically(out / name, data)
        print(f"{out}: put its files into CLASSROOM/autograders/ASSIGNMENT/.")
    else:
        raise InputError(f"There is no bundle for {site!r}: choose gradescope or classroom50.")


@app.command("list")
def list_assignments() -> None:
    """List the assignments."""
    from rich.table import Table

    from grader.assignment import assignment_ids, load_assignment
    from grader.report.terminal import points

    table = Table("assignment", "title", "points", "checks", "lesson", box=None)
    for assignment_id in assignment_ids():
        loaded = load_assignment(assignment_id)
        count = str(len(list(loaded.checks())))
        table.add_row(loaded.id, loaded.title, points(loaded.points), count, loaded.lesson)
    _console().print(table)


@app.command()
def doctor(isolation: IsolationOption = None) -> None:
    """Say how submissions are shut in on this machine, by trying to get out; exit code 1 if not."""
    from grader.worker.client import make_launcher

    level = _isolation(isolation)
    with make_launcher(level) as launcher:
        from grader.worker.doctor import examine

        found = examine(launcher)
    from grader.report.doctor import print_examination

    print_examination(found, _console(width=110))
    raise typer.Exit(POINTS_LOST if found.isolation == "none" else FULL_MARKS)


@app.command()
def show(
    assignment: AssignmentArgument,
    questions: Annotated[
        bool, typer.Option("--questions", "-q", help="Print the questions in full.")
    ] = False,
) -> None:
    """Show an assignment's milestones and checks with their points, and its questions."""
    from rich.table import Table
    from rich.text import Text

    from grader.assignment import load_assignment
    from grader.grading.titles import titles
    from grader.report.terminal import points

    loaded = load_assignment(assignment)
    names = titles(loaded)
    console = _console()
    console.print(
        f"{loaded.title} ({points(loaded.points)} points) · {loaded.lesson}", markup=False
    )
    console.print(f"Definitions: {', '.join(loaded.names)}", markup=False)
    if loaded.mask_convention:
        console.print(f"Masks: {loaded.mask_convention}.", markup=False)
    if loaded.disallowed:
        console.print(f"Not allowed: {', '.join(loaded.disallowed)}", markup=False)
    for milestone in loaded.milestones:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for row in milestone.checks:
            if not row.hidden:
                # As Text, since what stands in square brackets would be taken for markup.
                table.add_row("", points(row.points), row.id, Text(names[row.id]))
        console.print()
        console.print(
            f"{milestone.id}: {milestone.title} ({points(milestone.points)})", markup=False
        )
        console.print(table)
    if loaded.questions is not None:
        console.print()
        title = f"questions: {loaded.questions.title} ({points(loaded.questions.points)})"
        if questions:
            from grader.report.questions import question_text

            console.print(title, markup=False)
            for question in loaded.questions.questions:
                console.print()
                console.print(question_text(question), markup=False)
        else:
            count = len(loaded.questions.questions)
            more = f"{count} questions; --questions prints them"
            console.print(f"{title}: {more}", markup=False)


@app.command()
def lint(assignment: AssignmentArgument) -> None:
    """Say what is wrong with an assignment's rubric and tests; exit code 1 if anything is."""
    from grader.grading.lint import problems

    target = _named(assignment)
    found = problems(target)
    for problem in found:
        print(problem)
    if found:
        raise typer.Exit(1)
    print(f"{target.id}: {len(list(target.checks()))} checks, nothing to complain about")


@app.command()
def audit(
    assignment: AssignmentArgument,
    right: Annotated[
        Path | None,
        typer.Option("--right", metavar="DIR", help="Right submissions, which must lose nothing."),
    ] = None,
    without_right: Annotated[
        bool, typer.Option("--no-right", help="Leave right submissions out.")
    ] = False,
    mutant: Annotated[
        list[str] | None,
        typer.Option("--mutant", metavar="NAME", help="Only this one, or all with this id."),
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write the audit as JSON; - for the output."),
    ] = None,
) -> None:
    """Say which wrong implementations a rubric catches; exit code 1 if one slips through."""
    from grader.worker.client import make_launcher

    target = _named(assignment)
    if json_file not in (None, "-"):
        _expect_writable(Path(str(json_file)))
    with make_launcher() as launcher:
        from grader.audit import run_audit
        from grader.audit.terminal import print_audit
        from grader.grading import Grader

        mutants = _mutants(target.id, mutant or [])
        folder = right
        if right is None and not mutant and not without_right:
            folder = _right_submissions(target)
        grader = Grader(target, launcher, _secret())
        found = run_audit(grader, mutants, folder, _counted(len(mutants)))
    if json_file is not None:
        _write_json(found.to_json(), json_file)
    if json_file != "-":
        print_audit(found, _console(width=150), checks=not mutant)
    raise typer.Exit(FULL_MARKS if found.holds else POINTS_LOST)


@app.command()
def start(
    assignment: AssignmentArgument,
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="Where to.")] = None,
    uses: Annotated[
        str | None,
        typer.Option(
            "--uses", metavar="OWNER/REPO@REF", help="Where the workflow finds the grader's action."
        ),
    ] = None,
) -> None:
    """Copy an assignment's template, to begin with."""
    from grader.assignment import template_folder

    source = template_folder(assignment)
    if uses is not None and not re.fullmatch(r"[\w.-]+/[\w.-]+(/[\w./-]+)?@[\w./-]+", uses):
        raise InputError(f"--uses {uses!r} is no action: write OWNER/REPO@REF.")
    target = folder or Path(assignment)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists already: name another folder, or empty it first.")
    try:
        shutil.copytree(
            source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
        workflow = target / WORKFLOW
        if uses is not None and workflow.exists():
            text = workflow.read_text(encoding="utf-8")
            workflow.write_text(re.sub(ACTION, uses, text), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}.") from None
    print(f"Copied to {target}. Check it with: grader check {shlex.quote(str(target))}")


def _named(assignment: str) -> Any:
    """The assignment of that id, or in that folder; raises InputError."""
    from grader.assignment import load_assignment

    return load_assignment(Path(assignment) if os.sep in assignment else assignment)


def _console(stderr: bool = False, width: int = 100) -> Any:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    is_terminal = stream is not None and stream.isatty()
    return Console(
        stderr=stderr, highlight=False, width=None if is_terminal else width, soft_wrap=False
    )


def _isolation(level: str | None) -> Any:
    """The level of isolation that was asked for; None for the best."""
    from grader.sandbox import LEVELS

    if level is not None and level not in LEVELS:
        raise InputError(f"There is no isolation {level!r}: choose one of {', '.join(LEVELS)}.")
    return level


def _secret() -> str:
    """The teacher's secret, from the variable or the file that GRADER_SECRET names."""
    value = os.environ.get("GRADER_SECRET", "")
    if value.startswith("file:"):
        path = Path(value.removeprefix("file:"))
        try:
            secret = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise InputError(f"GRADER_SECRET names {path}, which cannot be read.") from None
        if not secret:
            raise InputError(f"GRADER_SECRET names {path}, which is empty.")
        return secret
    return value


def _points(text: str) -> Decimal:
    """A score as an exact decimal."""
    try:
        value = Decimal(text.strip().replace(",", "."))
    except InvalidOperation:
        raise InputError(f"{text!r} is no number of points.") from None
    if not value.is_finite():
        raise InputError(f"{text!r} is no number of points.")
    return value


def _full_marks(text: str) -> Decimal:
    """What full marks come to on another scale; raises InputError."""
    value = _points(text)
    exponent = value.as_tuple().exponent
    if not Decimal("0.01") <= value <= 1_000_000 or (isinstance(exponent, int) and exponent < -4):
        raise InputError(
            f"--max-score {text}: from 0.01 to 1,000,000, with four decimal places at most."
        )
    return value


def _with_earlier_marks(report: Any, target: Path) -> Any:
    """The report with the marks that a person gave to an earlier one in the same file."""
    from grader.grading.marks import load_marks, marks_file, with_marks

    return with_marks(report, load_marks(marks_file(target)).of(report.submission))


def _choose(several: list[str], path: Path) -> str:
    """Which of several modules a person means; asks on a terminal, and is an error elsewhere."""
    from grader.report.terminal import printable

    names = [printable(name) for name in several]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        example = shlex.quote(str(path / several[0]))
        raise InputError(
            f"{path} holds {len(several)} modules that could be graded: {', '.join(names)}. Name "
            f"one, as in `grader check {example}`; `grader grade` grades each."
        )
    print(f"{path} holds {len(several)} modules that could be graded:", file=sys.stderr)
    for number, name in enumerate(names, start=1):
        print(f"  {number}  {name}", file=sys.stderr)
    number = 0
    while not 0 < number <= len(several):
        number = int(typer.prompt("Which one", type=int, err=True))
    return several[number - 1]


def _milestones(assignment: Any, milestone: str | None) -> list[str]:
    known = list(assignment.milestone_ids)
    if milestone is None:
        return []
    if milestone not in known:
        raise InputError(
            f"{assignment.id} has no milestone {milestone!r}: choose one of {', '.join(known)}."
        )
    return [milestone]


def _expect_definitions(submission: Any, assignment: Any) -> None:
    """Raise InputError when nothing of the assignment is defined, not even by a near name."""
    from grader.assignment.catalogue import defines_any, no_known_definition

    if not defines_any(submission, assignment):
        raise InputError(no_known_definition(submission, [assignment]))


def _mutants(assignment_id: str, names: list[str]) -> list[Any]:
    """The mutants of an assignment: all, or those of the names or ids given."""
    from reference.misconceptions.mutants import mutants_of

    known = mutants_of(assignment_id)
    if not known:
        raise InputError(f"There are no mutants for {assignment_id}: reference has none.")
    for name in names:
        if not any(name in (mutant.name, *mutant.ids) for mutant in known):
            raise InputError(f"{assignment_id} has no mutant {name!r}.")
    return [
        mutant
        for mutant in known
        if not names or any(name in (mutant.name, *mutant.ids) for name in names)
    ]


def _right_submissions(assignment: Any) -> Path | None:
    """The right submissions of a checkout's tests; None, said aloud, where there are none."""
    folder = assignment.folder.resolve().parents[1] / "tests/submissions" / assignment.id / "right"
    if folder.is_dir():
        return Path(folder)
    print(f"grader: no right submissions at {folder}: name some with --right.", file=sys.stderr)
    return None


def _counted(total: int) -> Callable[[Any], None]:
    """Says on a terminal how many mutants have been graded."""
    number = 0

    def done(report: Any) -> None:
        nonlocal number
        number += 1
        if sys.stderr.isatty():
            print(f"[{number}/{total}] {report.submission}", file=sys.stderr)

    return done


def _told(hand: Any) -> Iterator[str]:
    """What a teacher should know about the paths that were named, a line each."""
    from grader.report.terminal import printable

    for site in dict.fromkeys(hand.sites):
        yield f"A download of {site.replace('-', ' ')}: a submission for each student."
    if hand.earlier:
        yield f"Earlier attempts, left out: {printable(_listed(hand.earlier))}"
    if hand.ignored:
        yield f"No Python, left out: {printable(', '.join(hand.ignored))}"
    if hand.links:
        yield f"Links, left out: {printable(_listed(hand.links))}"
    if hand.others:
        yield f"Files of the download that are no submission, left out: {hand.others}"


def _unmatched(students: Any, out: Path, total: int) -> Iterator[str]:
    """Who is in the class list without a submission, and which submissions are in no list."""
    from grader.batch import read_class
    from grader.report.terminal import printable

    found = {row.key for row in students.rows}
    handed_in: set[str] = set()
    strangers = []
    for row in islice(read_class(out), total):  # those of this run come first
        handed_in.update(row.students)
        if not set(row.students) & found:
            strangers.append(row.id)
    absent = [row.key for row in students.rows if row.key not in handed_in]
    if absent:
        yield f"In the class list without a submission: {printable(_listed(absent))}"
    if strangers:
        yield f"Submissions of nobody in the class list: {printable(_listed(strangers))}"
    if students.ambiguous:
        yield f"Ids that two rows of the class list share: {printable(_listed(students.ambiguous))}"
    if students.without_id:
        lines = ", ".join(map(str, students.without_id[:20]))
        yield f"Lines of the class list without an id: {lines}"


def _listed(ids: Sequence[str]) -> str:
    """Ids in a line, each once, with how often."""
    counts = Counter(ids)
    texts = [name if count == 1 else f"{name} ({count})" for name, count in counts.items()]
    return ", ".join(texts[:40]) + (f" and {len(texts) - 40} more" if len(texts) > 40 else "")


def _recognise_any(found: list[Any]) -> Any:
    """The assignment that the first recognisable submission of a class is for."""
    from grader.assignment import assignment_ids, load_assignment, recognise
    from grader.intake import Reading

    ids = assignment_ids()
    if len(ids) == 1:
        return load_assignment(ids[0])
    reason = "No submission shows which assignment this is: say it with --assignment."
    with Reading() as reading:
        for submission in found:
            try:
                return recognise(reading.read(submission.path, submission.id, submission.inside))
            except InputError as error:
                if "--assignment" in str(error):
                    reason = str(error)
    raise InputError(reason)


@contextmanager
def _progress(assignment: Any, quiet: bool) -> Iterator[Callable[[str], None] | None]:
    """A line that says which check runs, on a terminal; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    total = len(list(assignment.checks()))
    console = _console(stderr=True)
    with console.status("Starting …") as status:
        number = 0

        def show_check(name: str) -> None:
            nonlocal number
            number += 1
            status.update(f"{number}/{total}  {name.replace('_', ' ')}")

        yield show_check


def _expect_writable(target: Path) -> None:
    """Raise InputError, before any work is done, when a file cannot be written there."""
    try:
        is_special = target.exists() and not target.is_file() and not target.is_dir()
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}.") from None
    if is_special:
        return  # a pipe or a device
    if target.is_dir() or not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise InputError(f"{target} cannot be written: name a file in a folder of yours.")


def _write_text(text: str, target: str | None) -> None:
    """Write a file, or print it, in UTF-8 either way and with the line ends that it has."""
    if target not in (None, "-"):
        from grader.batch import write_atomically

        write_atomically(Path(str(target)), text)
        return
    data = text.encode("utf-8", "backslashreplace")
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        stream.write(data)


def _write_json(text: str, target: str) -> None:
    if target == "-":
        sys.stdout.write(text)
        return
    from grader.batch import write_atomically

    write_atomically(Path(target), text)
