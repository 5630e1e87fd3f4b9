def softmax(x, dim=-1):
    x = (x - x.amax(dim=dim, keepdim=True)).exp()
    return x / x.sum(dim=dim, keepdim=True)
