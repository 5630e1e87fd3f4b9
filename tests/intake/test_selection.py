"""Definitions first: which statements are run to have what is graded, and which are not."""

import ast

import pytest

from grader.intake import read
from grader.intake.selection import select
from tests.intake.test_reader import notebook


def kept(text, *wanted, only_now=False):
    """The source of the statements that are run, to have the wanted names."""
    (source,) = read({"a.py": text.encode()}, "a").sources.values()
    selection = select(source, set(wanted) or None, only_now)
    body = source.tree.body
    return [ast.unparse(body[index]).split("\n")[0] for index in selection.kept[0]]


EXPLORING = {
    "a print": "print(f(1))",
    "a training loop": "for epoch in range(10):\n    loss = f(epoch)\n    losses.append(loss)",
    "an endless loop": "while True:\n    pass",
    "a download": "data = open('x').read()",
    "a question": "n = int(input('heads? '))",
    "a model": "model = Net()\nmodel.eval()\nmodel.weight.data[0] = f(1)",
    "an assertion": "assert f(1) == 3",
    "a plot": "plt.plot(f(1))",
    "an exit": "import sys\nsys.exit()",
    "an error": "raise SystemExit",
    "a demo": "with torch.no_grad():\n    y = f(1)",
    "a check": "if f(1) != 3:\n    print('wrong')",
    "a file": "with open('log.txt', 'w') as log:\n    log.write('x')",
    "a test that is called": "def test_f():\n    assert f(1)\ntest_f()",
    "a result under its own name": "f = f(1)",
    "a result among others": "f, g = f(1), 2",
    "data under its own name": "import data\nf = data.load('train')",
    "a value under its own name": "y = f(1)\nf = y",
    "what another function gives": "def run(x): return [x]\nf = run(1)",
    "a loop over it": "for f in range(3):\n    print(f)",
}


@pytest.mark.parametrize("text", EXPLORING.values(), ids=EXPLORING)
def test_exploring_is_not_run(text):
    definition = "import matplotlib.pyplot as plt\nlosses = []\ndef f(x):\n    return x\n"
    run = kept(definition + text + "\n", "f")
    assert "def f(x):" in run
    exploring = {ast.unparse(s).split("\n")[0] for s in ast.parse(text).body}
    assert not {r for r in run if r in exploring} - {
        "import sys",
        "import data",
        "def test_f():",
        "def run(x):",
    }


NEEDED = {
    "a constant": "EPS = 1e-6\ndef f(x): return x + EPS",
    "what a constant is made of": "a = make()\nEPS = a.eps\ndef make(): ...\ndef f(x): return x + EPS",
    "a table that a loop fills": "T = [0] * 3\nfor i in range(3):\n    T[i] = i\ndef f(x): return T[x]",
    "a table that appends fill": "T = []\nfor i in range(3):\n    T.append(i)\ndef f(x): return T[x]",
    "a default": "n = int('3')\ndef f(x, n=n): return n",
    "a decorator": "import functools\ndef deco(g): return g\n@deco\ndef f(x): return x",
    "a registry": "R = {}\ndef reg(g):\n    R[g.__name__] = g\n    return g\n@reg\ndef h(x): return x\n"
    "def f(x): return R['h'](x)",
    "a device": "import torch\ndevice = torch.device('cpu')\ndef f(x): return x.to(device)",
    "a device by a condition": "import torch\nif torch.cuda.is_available():\n    d = 'cuda'\nelse:\n"
    "    d = 'cpu'\ndef f(x): return x.to(d)",
    "an alias": "def attend(x): return x\nf = attend",
    "a wrapper": "import functools\ndef f(x): return x\nf = functools.lru_cache(f)",
    "a wrapper of one's own": "def twice(g): return lambda x: g(g(x))\ndef f(x): return x\nf = twice(f)",
    "a partial": "from functools import partial\ndef f(x, y): return x\nf = partial(f, y=1)",
    "a factory": "def make(): return lambda x: x\nf = make()",
    "a lambda": "k = 2\nf = lambda x: k * x",
    "two names at once": "def pair(): return 1, 2\na, f = pair()",
    "a method that is attached": "class f:\n    pass\ndef forward(self, x): return x\nf.forward = forward",
    "methods that a loop attaches": "class f: pass\nclass g: pass\nfor c in (f, g):\n    c.n = 3",
    "setattr": "class f: pass\nsetattr(f, 'n', 3)",
    "a function that patches": "class f: pass\ndef patch(c):\n    c.n = 3\npatch(f)",
    "a base class": "import torch\nBase = torch.nn.Module\nclass f(Base): pass",
    "a value of a class": "size = len('abc')\nclass f:\n    n = size",
    "a global that is set": "count = None\ndef set_count():\n    global count\n    count = 3\nset_count()\n"
    "def f(x): return count",
    "a table that calls fill": "T = {}\ndef put(k, v): T[k] = v\nput(1, 2)\ndef f(x): return T[x]",
    "either of two": "try:\n    from fast import f\nexcept ImportError:\n    def f(x): return x",
    "a setting of a library": "import torch\ntorch.backends.mkldnn.enabled = False\ndef f(x): return x",
    "a walrus": "if (n := len('abc')) > 2:\n    pass\ndef f(x): return n",
    "a class that a block makes": "if True:\n    class f: pass",
    "a guard": "import sys\nif sys.version_info < (3, 8):\n    raise RuntimeError\ndef f(x): return x",
    "the last of two": "def f(x): return 1\ndef f(x): return 2",
}  # fmt: skip


@pytest.mark.parametrize("text", NEEDED.values(), ids=NEEDED)
def test_what_a_definition_needs_is_run(text):
    assert kept(text, "f") == [ast.unparse(s).split("\n")[0] for s in ast.parse(text).body]


def test_definitions_and_constants_that_nothing_needs_are_made_where_that_costs_nothing():
    text = "W = 3\nx = open('f')\ndef f(): ...\ndef g(a=W): ...\ndef h(a=x): ...\nclass C: n = x\n"
    assert kept(text, "f") == ["W = 3", "def f():", "def g(a=W):"]


def test_a_constant_does_not_hide_a_definition():
    assert kept("def f(): ...\nf = 3\n", "f") == ["def f():"]


def test_a_definition_that_is_graded_is_not_called_for_what_it_sets():
    text = (
        "log = []\ndef f(x):\n    global last\n    last = x\n    log.append(last)\nf(1)\ny = f(2)\n"
    )
    assert kept(text, "f") == ["log = []", "def f(x):"]


def test_only_what_definitions_need_at_once():
    text = "n = slow()\nm = slow()\ndef slow(): ...\ndef f(a=n): return m\n"
    assert kept(text, "f", only_now=True) == ["n = slow()", "def slow():", "def f(a=n):"]


def test_what_names_look_up_as_texts_is_told():
    def by_name(text):
        (source,) = read({"a.py": text.encode()}, "a").sources.values()
        return select(source, {"f"}).by_name

    assert by_name("def f(x): return globals()['g'](x)")
    assert by_name("def f(x): return eval('g')(x)")
    assert not by_name("def f(x): return x.eval()\ndef h(): exec('')")


def test_annotations_count_only_where_they_are_evaluated():
    text = "T = make()\ndef make(): ...\ndef f(x: T): return x\n"
    assert "T = make()" in kept(text, "f")
    assert "T = make()" not in kept("from __future__ import annotations\n" + text, "f")


def test_names_of_a_functions_own_are_none_of_the_module():
    text = "x = slow()\ndef slow(): ...\ndef f(x): return [y for y in x]\ny = slow()\n"
    assert kept(text, "f") == ["def slow():", "def f(x):"]


def test_cells_are_chosen_by_statement_and_what_is_left_out_is_told():
    data = notebook("import torch\nprint(1)", "def f(x): ...\n'''text'''", "f(3)")
    source = read({"n.ipynb": data}, "n").sources["n.ipynb"]
    selection = select(source, {"f"})
    assert selection.kept == ((0,), (0,), ())
    places = [str(source.locate(statement.lineno)) for statement in selection.left_out]
    assert places == ["n.ipynb, cell 1, line 2", "n.ipynb, cell 3, line 1"]


def test_a_main_guard_and_texts_are_not_worth_a_word():
    text = "'''doc'''\ndef f(): ...\nif __name__ == '__main__':\n    f()\n"
    (source,) = read({"a.py": text.encode()}, "a").sources.values()
    assert select(source, {"f"}).left_out == ()


def test_a_namespace_that_exec_fills_is_needed_with_it():
    text = "made = {}\nexec('def g(x): return x', made)\ng = made['g']\ndef f(x): return g(x)\n"
    assert "exec('def g(x): return x', made)" in kept(text, "f")


def test_files_that_are_written_aside_count_as_looked_up():
    def by_name(text):
        (source,) = read({"a.py": text.encode()}, "a").sources.values()
        return select(source, {"f"}).by_name

    writes = "with open('c.json', 'w') as file:\n    json.dump({'a': 1}, file)\n"
    assert by_name(
        "import json\n" + writes + "def f(x):\n    return json.load(open('c.json'))['a']\n"
    )
    assert not by_name("import json\n" + writes + "def f(x):\n    return x\n")
    assert not by_name("import json\nprint(1)\ndef f(x):\n    return json.load(open('c.json'))\n")
