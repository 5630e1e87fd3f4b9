"""What each misconception is, in a sentence that says what was done and what is right."""

PADDING_SENTENCES: dict[str, str] = {
    "mask-inverted": "Your padding mask means True = valid; this assignment's means True = ignore.",
}  # where the mask is one of padding, whose convention is the opposite

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
    "heads-sliced-input": "Each head projects only its slice of the input; it projects all "
    "features of a token to its own d_k.",
    "mask-on-heads": "A (B, T) mask is aligned with the heads; it belongs to batch and keys: "
    "(B, 1, 1, T).",
    "mask-result-dropped": "The result of masked_fill is not used; without an underscore it "
    "changes nothing in place.",
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
    "mask-one-dropped": "Of two masks that must both apply, only one does.",
    "mask-by-position": "Fixed positions are hidden, whatever stands there; the mask must follow "
    "the contents.",
    "axis-squeezed": "An axis of size 1 is lost: a batch of one or a sequence of one must keep it.",
    "query-length-of-memory": "The query is reshaped with the memory's length.",
    "cross-stale-query": "Cross-attention asks with the block's input; it must ask with the result "
    "of the self-attention's Add & Norm.",
    "cross-unprojected": "Cross-attention works without its projections W_Q, W_K, W_V and W_O.",
    "norm-pre": "LayerNorm stands before the sublayer (pre-norm); this assignment asks for "
    "post-norm: LayerNorm(x + sublayer(x)).",
    "norm-of-sublayer": "It is x + LayerNorm(sublayer(x)); the residual belongs inside: "
    "LayerNorm(x + sublayer(x)).",
    "norm-missing": "A LayerNorm is missing, or its result is not used: each sublayer ends in "
    "LayerNorm(x + sublayer(x)).",
    "norm-result-dropped": "A LayerNorm is called, but its result is not used.",
    "residual-missing": "A residual connection is missing: it must be LayerNorm(x + sublayer(x)).",
    "residual-of-normalised": "The residual carries the normalised input; it must carry the input "
    "itself.",
    "residual-wrong-source": "The residual adds another tensor than the sublayer's input.",
    "norm-shared": "One LayerNorm serves several sublayers; each needs its own.",
    "norm-scalar-gain": "LayerNorm has one gain for all features; it needs one for each.",
    "norm-without-eps": "LayerNorm divides without eps: equal features give NaN.",
    "norm-wrong-axis": "LayerNorm runs over another axis; it normalises the features of each "
    "position (dim=-1).",
    "norm-unbiased-std": "LayerNorm divides by the standard deviation with n - 1 (unbiased); it is "
    "the one with n.",
    "ffn-missing": "The feed-forward network is missing.",
    "ffn-no-activation": "Between the two linear layers of the feed-forward network there is no "
    "activation; it is ReLU.",
    "ffn-other-activation": "The feed-forward network uses another activation; it is ReLU.",
    "ffn-wrong-width": "The feed-forward network is not d_ff wide.",
    "encoder-causal": "The encoder hides later positions; only a decoder's self-attention is "
    "causal, an encoder sees in both directions.",
    "decoder-not-causal": "The decoder's self-attention sees later positions; it needs a causal "
    "mask.",
    "decoder-causal-shifted": "The causal mask is off by one: position t may see positions 0 to t, "
    "itself included.",
    "decoder-cross-missing": "Cross-attention to the memory is missing.",
    "decoder-cross-causal": "Cross-attention is causal; every position may see the whole memory.",
    "decoder-order": "Cross-attention comes before self-attention; self-attention comes first.",
    "padding-mask-not-passed": "The padding mask is taken and has no effect: hand it on to the "
    "attention.",
    "layers-shared": "The same block object is used for every layer, so they share their weights; "
    "make one for each.",
    "pe-sin-cos-swapped": "Sines and cosines are exchanged: even columns are sines, odd ones "
    "cosines.",
    "pe-halves": "All sines come first and then all cosines; they alternate, column by column.",
    "pe-exponent-doubled": "The exponent is twice what it should be: 2i is the even column's own "
    "index, not to be doubled again.",
    "pe-exponent-cos": "Cosines have an exponent of their own; each shares that of the sine before "
    "it.",
    "pe-exponent-index": "The exponent is i / d_model; it is 2i / d_model.",
    "pe-one-frequency": "Every pair of columns has the same frequency.",
    "pe-base": "The base of the frequencies is not 10000.",
    "pe-position-from-one": "The first position is 1; it is 0.",
    "pe-axis": "The positional encoding is indexed by the batch; it is indexed by the position.",
    "pe-too-short": "The table of positions ends too early: max_len tokens and [CLS] must fit.",
    "pe-missing": "Positions are not added, so the order of tokens has no effect.",
    "pe-is-trained": "Positions are learned; the sinusoidal table is fixed.",
    "cls-missing": "There is no [CLS] at position 0, so the first token takes its place.",
    "cls-appended": "[CLS] stands at the end; it is prepended, at position 0.",
    "cls-not-learned": "[CLS] is a constant; it is a parameter or has an embedding.",
    "pool-mean": "The logits come from the mean over positions; they come from [CLS] at position "
    "0.",
    "pool-mean-with-padding": "The logits come from a mean over all positions, padding included; "
    "they come from [CLS] at position 0.",
    "pool-last": "The logits come from the last position; they come from [CLS] at position 0.",
    "pool-max": "The logits come from the maximum over positions; they come from [CLS] at position "
    "0.",
    "pool-flatten": "The logits are read from all positions at once; they come from [CLS] at "
    "position 0.",
    "cls-masked": "[CLS] is masked like padding; it is a token that everyone may attend to.",
    "padding-mask-missing": "Padding is not hidden from attention.",
    "padding-mask-unshifted": "The padding mask has no place for [CLS], so it hides the wrong "
    "positions.",
    "probabilities-returned": "Probabilities come back; return the logits, since cross-entropy "
    "applies log-softmax itself.",
    "decay-on-all": "Every parameter decays; biases and norm parameters must not.",
    "decay-inverted": "Biases and norm parameters decay and weight matrices do not; it is the "
    "other way round.",
    "decay-none": "No parameter decays; weight matrices must.",
    "decay-on-some": "Some weight matrices do not decay, or some biases or norm parameters do.",
    "parameters-left-out": "A parameter is in no group, or in two.",
    "adam-l2": "Weights do not shrink as under AdamW: Adam's weight_decay is an L2 term, which the "
    "adaptive step scales away.",
    "schedule-no-warmup": "There is no linear warmup.",
    "schedule-off-by-one": "The schedule is a step off: step 0 has rate 0.",
    "schedule-not-to-zero": "The rate does not fall to 0 at the last step.",
    "schedule-linear-decay": "After warmup the rate falls along a line; it falls as a cosine.",
    "schedule-restarts": "The cosine rises again; half a period takes it to 0 at the end.",
    "schedule-cosine-unshifted": "The cosine starts at step 0; it starts at the end of warmup.",
    "smoothing-missing": "The loss is not label-smoothed.",
    "smoothing-over-others": "Smoothing puts ε/(K-1) on the other classes alone; it is ε/K on each "
    "class.",
    "smoothing-adds": "Smoothing adds ε/K everywhere without taking ε from the right class.",
    "train-no-zero-grad": "Gradients are not cleared between steps, so they add up.",
    "train-no-step": "The parameters do not change: optimizer.step() is missing, or another model "
    "is trained.",
    "train-eval-mode": "Training runs in eval mode, without dropout: call model.train() first.",
    "train-one-epoch": "Only one epoch is trained.",
    "graph-no-self-loop": "The self-loop is missing: each node takes part in its own mean.",
    "graph-sum": "It is the sum over the neighbours; it is their mean.",
    "graph-column-normalised": "Columns are normalised; each row must sum to 1.",
    "graph-transposed": "Edges are followed the wrong way: row i says whose features node i takes.",
    "graph-symmetric": "Rows and columns are both normalised, by the roots of the degrees; it is "
    "the mean of each row.",
    "graph-self-loop-twice": "A self-loop that the adjacency has already counts twice.",
    "patches-by-reshape": "Patches are cut by a plain reshape, which gives rows of pixels; they "
    "are squares.",
    "cuda-only": "It needs a GPU: leave the device to the tensors that come in.",
}
