"""A runnable mutant for every misconception: small changes to the reference's source.

`MUTANTS` is the catalogue; `submission_files` makes a submission of a mutant. Each change replaces
a piece of source that occurs exactly once, so a mutant follows the reference or says that it no
longer fits.
"""

from reference.misconceptions.mutants.attention import ATTENTION
from reference.misconceptions.mutants.classifier import CLASSIFIERS
from reference.misconceptions.mutants.decoder import DECODERS
from reference.misconceptions.mutants.encoder import ENCODERS
from reference.misconceptions.mutants.general import GENERAL
from reference.misconceptions.mutants.heads import HEADS, LAYERS
from reference.misconceptions.mutants.pairs import pairs
from reference.misconceptions.mutants.positional import POSITIONS
from reference.misconceptions.mutants.review import REVIEWS
from reference.misconceptions.mutants.source import Change, Mutant, submission_files
from reference.misconceptions.mutants.training import TRAININGS

SINGLE: tuple[Mutant, ...] = (
    *ATTENTION,
    *HEADS,
    *LAYERS,
    *ENCODERS,
    *DECODERS,
    *POSITIONS,
    *CLASSIFIERS,
    *TRAININGS,
    *REVIEWS,
    *GENERAL,
)
MUTANTS: tuple[Mutant, ...] = (*SINGLE, *pairs(SINGLE))


def mutants_of(assignment: str) -> list[Mutant]:
    """The mutants whose mistakes can be made in an assignment, by its id.

    A further variant of a mistake stands in the first of its assignments alone: others take the
    same checks from there.
    """
    return [
        mutant
        for mutant in MUTANTS
        if assignment in mutant.assignments[: 1 if mutant.is_variant else None]
    ]


__all__ = ["MUTANTS", "Change", "Mutant", "mutants_of", "submission_files"]
