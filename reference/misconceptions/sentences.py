"""What each misconception is, in a sentence that says what was done and what is right."""

SENTENCES: dict[str, str] = {
    "scale-missing": "The scores are not divided by √d_k.",
    "scale-d_k": "The scores are divided by d_k; it should be its square root, √d_k.",
    "scale-d_k-squared": "The scores are divided by d_k²; it should be √d_k.",
    "scale-multiplied": "The scores are multiplied by √d_k; they should be divided by it.",
    "scale-d_model": "The scores are divided by √d_model; each head has d_k = d_model / n_heads "
    "features, so it should be √d_k.",
    "scale-length": "The scores are divided by the root of the sequence length; it should be √d_k.",
    "scale-constant": "The scores are divided by a fixed number, which is right for one d_k only.",
    "softmax-over-queries": "The softmax runs over the queries (dim=-2); for each query the "
    "weights of its keys must sum to 1 (dim=-1).",
    "softmax-over-heads": "The softmax runs over the heads or the batch; it should run over the "
    "keys (dim=-1).",
    "softmax-missing": "The raw scores are used as weights, without a softmax over the keys.",
    "mask-inverted": "Your mask means True = ignore; this assignment's means True = may attend.",
    "mask-after-softmax": "The mask is applied after the softmax, so the weights that are left no "
    "longer sum to 1; hide the scores with -inf before the softmax.",
    "mask-fill-zero": "Hidden scores are set to 0, and exp(0) = 1 still takes part in the softmax; "
    "set them to -inf.",
    "mask-ignored": "The mask has no effect. If it is applied with masked_fill, use its result: "
    "masked_fill without an underscore changes nothing in place.",
    "mask-on-query-axis": "The mask is applied along the queries; it says which keys may be seen.",
    "mask-zero-scores": "Scores that happen to be 0 are taken for hidden ones.",
    "mask-required": "It fails when no mask is given; without a mask every key may be seen.",
    "mask-dtype": "It works only for some dtypes of the mask; bool and 0/1 of any dtype are both "
    "usual.",
    "mask-shape": "It works only for some shapes of the mask; it must broadcast to the scores.",
    "mask-nan": "Hiding keys gives NaN, as 0·(-inf) does; use masked_fill or torch.where.",
    "causal-built-in": "Later positions are hidden although no mask was given.",
    "values-are-keys": "The weights are applied to the keys; they must be applied to the values.",
    "query-key-swapped": "The softmax is that of KQᵀ; queries ask and keys answer, so it is QKᵀ.",
    "weights-returned-wrong": "The output is right, but the weights that are returned are not "
    "those that made it: they must be the softmax's result, for each head.",
    "dropout-in-eval": "The answer changes from call to call in eval mode: dropout (or fresh "
    "random weights) must be off there.",
    "input-modified": "The caller's tensors are changed in place; work on new ones.",
    "heads-view-without-transpose": "(B, T, D) is viewed directly as (B, H, T, d_k), which mixes "
    "positions with features; view as (B, T, H, d_k), then transpose(1, 2).",
    "heads-merge-without-transpose": "(B, H, T, d_k) is viewed directly as (B, T, D), which mixes "
    "heads with positions; transpose(1, 2) first.",
    "heads-view-and-merge-without-transpose": "Heads are made and joined by views alone, without "
    "transpose(1, 2), so positions and features are mixed.",
    "heads-interleaved": "Head h takes every H-th feature; it should take d_k features in a row.",
    "heads-single": "n_heads has no effect: it is the attention of a single head.",
    "heads-shared-projection": "One projection is used for several of query, key, value and "
    "output; each needs its own.",
    "output-projection-missing": "The joined heads are returned as they are; the output "
    "projection W_O must follow.",
    "parameters-dead": "Some parameters have no influence on the output.",
    "layers-unregistered": "Parameters are missing: layers in a plain list, or tensors that are no "
    "nn.Parameter, are not registered. Use nn.ModuleList or nn.Parameter.",
    "layers-created-in-forward": "Layers are made anew in every call, so their weights are random "
    "each time and never trained; make them in __init__.",
    "cross-length-of-query": "Keys and values are reshaped with the query's length; it fails when "
    "they are longer or shorter than the query.",
    "cross-ignores-memory": "Keys and values are taken from the query's input; they must come from "
    "the key and value arguments.",
    "batch-mixed": "A sample's output depends on the other samples of its batch.",
    "value-error-missing": "n_heads that does not divide d_model is accepted; it must be an error.",
    "argument-ignored": "A constructor argument has no effect.",
    "cost-cubic": "The cost grows eightfold when the sequence doubles; attention is quadratic.",
    "cost-linear": "The cost grows less than fourfold when the sequence doubles; every query must "
    "meet every key.",
    "hard-coded-figures": "It is right on the lesson's figures only.",
    "not-implemented": "It is still to be written.",
    "wrong-signature": "It cannot be called with the arguments that the assignment fixes.",
    "name-misspelt": "The definition has another name than the assignment's.",
    "disallowed-module": "It uses a PyTorch module that this assignment asks you to write.",
}
