"""Usual names: what public code calls the definitions and arguments that assignments ask for.

One table for all assignments. A rubric lists only what it adds: `other_names` of a component,
`synonyms` of an argument.
"""

# The likeliest first: where a submission has several of them, the first one is graded. A name that
# differs from the assignment's in letter case or underscores only is a misspelling, and no entry.
OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "MultiHeadAttention": (
        "MultiHeadedAttention", "MultiHeadSelfAttention", "MultiheadSelfAttention",
        "MultiHeadAttentionLayer", "MultiHeadAttentionBlock", "MultiHeadAttn", "MHA", "MHSA",
        "MultiHead", "SelfAttention", "Attention", "AttentionLayer",
    ),
    "scaled_dot_product_attention": (
        "scaled_dot_product", "scaled_dot_product_attn", "scaled_dot_attention",
        "dot_product_attention", "scaled_attention", "sdpa", "sdp_attention", "attention",
        "attention_fn", "compute_attention", "calculate_attention", "attn", "self_attention",
    ),
    "split_heads": (
        "split_into_heads", "split_to_heads", "separate_heads", "to_heads", "divide_heads",
        "transpose_qkv",
    ),
    "merge_heads": (
        "combine_heads", "concat_heads", "concatenate_heads", "join_heads", "recombine_heads",
        "unsplit_heads", "from_heads", "transpose_output",
    ),
    "sinusoidal_positional_encoding": (
        "positional_encoding", "get_positional_encoding", "create_positional_encoding",
        "make_positional_encoding", "build_positional_encoding", "compute_positional_encoding",
        "sinusoidal_encoding", "get_sinusoidal_encoding", "get_sinusoidal_positional_encoding",
        "sinusoidal_pe", "sinusoidal_positional_embedding", "sinusoidal_embedding",
        "positional_embedding", "pos_encoding", "sinusoid_encoding_table",
        "get_sinusoid_encoding_table",
    ),
    "padding_mask": (
        "create_padding_mask", "make_padding_mask", "get_padding_mask", "build_padding_mask",
        "generate_padding_mask", "key_padding_mask", "make_key_padding_mask",
        "get_key_padding_mask", "pad_mask", "create_pad_mask", "make_pad_mask", "get_pad_mask",
        "get_attn_pad_mask",
    ),
    "causal_mask": (
        "create_causal_mask", "make_causal_mask", "get_causal_mask", "build_causal_mask",
        "generate_causal_mask", "subsequent_mask", "make_subsequent_mask", "get_subsequent_mask",
        "generate_square_subsequent_mask", "look_ahead_mask", "create_look_ahead_mask",
        "make_look_ahead_mask", "get_look_ahead_mask", "create_lookahead_mask", "future_mask",
        "autoregressive_mask", "tril_mask",
    ),
    "EncoderBlock": (
        "EncoderLayer", "TransformerEncoderBlock", "TransformerEncoderLayer", "TransformerBlock",
        "TransformerLayer", "Block",
    ),
    "TransformerEncoder": ("Encoder", "EncoderStack", "TransformerEncoderStack", "StackedEncoder"),
    "DecoderBlock": ("DecoderLayer", "TransformerDecoderBlock", "TransformerDecoderLayer"),
    "TransformerEncoderClassifier": (
        "TransformerClassifier", "EncoderClassifier", "TransformerEncoderForClassification",
        "TransformerForClassification", "TransformerForSequenceClassification",
        "TransformerClassificationModel", "TransformerTextClassifier", "TextClassifier",
        "SequenceClassifier", "Classifier",
    ),
    "parameter_groups": (
        "get_parameter_groups", "make_parameter_groups", "build_parameter_groups",
        "create_parameter_groups", "param_groups", "get_param_groups", "make_param_groups",
        "build_param_groups", "create_param_groups", "param_groups_weight_decay",
        "weight_decay_groups", "get_optimizer_grouped_parameters", "optimizer_grouped_parameters",
        "get_optim_groups", "optimizer_groups",
    ),
    "warmup_cosine": (
        "warmup_cosine_schedule", "warmup_cosine_lr", "warmup_cosine_decay", "cosine_warmup",
        "cosine_warmup_lr", "cosine_with_warmup", "cosine_schedule_with_warmup",
        "linear_warmup_cosine", "linear_warmup_cosine_decay", "lr_schedule",
        "learning_rate_schedule", "cosine_schedule", "cosine_lr", "get_lr", "lr_at_step",
    ),
    "train": (
        "train_model", "fit", "train_classifier", "train_loop", "training_loop", "run_training",
    ),
    "PixelBERT": ("PixelBERTClassifier", "PixelBERTModel", "PixelTransformer"),
    "mean_aggregate": (
        "mean_aggregation", "aggregate_mean", "mean_aggregator", "neighbor_mean", "neighbour_mean",
        "neighborhood_mean", "mean_neighbors", "mean_of_neighbors", "aggregate_neighbors",
    ),
}  # fmt: skip
