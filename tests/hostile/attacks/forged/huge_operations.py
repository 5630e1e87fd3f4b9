"""Counts operations with thousands of digits."""
N = [0]
def edit(req, h, b):
    if arguments_of(req).get("count"):
        N[0] += 1
        big = b"1" + b"0" * 4000 if N[0] % 4 == 0 else b"1"
        if set_in(h, "operations", "@@"):
            return json.dumps(h).encode().replace(b'"@@"', big), b
