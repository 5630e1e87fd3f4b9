"""Names millions of characters of packages that are not there."""
def edit(req, h, b):
    if req["operation"] == "load":
        h["value"]["v"][2][1] = {"k": "list", "v": [{"k": "list", "v": ["x" * 300_000 + str(i), "missing"]} for i in range(20)]}
        return h, b
