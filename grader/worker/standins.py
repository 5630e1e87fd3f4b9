"""What takes the place of modules that are not there, so that the rest of a submission can be run.

Only standard library: this runs in the worker. Three kinds of modules differ in what they may do:

- those that only show, tell or annotate (plots, progress bars, trackers) do nothing, and go on;
- those that bring data (data sets, tokenizers) do nothing until a value of theirs is needed;
- any other says that it is needed as soon as something of it is called.

An import that the code itself provides for, within `try … except ImportError`, fails as it would.
"""

import ast
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# Plots and displays, progress bars, experiment trackers, where it ran, annotations, course tests.
INERT = frozenset(
    """
    matplotlib mpl_toolkits pylab seaborn plotly bokeh altair pyplot ggplot plotnine IPython
    ipywidgets ipdb pdbpp jedi streamlit gradio bertviz torchviz graphviz pydot hiddenlayer netron
    torchview visdom livelossplot torchinfo torchsummary torchsummaryX thop fvcore ptflops
    prettytable tabulate termcolor colorama colorlog loguru rich icecream watermark import_ipynb
    ipytest nest_asyncio memory_profiler line_profiler pynvml GPUtil psutil jupyterthemes wurlitzer
    jdc celluloid imageio_ffmpeg
    tqdm alive_progress fastprogress progressbar progress enlighten
    wandb tensorboard tensorboardX tensorboard_logger mlflow comet_ml neptune clearml aim sacred
    trackio swanlab dvclive optuna
    google google_colab kaggle kaggle_datasets kaggle_secrets gdown opendatasets pyngrok dotenv
    jaxtyping torchtyping beartype typeguard nptyping tensor_annotations
    otter nose parameterized dlai_grader public_tests torchsnooper
    """.split()
)
DATA = frozenset(
    """
    torchvision torchtext torchaudio datasets transformers tokenizers evaluate sentencepiece
    tiktoken spacy nltk gensim sacrebleu sacremoses youtokentome tensorflow_datasets tensorflow
    keras torchdata portalocker huggingface_hub sklearn pandas polars scipy cv2 PIL skimage imageio
    albumentations requests bs4 yaml h5py librosa jieba pkuseg underthesea rouge_score torchmetrics
    gym gymnasium d2l fastai rouge timm xlrd openpyxl
    """.split()
)
PROGRESS = {"tqdm", "alive_progress", "fastprogress", "progressbar", "progress", "enlighten"}
REPLACED = {"torch.utils.tensorboard": "tensorboard"}  # what fails inside an installed package
IMPORTING = {"<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"}
CATCHING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


class PackageMissing(ImportError):
    """Something of a module is needed that is not there."""


def guarded_lines(tree: ast.AST, catching: frozenset[str] = CATCHING) -> set[int]:
    """The lines of a module that may raise one of these, since the code provides for it.

    Args:
        tree: the module.
        catching: names of exceptions; by default those of imports that fail.
    """
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(_catches(h, catching) for h in node.handlers):
            for statement in node.body:
                found.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    return found


def _catches(handler: ast.ExceptHandler, catching: frozenset[str]) -> bool:
    if handler.type is None:
        return True
    names = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(handler.type)}
    return bool(names & catching)


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: serves stand-ins for what student code imports and nobody has.

    Args:
        root: what the file names of student code begin with.
        package: the package that the submission is, whose missing modules were not handed in.
        guarded: for each file the lines on which an import may fail.
    """

    def __init__(self, root: str, package: str, guarded: dict[str, set[int]]) -> None:
        self._root = root
        self._package = package
        self._guarded = guarded
        self.used: dict[str, str] = {}

    def install(self) -> None:
        """Serve from now on, after every other finder; and at once what would fail inside torch."""
        sys.meta_path.append(self)
        for name, needed in REPLACED.items():
            if name not in sys.modules and not _is_installed(needed):
                sys.meta_path.insert(0, Finder({name: self.spec(name)}.get))

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: Any = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """A stand-in, where student code imports what is not there and does not provide for it."""
        parent, _, _ = fullname.rpartition(".")
        if isinstance(sys.modules.get(parent), StandInModule):
            return self.spec(fullname)
        if parent and not f"{parent}.".startswith(f"{self._package}."):
            return None  # what an installed package does not have is no module of its own
        return self.spec(fullname) if self._is_wanted() else None

    def spec(self, fullname: str) -> importlib.machinery.ModuleSpec:
        """The spec of a stand-in."""
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def _is_wanted(self) -> bool:
        """Whether the import stands in student code, on a line where it may not fail."""
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename in IMPORTING:
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None or not frame.f_code.co_filename.startswith(self._root):
            return False
        return frame.f_lineno not in self._guarded.get(frame.f_code.co_filename, set())

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The stand-in."""
        top, _, rest = spec.name.partition(".")
        if top == self._package:
            shown = rest.replace(".", "/")
            stand_in: StandIn = Missing(rest, f"{shown}.py", "was not handed in")
        elif top in INERT or spec.name in REPLACED:
            stand_in = Progress(spec.name) if top in PROGRESS else Inert(spec.name)
        else:
            if top in DATA:
                stand_in = Data(spec.name, top, "is not installed here")
            else:
                why = "is not installed here and was not handed in"
                stand_in = Missing(spec.name, top, why)
        if "." not in spec.name or spec.name in REPLACED:
            self.used[spec.name] = "stand-in" if isinstance(stand_in, Inert) else "missing"
        elif top == self._package:
            self.used[f"{shown}.py"] = "not handed in"
        return StandInModule(spec.name, stand_in)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules by their full names alone.

    Args:
        find: gives a module's spec, or None.
    """

    def __init__(self, find: Callable[[str], importlib.machinery.ModuleSpec | None]) -> None:
        self._find = find

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: Any = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's spec, or None."""
        return self._find(fullname)


def _is_installed(name: str) -> bool:
    return importlib.machinery.PathFinder.find_spec(name) is not None


class StandInModule(types.ModuleType):
    """A module that is not there; whatever is asked of it is a stand-in."""

    def __init__(self, name: str, stand_in: "StandIn") -> None:
        super().__init__(name)
        self.__dict__["_stand_in"] = stand_in
        self.__path__: list[str] = []
        self.__all__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["_stand_in"], name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What calling the stand-in gives, for modules that are called as `tqdm(…)` is."""
        return self.__dict__["_stand_in"](*arguments, **named)


class StandIn:
    """Stands for something of a module that is not there.

    Args:
        name: the thing's full name.
        what: what is missing, for the message.
        why: the rest of the message.
    """

    def __init__(self, name: str, what: str = "", why: str = "") -> None:
        self.__dict__.update(_name=name, _what=what, _why=why)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return type(self)(f"{self._name}.{name}", self._what, self._why)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def __repr__(self) -> str:
        return f"<stand-in for {self._name}>"

    def __getitem__(self, key: Any) -> Any:
        return type(self)(self._name, self._what, self._why)

    def __or__(self, other: Any) -> Any:  # in annotations: `Tensor | None`
        return self

    __ror__ = __or__


class Inert(StandIn):
    """Does nothing, whatever is asked of it; as a decorator it leaves the function as it is."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Another stand-in, or the function that it decorates."""
        if len(arguments) == 1 and not named and _is_defined(arguments[0]):
            return arguments[0]
        if self._name.endswith(".subplots"):
            return Inert(f"{self._name}.figure"), Inert(f"{self._name}.axes")
        return type(self)(f"{self._name}()")

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __contains__(self, item: Any) -> bool:
        return False

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return () if len(bases) > 1 else (object,)


class Progress(Inert):
    """A progress bar, which is whatever it is put around."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """A bar around the first argument."""
        if self._name.endswith("range") and all(type(a) is int for a in arguments):
            return _Bar(range(*arguments))
        around = arguments[0] if arguments else named.get("iterable")
        if around is not None and hasattr(around, "__iter__"):
            return _Bar(around)
        return super().__call__(*arguments, **named)


class _Bar(Inert):
    """What a progress bar is put around, with the methods that progress bars have."""

    def __init__(self, around: Any, *_: str) -> None:
        super().__init__("progress")
        self.__dict__["_around"] = around

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Inert(f"progress.{name}")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._around)

    def __len__(self) -> int:
        return len(self._around)

    def __bool__(self) -> bool:
        return True


def _is_defined(value: Any) -> bool:
    return isinstance(value, (types.FunctionType, type, staticmethod, classmethod))


class Missing(StandIn):
    """Says what is missing as soon as it is used."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise PackageMissing."""
        raise PackageMissing(f"It needs `{self._what}`, which {self._why}.")

    def __exit__(self, *_: object) -> None:
        pass  # there is no way in

    @classmethod
    def __torch_function__(cls, func: Any, kinds: Any, args: Any = (), named: Any = None) -> Any:
        for value in (*args, *(named or {}).values()):
            if isinstance(value, Missing):
                Missing.__call__(value)
        raise PackageMissing(f"{func} needs what is not installed here.")


class Data(Missing):
    """Brings data, or would: calling it is no matter until a value of it is needed."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        """More of the same."""
        return type(self)(f"{self._name}()", self._what, self._why)


USES = [
    "iter", "next", "len", "bool", "enter", "contains", "mro_entries", "float", "int", "index",
    "array", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "matmul",
    "rmatmul", "neg", "lt", "gt", "le", "ge", "setitem",
]  # fmt: skip
for _use in USES:
    setattr(Missing, f"__{_use}__", Missing.__call__)
