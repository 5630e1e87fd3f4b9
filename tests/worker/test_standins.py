"""Modules that are not there: stand-ins do nothing or say what is missing, and never hide a way out."""

import importlib
import sys

import pytest

from grader.worker.modules import PACKAGE, ROOT, Chunk, StudentModules
from grader.worker.standins import Inert, PackageMissing, guarded_lines


@pytest.fixture
def load():
    """Load a module from a text; the interpreter's import state is put back afterwards."""
    modules, meta_path = dict(sys.modules), list(sys.meta_path)

    def load(text, **others):
        sources = {"main.py": text, **{f"{name}.py": t for name, t in others.items()}}
        chunked = {path: [Chunk(1, text)] for path, text in sources.items()}
        finder = StudentModules(chunked, "main.py", {"main.py"})
        finder.install()
        module = finder.load("main.py")
        return finder, module

    yield load
    sys.meta_path[:] = meta_path
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]


SHOWING = """
import wandb, seaborn as sns
import matplotlib.pyplot as plt
from tqdm.auto import tqdm, trange
from tqdm import tqdm_notebook
import tqdm as bars
from google.colab import drive
from torch.utils.tensorboard import SummaryWriter
from fastprogress.fastprogress import progress_bar
from alive_progress import alive_bar

drive.mount("/content/drive")
wandb.init(project="x", config={"a": 1})
wandb.config.lr = 3
fig, ax = plt.subplots(2, 2)
ax[0, 1].plot([1, 2], label="x")
plt.rcParams["figure.figsize"] = (3, 4)
with SummaryWriter("runs") as writer:
    writer.add_scalar("loss", 1.0, 2)
with alive_bar(3) as bar:
    bar()
seen = [i for i in tqdm([1, 2, 3], desc="x", leave=False)]
count = len(tqdm([1, 2, 3]))
steps = list(trange(2, 4))
more = [i for i in bars.tqdm(iter("ab"))] + list(progress_bar("c")) + list(tqdm_notebook("d"))
progress = tqdm(range(3))
for i in progress:
    progress.set_postfix(loss=i)
    progress.set_description("x")
hand = tqdm(total=3)
hand.update(1)
hand.close()
tqdm.write("text")

@wandb.watch_calls
def decorated(x):
    return x

class Callback(wandb.Callback):
    value = 7
"""


def test_what_only_shows_does_nothing_and_goes_on(load):
    finder, module = load(SHOWING)
    assert finder.errors == []
    assert (module.seen, module.count, module.steps) == ([1, 2, 3], 3, [2, 3])
    assert module.more == ["a", "b", "c", "d"]
    assert module.i == 2
    assert module.decorated(5) == 5
    assert module.Callback().value == 7
    assert not module.wandb.run
    assert {name for name, kind in finder.stand_ins.used.items() if kind == "stand-in"} == {
        "wandb", "seaborn", "matplotlib", "tqdm", "google", "torch.utils.tensorboard",
        "fastprogress", "alive_progress",
    }  # fmt: skip


def test_annotations_of_a_package_that_is_not_there_are_no_matter(load):
    text = (
        "from torchtyping import TensorType\nfrom typeguard import typechecked\n"
        "@typechecked\ndef f(x: TensorType['batch', 3], y: TensorType[...] | None = None): return x\n"
    )
    finder, module = load(text)
    assert finder.errors == []
    assert module.f(2) == 2


@pytest.mark.parametrize(
    "use",
    [
        "no_such.f(1)",
        "no_such.module.Layer()",
        "class A(no_such.Module): pass",
        "[x for x in no_such.values]",
        "no_such.x + 1",
        "with no_such.context: pass",
        "from no_such import f\nf(1)",
        "from no_such.deep.er import f\nf(1)",
        "@no_such.wraps\ndef f(): pass",
    ],
)
def test_what_is_needed_of_a_module_that_is_not_there_is_told(load, use):
    finder, _ = load("import no_such\nimport no_such.module\n" + use)
    ((_, error),) = finder.errors
    assert isinstance(error, PackageMissing)
    assert str(error) == "It needs `no_such`, which is not installed here and was not handed in."


def test_importing_it_alone_is_no_matter(load):
    finder, module = load("import no_such.x as n\nfrom no_other import f, g as h\nx = 3\n")
    assert (finder.errors, module.x) == ([], 3)
    assert finder.stand_ins.used == {"no_such": "missing", "no_other": "missing"}


def test_data_is_no_matter_until_a_value_of_it_is_needed(load):
    text = (
        "from transformers import AutoTokenizer\nimport torchvision.transforms as T\nimport torch\n"
        "tokenizer = AutoTokenizer.from_pretrained('x')\ntransform = T.Compose([T.ToTensor()])\n"
        "import sys\n"
    )
    finder, _ = load(text)
    assert finder.errors == []
    del sys.modules[f"{PACKAGE}.main"]
    for use in ("torch.tensor(tokenizer('text'))", "len(tokenizer)", "torch.ones(1) * transform"):
        finder, _ = load(text + use)
        assert "It needs `t" in str(finder.errors[0][1])
        del sys.modules[f"{PACKAGE}.main"]


WAYS_OUT = [
    "try:\n    import no_such\nexcept ImportError:\n    no_such = None\n",
    "try:\n    from no_such import f\n    ok = 1\nexcept ModuleNotFoundError:\n    no_such = None\n",
    "try:\n    import no_such.deep\nexcept Exception:\n    no_such = None\n",
    "try:\n    import no_such\nexcept:\n    no_such = None\n",
    "def f():\n    try:\n        import no_such\n    except (ValueError, ImportError):\n        return None\n"
    "no_such = f()\n",
    "import importlib.util\nno_such = importlib.util.find_spec('no_such')\n",
    "import importlib\ntry:\n    importlib.import_module('no_such')\nexcept ImportError:\n    no_such = None\n",
]


@pytest.mark.parametrize("text", WAYS_OUT)
def test_where_the_code_has_a_way_out_the_import_fails(load, text):
    finder, module = load(text)
    assert finder.errors == []
    assert module.no_such is None
    assert finder.stand_ins.used == {}


def test_installed_packages_ask_for_optional_ones_as_ever(load):
    load("x = 1")
    with pytest.raises(ImportError):
        importlib.import_module("no_such_optional_package")


def test_a_module_that_was_not_handed_in_is_named_as_its_file(load):
    finder, module = load("from .attention import Attention\nx = 3\nAttention()\n")
    assert module.x == 3
    assert str(finder.errors[0][1]) == "It needs `attention.py`, which was not handed in."
    assert finder.stand_ins.used["attention.py"] == "not handed in"


def test_lines_that_may_fail():
    import ast

    text = "try:\n    import a\n    x = 1\nexcept ImportError:\n    import b\ntry:\n    import c\nfinally:\n    pass\n"
    assert guarded_lines(ast.parse(text)) == {2, 3}


def test_a_notebooks_shell_is_there_and_does_nothing(load):
    finder, module = load(
        "get_ipython().run_line_magic('matplotlib', 'inline')\ndisplay(3)\n"
        "colab = 'google.colab' in str(get_ipython())\n"
    )
    assert (finder.errors, module.colab) == ([], False)


def test_a_stand_in_shows_what_it_is():
    assert repr(Inert("wandb.run")) == "<stand-in for wandb.run>"
    assert ROOT.endswith("/")


def test_a_relative_import_above_the_root_means_the_root(load):
    finder, module = load("from ...layers import value\n", layers="value = 3\n")
    assert (finder.errors, module.value) == ([], 3)


@pytest.mark.parametrize("text", ["from torch.nn import NoSuch", "import torch.no_such"])
def test_what_an_installed_package_does_not_have_is_an_error(load, text):
    finder, _ = load(text)
    assert type(finder.errors[0][1]) in (ImportError, ModuleNotFoundError)
