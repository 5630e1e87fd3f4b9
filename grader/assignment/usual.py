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

SYNONYMS: dict[str, tuple[str, ...]] = {
    "adjacency": ("adj", "a", "adjacency_matrix", "adj_matrix", "adj_mat", "edges"),
    "d_ff": (
        "dim_feedforward", "d_feedforward", "ff_dim", "ffn_dim", "d_ffn", "dff", "dim_ff",
        "d_hidden", "dim_hidden", "d_inner", "inner_dim", "intermediate_size", "intermediate_dim",
        "mlp_dim", "mlp_size", "d_mlp", "ff_size", "ffn_size", "ff_hidden", "ff_hidden_dim",
        "ffn_hidden", "ffn_hidden_size", "ffn_hidden_dim", "feedforward_dim", "feed_forward_dim",
        "ffn_num_hiddens", "hidden", "hidden_dim", "hidden_size",
    ),
    "d_model": (
        "dmodel", "embed_dim", "embed_size", "emb_dim", "emb_size", "embedding_dim",
        "embedding_size", "d_embed", "d_emb", "n_embd", "n_embed", "model_dim", "model_size",
        "dim_model", "dim", "width", "num_hiddens", "d", "hidden_dim", "hidden_size",
    ),
    "dropout": (
        "p", "p_drop", "drop", "dropout_rate", "dropout_p", "dropout_prob", "drop_prob",
        "drop_rate", "drop_p", "p_dropout", "pdrop",
    ),
    "epochs": ("n_epochs", "num_epochs", "epoch", "n_epoch", "max_epochs", "nepochs"),
    "features": (
        "x", "feats", "feat", "h", "feature", "node_features", "node_feats", "feature_matrix",
    ),
    "images": ("x", "imgs", "image", "pixels", "pixel_values", "img", "inputs", "input"),
    "input_ids": (
        "ids", "tokens", "token_ids", "input_id", "input_tokens", "x", "inputs", "input", "src",
        "idx", "seq", "sequence", "sequences", "x_train", "train_x",
    ),
    "key": ("k", "keys", "xk", "x_k", "key_input", "k_in", "k_input"),
    "key_padding_mask": (
        "src_key_padding_mask", "src_padding_mask", "src_pad_mask", "padding_mask", "pad_mask",
        "padding", "key_mask", "kpm", "mask", "src_mask", "attn_mask", "attention_mask",
    ),
    "label_smoothing": ("smoothing", "label_smooth", "eps", "epsilon", "ls"),
    "labels": ("y", "targets", "target", "label", "classes", "y_train", "train_y", "y_true"),
    "lr_max": (
        "max_lr", "lr", "learning_rate", "max_learning_rate", "peak_lr", "lr_peak", "base_lr",
        "lrmax", "eta_max",
    ),
    "mask": (
        "attn_mask", "attention_mask", "attend", "allowed", "causal_mask", "src_mask", "tgt_mask",
        "valid_mask", "m",
    ),
    "max_len": (
        "max_length", "maxlen", "length", "seq_len", "seq_length", "sequence_length",
        "max_seq_len", "max_seq_length", "max_sequence_length", "n_positions", "num_positions",
        "n_pos", "num_pos", "max_position", "max_positions", "max_position_embeddings",
        "context_length", "block_size",
    ),
    "memory": (
        "mem", "enc", "enc_out", "enc_output", "enc_outputs", "encoder_out", "encoder_output",
        "encoder_outputs", "encoder_hidden_states", "encoder_hidden", "context", "source",
    ),
    "memory_key_padding_mask": (
        "memory_padding_mask", "memory_pad_mask", "memory_mask", "mem_mask", "memory_key_mask",
        "key_padding_mask", "padding_mask", "pad_mask", "src_key_padding_mask",
        "src_padding_mask", "src_pad_mask", "src_mask", "enc_mask", "encoder_mask",
        "encoder_padding_mask", "encoder_attention_mask", "cross_mask", "cross_attn_mask", "mask",
    ),
    "model": ("net", "network", "module", "classifier"),
    "n_classes": (
        "num_classes", "classes", "n_class", "num_class", "nclass", "num_labels", "n_labels",
        "out_dim", "output_dim", "out_features", "n_out", "c",
    ),
    "n_heads": (
        "num_heads", "nhead", "n_head", "nheads", "num_head", "heads", "h", "n_h",
        "num_attention_heads", "n_attention_heads", "attention_heads",
    ),
    "n_layers": (
        "num_layers", "n_layer", "num_layer", "nlayers", "layers", "depth", "n_blocks",
        "num_blocks", "num_encoder_layers", "n_encoder_layers", "num_hidden_layers", "n",
    ),
    "pad_id": (
        "pad", "pad_idx", "pad_index", "pad_token", "pad_token_id", "pad_value", "padding_id",
        "padding_idx", "padding_index", "padding_value",
    ),
    "patch_size": ("patch", "p", "patch_dim", "patch_width", "ps"),
    "query": ("q", "queries", "xq", "x_q", "query_input", "q_in", "q_input"),
    "size": (
        "n", "t", "l", "sz", "length", "seq_len", "seq_length", "sequence_length", "max_len",
        "context_length", "block_size",
    ),
    "step": (
        "t", "i", "it", "current_step", "cur_step", "global_step", "step_num", "iteration",
        "iter_num",
    ),
    "total_steps": (
        "total", "n_steps", "num_steps", "num_training_steps", "n_training_steps", "max_steps",
        "steps", "total_step", "n_total", "total_iters", "max_iters", "lr_decay_iters", "t_max",
    ),
    "value": ("v", "values", "xv", "x_v", "value_input", "v_in", "v_input"),
    "vocab_size": (
        "vocab", "n_vocab", "num_vocab", "vocabulary_size", "num_tokens", "n_tokens", "ntoken",
        "num_embeddings", "src_vocab", "src_vocab_size", "input_vocab_size",
    ),
    "warmup_steps": (
        "warmup", "n_warmup", "num_warmup", "num_warmup_steps", "n_warmup_steps", "warm",
        "warm_steps", "warm_up", "warm_up_steps", "warmup_step", "warmup_iters",
    ),
    "weight_decay": ("wd", "decay", "lambda_", "l2", "weight_decay_rate"),
    "x": (
        "input", "inputs", "inp", "tensor", "t", "tgt", "trg", "src", "target", "hidden",
        "hidden_state", "hidden_states", "tokens", "embedding", "embeddings", "emb", "seq",
        "sequence",
    ),
}  # fmt: skip

# Names of two arguments of one call, of which the first has the better claim: beside `embed_dim`,
# `hidden_dim` is `d_ff`, and without it `d_model`.
SHARED = frozenset({"hidden_dim", "hidden_size"})
