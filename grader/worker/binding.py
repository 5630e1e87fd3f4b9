"""Binds the arguments of a call to the parameters of whatever the student wrote.

Only standard library and torch: this runs in the worker. The trusted side uses `matches` on the
names of parameters that it reads off the source.
"""

import inspect
import traceback
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.worker.modules import ROOT

Names = Sequence[Sequence[str]]  # for each argument its names, the assignment's own name first
OMITTED = object()  # stands for an argument that a call leaves to its default
MAX_KNOWN = 500
_known: dict[tuple[Any, ...], "Binding"] = {}  # what was bound before


class Unbound(TypeError):
    """Arguments and parameters do not fit; the message says which one, without its subject."""


@dataclass(frozen=True)
class Binding:
    """Which values go where in a call.

    Attributes:
        positional: what is passed by position; a number is the place of a value, None is itself.
        named: what is passed by name.
        unfit: what does not fit, in words, should Python refuse the call; None where all does.
    """

    positional: list[int | None]
    named: dict[str, int | None]
    unfit: str | None = None


def bind(
    target: Any, names: Names, values: list[Any], keywords: Sequence[bool] = ()
) -> Callable[[], Any]:
    """A call of `target` with its arguments bound by position, as the assignment fixes their order.

    Names matter where position cannot tell: for keyword-only parameters, and for an argument whose
    place is taken by a further parameter with a default, as `mask` is in `(q, k, v, dropout=0.0,
    mask=None)`. A None that has no place of its own is left out. What can be passed by position is,
    since a wrapper may show the signature of what it wraps and take other names.

    Args:
        target: a class, a function, or any callable.
        names: for each argument its names, the assignment's own name first.
        values: the value of each; `OMITTED` leaves one to its default.
        keywords: of which the name goes before the position, since the assignment fixes no order.

    Raises:
        Unbound: it has no place for an argument; by the call that is returned, when a parameter
            without a default is left over and Python refuses the call for it.
    """
    # Only whether a value is None or left out matters for where it goes.
    places = [v if v is None or v is OMITTED else i for i, v in enumerate(values)]
    keywords = keywords or [False] * len(values)
    key = (*_keys(target), tuple(map(tuple, names)), tuple(places), tuple(keywords))
    binding = _known.get(key) if key[0] is not None else None
    if binding is None:
        binding = _binding(target, names, places, keywords)
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        if key[0] is not None:
            _known[key] = binding
    positional = [None if i is None else values[i] for i in binding.positional]
    named = {name: None if i is None else values[i] for name, i in binding.named.items()}
    return _explained(lambda: target(*positional, **named), binding.unfit)


def _keys(target: Any) -> tuple[Any, Any]:
    """What a target's signature hangs on; None where that cannot be told at once."""
    if isinstance(target, torch.nn.Module):
        forward = target.forward
        if type(forward) is types.MethodType and type(forward.__func__) is types.FunctionType:
            return forward.__func__, True
        return None, None
    if type(target) is types.FunctionType:
        return target, False
    begin = getattr(target, "__init__", None)
    if type(target) is type and type(begin) is types.FunctionType:
        return target, begin
    return None, None


def _binding(target: Any, names: Names, values: list[Any], keywords: Sequence[bool]) -> Binding:
    """Where values go, each given as its place, as None, or as `OMITTED`."""
    try:
        parameters = list(inspect.signature(_signature_of(target)).parameters.values())
    except (TypeError, ValueError):
        given = [value for value in values if value is not OMITTED]
        return Binding(_without_trailing_none(given), {})
    kinds = inspect.Parameter
    if any(parameter.kind is kinds.VAR_POSITIONAL for parameter in parameters):
        return _bind_variadic(parameters, names, values)
    takes_any = any(parameter.kind is kinds.VAR_KEYWORD for parameter in parameters)
    free = [p for p in parameters if p.kind is not kinds.VAR_KEYWORD]
    matched = [None if i is None else free[i] for i in matches([p.name for p in free], names)]
    chosen: dict[str, Any] = {}
    arguments = list(zip(names, matched, values, keywords, strict=True))
    waiting = []
    for group, named, value, by_name in arguments:
        if named is not None and (by_name or value is OMITTED):
            chosen[named.name] = value
        else:
            waiting.append((group, named, value, by_name))
    for group, named, value, _ in sorted(waiting, key=lambda argument: argument[3]):
        left = [p for p in free if p.name not in chosen]
        slots = [p for p in left if p.kind is not kinds.KEYWORD_ONLY]
        slot = slots[0] if slots else None
        unnamed = slot is not None and slot not in matched
        is_left = named is not None and named.name not in chosen
        if value is OMITTED:
            if unnamed:
                chosen[slots[0].name] = value
        elif named is not None and is_left and (slot is None or (unnamed and _is_further(slot))):
            chosen[named.name] = value
        elif slot is not None and (value is not None or not _is_further(slot) or slot is named):
            chosen[slot.name] = value
        elif value is None:
            continue
        elif takes_any:
            chosen[group[0]] = value
        else:
            unfit = _unfit(free, names, values, matched)
            raise Unbound(unfit or f"takes no argument for `{group[0]}`")
    missing = [p for p in free if not _is_further(p) and chosen.get(p.name, OMITTED) is OMITTED]
    unfit = _unfit(free, names, values, matched) if missing else None
    chosen = {name: value for name, value in chosen.items() if value is not OMITTED}
    positional = []
    for parameter in free:
        if parameter.kind is kinds.KEYWORD_ONLY or parameter.name not in chosen:
            break
        positional.append(chosen.pop(parameter.name))
    return Binding(positional, chosen, unfit)


def matches(parameters: Sequence[str], names: Sequence[Sequence[str]]) -> list[int | None]:
    """For each argument the index of the parameter that names it, or None.

    A parameter names one argument: one whose own name it has, or else the first that it is a
    synonym of. Of several synonyms the one that is listed first counts, so `hidden_dim` is `d_ff`
    beside `embed_dim`, and `d_model` without it.

    Args:
        parameters: their names, in order; case and outer underscores do not matter.
        names: for each argument its names, the assignment's own name first.
    """
    index = {_plain(name): number for number, name in reversed(list(enumerate(parameters)))}
    found: list[int | None] = [index.pop(_plain(group[0]), None) for group in names]
    for number, group in enumerate(names):
        known = [_plain(name) for name in group[1:] if _plain(name) in index]
        if found[number] is None and known:
            found[number] = index.pop(known[0])
    return found


def _unfit(
    free: list[inspect.Parameter],
    names: Names,
    values: list[Any],
    matched: list[inspect.Parameter | None],
) -> str | None:
    """What does not fit, once names and then places are paired; None where all does."""
    places = [p for p in free if p not in matched and p.kind is not inspect.Parameter.KEYWORD_ONLY]
    arguments = list(zip(names, values, matched, strict=True))
    waiting = [(group[0], v) for group, v, named in arguments if named is None and v is not None]
    for name, value in waiting[len(places) :]:
        if value is not OMITTED:
            return f"takes no argument for `{name}`"
    given = [named for _, value, named in arguments if value is not OMITTED]
    given += [place for (_, v), place in zip(waiting, places, strict=False) if v is not OMITTED]
    for parameter in free:
        if parameter not in given and not _is_further(parameter):
            name = parameter.name
            return f"requires `{name}`, which the assignment does not pass: give it a default"
    return None


def _explained(call: Callable[[], Any], unfit: str | None) -> Callable[[], Any]:
    """The call, whose TypeError is replaced by what does not fit if Python refused the call itself.

    It is tried nonetheless: a wrapper may show a signature that is not its own.
    """
    if unfit is None:
        return call

    def attempt() -> Any:
        try:
            return call()
        except TypeError as error:
            frames = traceback.walk_tb(error.__traceback__)
            if any(frame.f_code.co_filename.startswith(ROOT) for frame, _ in frames):
                raise
            raise Unbound(unfit) from None

    return attempt


def _bind_variadic(parameters: list[inspect.Parameter], names: Names, values: list[Any]) -> Binding:
    """The binding for what takes `*args`: by position, but for keyword-only parameters that fit."""
    only = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    keywords: dict[str, Any] = {}
    positional = []
    for number, value in zip(matches(only, names), values, strict=True):
        if value is OMITTED:
            continue
        if number is not None:
            keywords[only[number]] = value
        else:
            positional.append(value)
    return Binding(_without_trailing_none(positional), keywords)


def _plain(name: str) -> str:
    return name.lower().strip("_")


def _is_further(parameter: inspect.Parameter) -> bool:
    """Whether a call may leave the parameter out."""
    return parameter.default is not inspect.Parameter.empty


def _without_trailing_none(values: list[Any]) -> list[Any]:
    return values[:-1] if values and values[-1] is None else values


def _signature_of(target: Any) -> Any:
    """What holds the signature: a module's is its forward's."""
    return target.forward if isinstance(target, torch.nn.Module) else target
