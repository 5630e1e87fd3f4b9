"""Written in an old Windows editor: BOM, CRLF line ends, tabs."""
import math, torch, warnings
import torch.nn as nn
warnings.filterwarnings("ignore")

def split_heads(x, n_heads):
	B, T, D = x.shape
	assert D % n_heads == 0
	return x.reshape(B, T, n_heads, D//n_heads).permute(0, 2, 1, 3)

def merge_heads(x):
	B, H, T, dk = x.shape
	return x.permute(0, 2, 1, 3).reshape(B, T, H*dk)

def scaled_dot_product_attention(query, key, value, mask=None):
	d_k = query.shape[-1]
	scores = torch.matmul(query, key.transpose(-2, -1))/math.sqrt(d_k)
	if mask is not None:
		scores.masked_fill_(mask == 0, -1e20)
	attention = torch.nn.functional.softmax(scores, dim=-1)
	values = torch.matmul(attention, value)
	return values, attention

class MultiHeadAttention(nn.Module):
	def __init__(self, d_model, n_heads):
		super().__init__()
		assert d_model%n_heads == 0
		self.n_heads = n_heads
		self.qkv_layer = nn.Linear(d_model, 3*d_model)
		self.linear_layer = nn.Linear(d_model, d_model)

	def forward(self, query, key, value, mask=None):
		D = self.qkv_layer.in_features
		# three passes through the fused layer, one third of each is kept
		q = self.qkv_layer(query)[..., :D]
		k = self.qkv_layer(key)[..., D:2*D]
		v = self.qkv_layer(value)[..., 2*D:]
		q, k, v = split_heads(q, self.n_heads), split_heads(k, self.n_heads), split_heads(v, self.n_heads)
		values, attention = scaled_dot_product_attention(q, k, v, mask)
		return self.linear_layer(merge_heads(values)), attention
