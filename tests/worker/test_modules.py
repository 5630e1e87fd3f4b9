"""Importing a submission's modules, as a run from its own folder would."""

import sys

import pytest

from grader.worker.modules import ROOT, Chunk, StudentModules


@pytest.fixture
def submission():
    """Load a submission from texts; the interpreter's import state is put back afterwards."""
    modules, meta_path = dict(sys.modules), list(sys.meta_path)

    def load(sources, entry, tolerant=(), root_name=""):
        chunked = {
            path: [Chunk(1, text)] if isinstance(text, str) else [Chunk(*c) for c in text]
            for path, text in sources.items()
        }
        finder = StudentModules(chunked, entry, set(tolerant), root_name)
        finder.install()
        return finder, finder.load(entry)

    yield load
    sys.meta_path[:] = meta_path
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]


def test_absolute_and_relative_imports_give_one_module(submission):
    _, module = submission(
        {
            "main.py": "import helper_a\nfrom . import helper_a as again\nfrom .sub import thing\n",
            "helper_a.py": "import main_b\nvalue = 1\n",
            "main_b.py": "value = 2\n",
            "sub/thing.py": "from ..helper_a import value\nimport helper_a\n",
        },
        "main.py",
    )
    assert module.helper_a is module.again is module.thing.helper_a
    assert module.thing.value == 1


@pytest.mark.parametrize(
    ("sources", "entry"),
    [
        ({"src/pkg/a.py": "from pkg.b import v", "src/pkg/b.py": "v = 3"}, "src/pkg/a.py"),
        ({"src/pkg/a.py": "from src.pkg.b import v", "src/pkg/b.py": "v = 3"}, "src/pkg/a.py"),
        ({"src/pkg/a.py": "from b import v", "src/pkg/b.py": "v = 3"}, "src/pkg/a.py"),
        ({"src/pkg/a.py": "from .b import v", "src/pkg/b.py": "v = 3"}, "src/pkg/a.py"),
        (
            {"p/__init__.py": "from .b import v", "p/a.py": "from p import v", "p/b.py": "v = 3"},
            "p/a.py",
        ),
        ({"__init__.py": "from .b import v", "b.py": "v = 3"}, "__init__.py"),
        ({"a.py": "from notes import v", "notes.ipynb": "v = 3"}, "a.py"),
    ],
)
def test_imports_are_looked_up_from_the_entry_up_to_the_root(submission, sources, entry):
    finder, module = submission(sources, entry)
    assert finder.errors == []
    assert module.v == 3


def test_modules_that_are_loaded_already_stay(submission):
    _, module = submission({"main.py": "import math\n", "math.py": "pi = 3\n"}, "main.py")
    assert module.math.pi > 3.1


def test_a_module_named_like_one_that_is_not_loaded_is_the_students(submission):
    assert "trace" not in sys.modules
    _, module = submission({"main.py": "import trace\n", "trace.py": "mine = 1\n"}, "main.py")
    assert module.trace.mine == 1


def test_the_root_folders_own_name_is_known(submission):
    _, module = submission(
        {"main.py": "from homework.layers import v\nimport homework\n", "layers.py": "v = 3\n"},
        "main.py",
        root_name="homework",
    )
    assert module.v == 3
    assert module.homework.layers.v == 3


def test_circular_imports_work(submission):
    finder, module = submission(
        {"one.py": "import two\nx = 1\n", "two.py": "import one\ny = 2\n"}, "one.py"
    )
    assert finder.errors == []
    assert module.two.y == 2


def test_an_error_at_top_level_keeps_what_was_defined_before(submission):
    finder, module = submission({"main.py": "x = 1\n1 / 0\ny = 2\n"}, "main.py")
    assert module.x == 1
    assert not hasattr(module, "y")
    (path, error) = finder.errors[0]
    assert path == "main.py"
    assert error.__traceback__.tb_next is not None


def test_a_helper_that_raises_is_imported_anew_and_raises_again(submission):
    finder, module = submission(
        {
            "main.py": "try:\n    import broken\nexcept ValueError:\n    import_failed = True\n",
            "broken.py": "raise ValueError\n",
        },
        "main.py",
    )
    assert module.import_failed
    assert finder.errors == []


def test_cells_of_a_notebook_go_on_after_an_error(submission):
    cells = [(1, "x = 1\n"), (2, "1 / 0\n"), (3, "y = x + 1\n")]
    finder, module = submission({"n.ipynb": cells}, "n.ipynb", tolerant=["n.ipynb"])
    assert module.y == 2
    assert [type(error) for _, error in finder.errors] == [ZeroDivisionError]
    assert finder.errors[0][1].__traceback__.tb_next.tb_lineno == 2


def test_file_names_are_of_a_folder_that_does_not_exist(submission):
    _, module = submission({"sub/main.py": "here = __file__\n"}, "sub/main.py")
    assert module.here == ROOT + "sub/main.py"


def test_the_projects_own_packages_are_hidden_unless_the_student_has_one(submission):
    _, module = submission(
        {
            "main.py": (
                "import assignments\n"
                "try:\n    import student_template\n"
                "except ModuleNotFoundError:\n    hidden = True\n"
            ),
            "assignments.py": "mine = True\n",
        },
        "main.py",
    )
    assert module.assignments.mine
    assert module.hidden


def test_a_root_folder_named_like_an_installed_package_hides_nothing(submission):
    _, module = submission({"a.py": "import wave\nfrom wave import open"}, "a.py", root_name="wave")
    assert module.wave.__file__.endswith("wave.py")
