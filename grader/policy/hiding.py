"""Finds what a source does to keep others from seeing what it uses, or to reach out of itself.

None of it is forbidden, and much of it has honest uses; it is evidence for the person who looks.
What takes away the watch that a worker keeps on its calls is told apart, since then nobody knows
what a call used.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.intake.definitions import root_name

BLINDING = {
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "_DisableTorchDispatch",
    "_DisableFuncTorch", "_disable_current_modes", "_pop_torch_function_stack",
    "_push_on_torch_function_stack", "_pop_torch_dispatch_stack", "_push_on_torch_dispatch_stack",
    "_pop_mode", "_push_mode", "_pop_mode_temporarily", "_pop_infra_mode", "TorchFunctionMode",
    "TorchDispatchMode", "BaseTorchFunctionMode", "_unset_dispatch_mode", "_set_dispatch_mode",
    "start_new_thread", "_bootstrap_inner", "f_locals", "tb_frame", "gi_frame", "__closure__",
    "cell_contents", "__globals__", "apply_", "map_", "map2_", "__torch_function__",
    "__torch_dispatch__", "custom_op", "register_hook",
}  # fmt: skip
FOREIGN = {"ctypes", "_ctypes", "cffi"}
LOOKING_AROUND = {
    "_getframe", "_current_frames", "get_objects", "get_referrers", "settrace", "setprofile",
}  # fmt: skip
ENDING = {"_exit", "abort", "kill", "killpg", "fork", "forkpty", "execv", "execve", "posix_spawn"}
SETTINGS = ("torch.backends.", "sys.std")  # attributes that are there to be set
LIBRARIES = {"torch", "builtins", "json", "safetensors", "numpy", "socket", "struct", "sys", "F"}


@dataclass(frozen=True)
class Sign:
    """Something that is worth a look.

    Attributes:
        what: in words, such as "runs a text as code (`exec`)".
        line: in the whole source.
        blinds: whether it takes away the watch on what calls use.
    """

    what: str
    line: int
    blinds: bool = False


def signs_of_hiding(statements: Iterable[ast.stmt]) -> list[Sign]:
    """What the statements do to hide, or to reach out of themselves; each kind once."""
    found: dict[str, Sign] = {}
    for statement in statements:
        for node in ast.walk(statement):
            for what, blinds in _signs(node):
                found.setdefault(what, Sign(what, getattr(node, "lineno", 1), blinds))
    return list(found.values())


def _signs(node: ast.AST) -> Iterator[tuple[str, bool]]:
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                if alias.name.split(".")[0] in FOREIGN:
                    yield f"calls into the interpreter's memory (`{alias.name}`)", True
        case ast.ImportFrom(module=module, names=aliases):
            if (module or "").split(".")[0] in FOREIGN:
                yield f"calls into the interpreter's memory (`{module}`)", True
            for alias in aliases:
                yield from _of_name(alias.name)
        case ast.Name(id=name) | ast.FunctionDef(name=name):
            yield from _of_name(name)
        case ast.Attribute(value=value, attr=name):
            if name in ENDING and root_name(value) in ("os", "posix"):
                yield f"ends or starts processes (`os.{name}`)", False
            elif name == "_C" and root_name(value) == "torch":
                yield "goes past torch's functions (`torch._C`)", False
            elif name == "library" and root_name(value) == "torch":
                yield "takes part in how torch's functions are watched (`torch.library`)", True
            yield from _of_name(name)
        case ast.Call(func=ast.Name(id="exec" | "eval" | "compile" as name), args=[text, *_]):
            if not isinstance(text, ast.Constant):
                yield f"runs a text as code (`{name}`)", False
            elif isinstance(text.value, str):
                yield from _of_text(text.value)
        case ast.Call(func=ast.Name(id="getattr" | "setattr" as name), args=[of, attr, *_]):
            if isinstance(attr, ast.Constant) and isinstance(attr.value, str):
                yield from _of_name(attr.value)
            if _is_built(attr):
                yield f"builds a name (`{name}`)", False
            elif name == "setattr" and root_name(of) in LIBRARIES:
                yield f"changes a library (`{root_name(of)}`)", False
        case ast.Subscript(value=space, slice=key) if _is_namespace(space) and _is_built(key):
            yield "builds a name (a key of a namespace)", False
        case ast.Assign(targets=targets):
            for target in targets:
                if isinstance(target, ast.Attribute) and root_name(target) in LIBRARIES:
                    name = ast.unparse(target)
                    if not name.startswith(SETTINGS):
                        yield f"changes a library (`{name}`)", False


def _of_text(text: str) -> Iterator[tuple[str, bool]]:
    """The signs in a text that is run as code."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        yield from _signs(node)


def _of_name(name: str) -> Iterator[tuple[str, bool]]:
    if name in BLINDING:
        yield f"takes part in how torch's functions are watched (`{name}`)", True
    elif name in LOOKING_AROUND:
        yield f"looks at what else is running (`{name}`)", False


def _is_namespace(node: ast.expr) -> bool:
    """Whether an expression is the namespace of a module or an object."""
    match node:
        case ast.Call(func=ast.Name(id="vars" | "globals" | "locals")):
            return True
        case ast.Attribute(attr="__dict__" | "modules"):
            return True
    return False


def _is_built(node: ast.expr) -> bool:
    """Whether a text is put together from texts that stand in the source."""
    if isinstance(node, ast.JoinedStr):
        return any(
            isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Constant)
            for part in node.values
        )
    if isinstance(node, ast.BinOp):
        return _has_text(node.left) and _has_text(node.right)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute):
            return _has_text(function.value) and function.attr in (
                "join", "replace", "format", "decode", "translate", "strip",
            )  # fmt: skip
        return isinstance(function, ast.Name) and function.id in ("chr", "reversed", "bytes")
    return False


def _has_text(node: ast.expr) -> bool:
    return any(
        isinstance(inner, ast.Constant) and isinstance(inner.value, (str, bytes))
        for inner in ast.walk(node)
    )
