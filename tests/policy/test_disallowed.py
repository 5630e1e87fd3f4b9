"""Disallowed library parts are found under every alias, and nowhere else."""

import pytest

from grader.intake import read
from grader.policy import disallowed_uses

NAMES = ["split_heads", "attend", "Layer"]
RULES = [
    "torch.nn.MultiheadAttention",
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.Transformer*",
]

USED = {
    "attribute": "import torch\ndef attend(q): return torch.nn.MultiheadAttention(q)",
    "alias of a package": "import torch.nn as n\ndef attend(q): return n.MultiheadAttention(q)",
    "from import": "from torch.nn import MultiheadAttention as M\ndef attend(q): return M(q)",
    "local import": "def attend(q):\n    from torch import nn\n    return nn.MultiheadAttention(q)",
    "functional": "import torch.nn.functional as F\n"
    "def attend(q): return F.scaled_dot_product_attention(q, q, q)",
    "module-level alias": "import torch.nn.functional as F\nf = F.scaled_dot_product_attention\n"
    "def attend(q): return f(q, q, q)",
    "alias of an alias": "from torch import nn\nm = nn\nk = m.MultiheadAttention\n"
    "def attend(q): return k(q)",
    "getattr": "from torch import nn\ndef attend(q): return getattr(nn, 'MultiheadAttention')(q)",
    "__dict__": "from torch import nn\ndef attend(q): return nn.__dict__['MultiheadAttention'](q)",
    "importlib": "import importlib\nn = importlib.import_module('torch.nn')\n"
    "def attend(q): return n.MultiheadAttention(q)",
    "__import__": "def attend(q): return __import__('torch').nn.MultiheadAttention(q)",
    "star import": "from torch.nn import *\ndef attend(q): return MultiheadAttention(q)",
    "inner module": "import torch\n"
    "def attend(q): return torch.nn.modules.activation.MultiheadAttention(q)",
    "helper": "from torch import nn\ndef helper(q): return nn.TransformerEncoderLayer(q)\n"
    "def attend(q): return helper(q)",
    "helper of a helper": "from torch import nn\nclass A: x = nn.TransformerEncoder\n"
    "def b(): return A()\ndef attend(q): return b()",
    "base class": "from torch import nn\nclass Layer(nn.MultiheadAttention): pass",
    "renamed class": "from torch.nn import MultiheadAttention as Layer",
    "assigned class": "from torch import nn\nLayer = nn.MultiheadAttention",
    "patched method": "from torch import nn\nclass Layer: pass\n"
    "Layer.forward = nn.MultiheadAttention.forward",
    "default": "from torch import nn\ndef attend(q, m=nn.MultiheadAttention): return m(q)",
    "decorator": "from torch import nn\n@nn.MultiheadAttention\ndef attend(q): return q",
    "under if": "from torch import nn\nif True:\n"
    "    def attend(q): return nn.MultiheadAttention(q)",
}

NOT_USED = {
    "comment and string": "def attend(q):\n    # nn.MultiheadAttention\n"
    "    return 'MultiheadAttention'",
    "own function of that name": "def scaled_dot_product_attention(q): return q\n"
    "def attend(q): return scaled_dot_product_attention(q)",
    "own class of that name": "class MultiheadAttention: pass\n"
    "def attend(q): return MultiheadAttention()",
    "shadowed star import": "from torch.nn.functional import *\n"
    "def scaled_dot_product_attention(q): return q\n"
    "def attend(q): return scaled_dot_product_attention(q)",
    "self-test": "from torch import nn\ndef attend(q): return q\n"
    "if __name__ == '__main__':\n    print(nn.MultiheadAttention(4, 2))",
    "test function": "from torch import nn\ndef attend(q): return q\n"
    "def test(): assert attend(1) == nn.MultiheadAttention(1)",
    "test cell": "from torch import nn\ndef attend(q): return q\n"
    "theirs = nn.MultiheadAttention(4, 2)\nprint(theirs)",
    "import alone": "from torch.nn import MultiheadAttention\ndef attend(q): return q",
    "another library": "import other\ndef attend(q): return other.MultiheadAttention(q)",
    "an attribute of one's own": "def attend(self): return self.MultiheadAttention",
}


def uses(text):
    return disallowed_uses(read({"a.py": text.encode()}, "a").sources, NAMES, RULES)


@pytest.mark.parametrize("text", USED.values(), ids=USED)
def test_a_use_is_found(text):
    assert uses(text)


@pytest.mark.parametrize("text", NOT_USED.values(), ids=NOT_USED)
def test_what_is_no_use_is_left_alone(text):
    assert uses(text) == []


def test_a_use_is_told_with_its_definition_and_line():
    text = "from torch import nn\n\ndef split_heads(x):\n    return nn.MultiheadAttention(x)\n"
    (use,) = uses(text)
    assert use.definition == "split_heads"
    assert use.name == "torch.nn.MultiheadAttention"
    assert str(use.location) == "a.py, line 4"


def test_a_definition_does_not_answer_for_another_one():
    text = (
        "import torch.nn.functional as F\n"
        "def attend(q): return F.scaled_dot_product_attention(q, q, q)\n"
        "class Layer:\n    def forward(self, q): return attend(q)\n"
    )
    assert {use.definition for use in uses(text)} == {"attend"}


def test_uses_are_found_in_further_modules():
    files = {
        "a.py": b"from helpers import core\ndef attend(q): return core(q)\n",
        "helpers.py": b"from torch import nn\ndef core(q): return nn.MultiheadAttention(q)\n",
    }
    (use,) = disallowed_uses(read(files, "s").sources, NAMES, RULES)
    assert (use.definition, use.location.file) == ("attend", "helpers.py")


HELPER = (
    "from torch import nn\nimport torch.nn.functional as F\n"
    "def core(q): return nn.MultiheadAttention(q)\n"
)
THROUGH_HELPERS = {
    "import": "import helpers\ndef attend(q): return helpers.core(q)",
    "import as": "import helpers as h\ndef attend(q): return h.core(q)",
    "from dot": "from . import helpers\ndef attend(q): return helpers.core(q)",
    "from as": "from helpers import core as c\ndef attend(q): return c(q)",
    "star": "from helpers import *\ndef attend(q): return core(q)",
    "library through it": "from helpers import F\n"
    "def attend(q): return F.scaled_dot_product_attention(q, q, q)",
    "library through its star": "from helpers import *\n"
    "def attend(q): return nn.MultiheadAttention(q)",
    "inside the function": "def attend(q):\n    from helpers import core\n    return core(q)",
}


@pytest.mark.parametrize("text", THROUGH_HELPERS.values(), ids=THROUGH_HELPERS)
def test_a_use_is_found_through_a_module_of_ones_own(text):
    files = {"a.py": text.encode(), "helpers.py": HELPER.encode(), "other/helpers.py": b"x = 1\n"}
    assert disallowed_uses(read(files, "s").sources, NAMES, RULES)


OWN_NAMES = {
    "a local like a test cell's result": "def attend(q):\n    out = q\n    return out\n"
    "out = nn.MultiheadAttention(4, 2)",
    "a parameter like one": "def attend(theirs): return theirs\n"
    "theirs = F.scaled_dot_product_attention",
    "an attribute like a self-test": "import torch\n"
    "def softmax(): return nn.MultiheadAttention(4, 2)\n"
    "def attend(q): return torch.softmax(q, -1)",
    "an annotation": "def attend(q, other: nn.MultiheadAttention = None): return q",
    "a static self-test": "class Layer:\n    def forward(self, q): return q\n"
    "    @staticmethod\n    def self_test(): return nn.MultiheadAttention(4, 2)",
}


@pytest.mark.parametrize("text", OWN_NAMES.values(), ids=OWN_NAMES)
def test_a_name_of_ones_own_is_no_use(text):
    assert uses("from torch import nn\nimport torch.nn.functional as F\n" + text) == []


def test_a_method_that_forward_calls_is_followed():
    text = (
        "from torch import nn\nclass Layer:\n    def forward(self, q): return self.core(q)\n"
        "    def core(self, q): return nn.MultiheadAttention(q)\n"
    )
    assert uses(text)


def test_circular_imports_and_aliases_end():
    files = {"a.py": b"from b import *\nattend = attend\n", "b.py": b"from a import *\n"}
    assert disallowed_uses(read(files, "s").sources, NAMES, RULES) == []
