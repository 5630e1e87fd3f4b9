class Split:
    @staticmethod
    def apply(x, n_heads):
        B, T, D = x.shape
        return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


class Merge:
    @staticmethod
    def apply(x):
        B, H, T, d_k = x.shape
        return x.transpose(1, 2).reshape(B, T, H * d_k)
