"""Gives gradients as a list where names are due."""
def edit(req, h, b):
    if arguments_of(req).get("probe") is not None and set_in(h, "parameter_gradients", {"k": "list", "v": []}):
        return h, b
