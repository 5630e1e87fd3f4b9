"""Answers with millions of empty nodes, so that validating them takes long."""
def edit(req, h, b):
    if req["operation"] == "call":
        return b'{"id":%d,"value":{"k":"list","v":[%s]}}' % (h["id"], b",".join([b"{}"] * 2_700_000)), b
