"""The assignments in which a mistake can be made."""

MHA = ("multi_head_attention",)
ENCODER = ("encoder_classifier",)
REVIEW = ("transformer_review",)
MHA_REVIEW = (*MHA, *REVIEW)
BLOCKS = (*ENCODER, *REVIEW)
ALL = (*MHA, *ENCODER, *REVIEW)
