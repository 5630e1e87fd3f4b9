"""Which wrong implementation gives the very numbers that a submission gave."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from reference.misconceptions import PADDING_SENTENCES, SENTENCES

BOTH = "+"  # joins the ids of two mistakes that are made at once


def matching(
    got: Tensor, expected: Tensor, candidates: Iterable[tuple[str, Callable[[], Tensor]]]
) -> list[str]:
    """The ids of the candidates whose answer is `got`.

    Rows that are NaN in `got` are left out of the comparison, as long as others remain: a row that
    a wrong mask hides altogether is NaN or uniform, depending on how it was filled. A candidate
    that is hardly wrong on this input says nothing, so it is passed over.

    Args:
        got: the submission's answer.
        expected: the right answer.
        candidates: ids, each with what computes the wrong answer on the same input; an id may come
            several times, with variants of the mistake.

    Returns:
        The ids that match, each once.
    """
    defined = ~torch.isnan(got).any(dim=-1)
    if not bool(defined.any()):
        return []
    is_whole = bool(defined.all())
    answer = got if is_whole else got[defined]
    found = []
    for name, compute in candidates:
        if name in found:
            continue
        try:
            wrong = compute()
        except (RuntimeError, IndexError, ValueError):
            continue  # that mistake cannot even be made on this input
        if wrong.shape != got.shape:
            continue
        compared = wrong if is_whole else wrong[defined]
        if not torch.allclose(compared, answer, rtol=1e-3, atol=1e-5):
            continue
        if wrong.shape != expected.shape or not torch.allclose(
            wrong, expected, rtol=0.02, atol=1e-3
        ):
            found.append(name)
    return found


def sentence_of(name: str, padding: bool = False) -> str | None:
    """What a misconception is, in a sentence; None for one that has none.

    Args:
        name: its id.
        padding: whether the mask is one of padding, where True = ignore.
    """
    special = PADDING_SENTENCES.get(name) if padding else None
    return special or SENTENCES.get(name)


def describe(ids: list[str], padding: bool = False) -> tuple[str | None, str | None]:
    """The id and the sentence for matching misconceptions: all are named where several match.

    Args:
        ids: those that match; two mistakes at once are one, joined by "+".
        padding: whether the mask is one of padding, where True = ignore.

    Returns:
        The first id, of two mistakes at once the first; and what was done.
    """
    if not ids:
        return None, None
    sentences = [told for name in ids if (told := _told(name, padding))]
    first = ids[0].split(BOTH)[0]
    if len(ids) == 1:
        return first, sentences[0] if sentences else None
    return first, "One of these, which give the same numbers here: " + " Or: ".join(sentences)


def _told(name: str, padding: bool) -> str | None:
    """The sentence of a misconception, or of two at once, with their ids."""
    names = name.split(BOTH)
    if len(names) == 1:
        return sentence_of(name, padding)
    first, second = (f"{sentence_of(one, padding)} ({one})" for one in names)
    return f"Two mistakes at once: {first} And: {second}"
