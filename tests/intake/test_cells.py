"""A notebook's cell as plain Python: what is the shell's goes, what is Python stays in its line."""

import json

import pytest

from grader.errors import InputError
from grader.intake import read
from grader.intake.cells import read_cell
from grader.intake.submission import Location
from tests.intake.test_reader import notebook, text_of

GONE = {
    "magic": "%matplotlib inline",
    "shell": "!pip install einops",
    "shell that goes on": "!pip install \\\n  einops \\\n  tqdm",
    "shell with a quote": "!echo 'it is'\"s",
    "shell with an open bracket": "!echo (",
    "assigned": "files = !ls *.py",
    "assigned magic": "here = %pwd",
    "help": "torch.nn.Linear?",
    "help in front": "?torch.nn",
    "source": "layer??",
    "without a sign": "pip install einops",
    "pasted command": "git clone https://example.org/x.git",
    "timeit": "%timeit f(3)",
    "in a block": "if True:\n    !ls\n    %cd ..",
}


@pytest.mark.parametrize("shell", GONE.values(), ids=GONE)
def test_what_is_the_shells_goes_and_lines_stay(shell):
    cell = read_cell(f"a = 1\n{shell}\nb = 2\n")
    assert cell.text.count("\n") == shell.count("\n") + 3
    namespace = {}
    exec(cell.text, namespace)
    assert (namespace["a"], namespace["b"]) == (1, 2)
    assert cell.text.split("\n")[shell.count("\n") + 2] == "b = 2"
    assert cell.skipped
    assert cell.skipped[0][0] >= 2


KEPT = {
    "remainder": "x = (7\n% 4)\n",
    "text": "x = '''\n!ls\n%cd\n'''\n",
    "inequality": "x = 1 != 2\n",
    "one line that is timed": "%time x = 3\n",
    "timed cell": "%%time\nx = 3\n",
    "captured cell": "%%capture out\nx = 3\n",
    "two magics": "%%capture\n%%time\nx = 3\n",
    "magic that nobody knows": "%%track_memory --fast\nx = 3\n",
    "indented": "    x = 3\n    y = 4\n",
    "pasted session": ">>> x = 3\n>>> def f():\n...     return x\n",
    "numbered session": "In [3]: x = 3\n",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_is_python_stays(text):
    cell = read_cell(text)
    namespace = {}
    exec(cell.text, namespace)
    assert "x" in namespace
    assert cell.text.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "magic", ["%%bash", "%%html", "%%R", "%%script false", "%%writefile notes.txt", "%%cython"]
)
def test_a_cell_in_another_language_is_left_out(magic):
    cell = read_cell(f"{magic}\nx = 1\n")
    assert cell.text == "\n\n"
    assert cell.skipped == [(1, magic)]


def test_a_cell_that_writes_a_module_makes_it():
    data = notebook(
        "%%writefile src/helper.py\ndef double(x):\n    return 2 * x\n",
        "%%writefile -a src/helper.py\ndef triple(x):\n    return 3 * x\n",
        "%%writefile ../../outside.py\nx = 1\n",
        "from src.helper import double\n",
    )
    submission = read({"n.ipynb": data}, "n")
    assert sorted(submission.sources) == ["n.ipynb", "outside.py", "src/helper.py"]
    helper = submission.sources["src/helper.py"]
    assert [s.name for s in helper.tree.body] == ["double", "triple"]
    assert helper.locate(helper.tree.body[1].lineno) == Location("n.ipynb", 2, 2)


def test_a_file_that_was_handed_in_goes_before_what_a_cell_writes():
    data = notebook("%%writefile helper.py\nx = 1\n", "y = 2\n")
    submission = read({"n.ipynb": data, "helper.py": b"x = 3\n"}, "n")
    assert text_of(submission.sources["helper.py"]) == "x = 3\n"


def test_running_another_file_imports_it():
    assert read_cell("%run ./helpers.ipynb\nx = 1\n").text == "from helpers import *\nx = 1\n"


def test_a_cell_that_cannot_be_read_says_what_it_seems_to_define():
    data = notebook("class Attention(nn.Module):\n    def forward(self, x:\n", "x = 1")
    (note,) = read({"n.ipynb": data}, "n").notes
    assert note.location == Location("n.ipynb", 2, 1)
    assert "Attention" in note.defines


def test_a_merge_conflict_is_named():
    text = '{"cells": [\n<<<<<<< HEAD\n {},\n=======\n {}\n>>>>>>> main\n], "nbformat": 4}'
    with pytest.raises(InputError, match=r"merge conflict.*line 2"):
        read({"n.ipynb": text.encode()}, "n")


CELL = {"cell_type": "code", "source": ["x = 1\n", "y = 2"], "metadata": {}, "outputs": []}
SHAPES = {
    "no cell ids, which 4.5 asks for": {"nbformat": 4, "nbformat_minor": 5, "cells": [CELL]},
    "no metadata": {"nbformat": 4, "cells": [{"cell_type": "code", "source": "x = 1"}]},
    "no version": {"cells": [CELL]},
    "a version to come": {"nbformat": 9, "nbformat_minor": 0, "metadata": {}, "cells": [CELL]},
    "version 3": {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1", "language": "python",
                                   "outputs": []}]}],
    },
    "version 2": {
        "nbformat": 2,
        "metadata": {},
        "worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1", "language": "python",
                                   "outputs": []}]}],
    },
    "outputs that are none": {"nbformat": 4, "cells": [CELL | {"outputs": "none", "id": 3}]},
    "cells that are none": {"nbformat": 4, "cells": [None, 3, CELL]},
}  # fmt: skip


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
def test_notebooks_of_every_version_and_invalid_ones_with_cells_are_read(data):
    source = read({"n.ipynb": json.dumps(data).encode()}, "n").sources["n.ipynb"]
    namespace = {}
    exec(text_of(source), namespace)
    assert namespace["x"] == 1


def test_a_notebook_of_another_version_under_a_python_name_is_one():
    data = json.dumps(SHAPES["version 3"]).encode()
    assert read({"model.py": data}, "m").sources["model.py"].is_notebook


def test_what_runs_in_a_notebook_alone_is_read_as_running():
    text = "if __name__ == '__main__':\n    x = 3\n\n    def f():\n        return x\ny = 4\n"
    cell = read_cell(text)
    assert cell.text == "\nx = 3\n\ndef f():\n    return x\ny = 4\n"
    kept = "if __name__ == '__main__': x = 3\nif __name__ == '__main__':\n    x = 3\nelse:\n    x = 4\n"
    assert read_cell(kept).text == kept
