"""Wrong implementations that are recognised, each a small change to the reference.

An id is the one by which reports name the misconception; `SENTENCES` says in a sentence what was
done and what is right.
"""

from reference.misconceptions.attention import (
    ATTENTION_MUTANTS,
    ATTENTION_PAIRS,
    ATTENTION_VARIANTS,
    Attention,
)
from reference.misconceptions.heads import MERGE_MUTANTS, SPLIT_MUTANTS
from reference.misconceptions.layer import LAYER_MUTANTS
from reference.misconceptions.sentences import PADDING_SENTENCES, SENTENCES

__all__ = [
    "ATTENTION_MUTANTS",
    "ATTENTION_PAIRS",
    "ATTENTION_VARIANTS",
    "LAYER_MUTANTS",
    "MERGE_MUTANTS",
    "PADDING_SENTENCES",
    "SENTENCES",
    "SPLIT_MUTANTS",
    "Attention",
]
