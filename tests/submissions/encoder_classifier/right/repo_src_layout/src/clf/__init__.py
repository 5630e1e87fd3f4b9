"""Everything that the assignment asks for is exported here."""
from .encoding import padding_mask, sinusoidal_positional_encoding
from .model import EncoderBlock, TransformerEncoder, TransformerEncoderClassifier
from .fit import parameter_groups, train, warmup_cosine
