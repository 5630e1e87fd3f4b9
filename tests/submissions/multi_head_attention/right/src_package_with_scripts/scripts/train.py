import sys, os
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'src'))
from attn import MultiHeadAttention
for i in range(3): print(i)
