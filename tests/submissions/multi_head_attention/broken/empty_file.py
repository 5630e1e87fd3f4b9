# multi_head_attention
