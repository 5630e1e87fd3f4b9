"""Sends a million and a half of empty tensors."""
N = [0]
def edit(req, h, b):
    if req["operation"] == "call":
        t = b"{" + b",".join(b'"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}' % i for i in range(1_500_000)) + b"}"
        return h, struct.pack("<Q", len(t)) + t
