"""What runs inside the worker: loads the submission, then answers requests one by one.

Nothing that is said here is believed by the trusted side beyond its form: this process belongs to
the student's code as soon as that has run. So there is no secret in it, and no verdict.
"""

import itertools
import json
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any

import torch
from safetensors.torch import load as load_safetensors

from grader.worker.binding import OMITTED, bind
from grader.worker.counting import OperationCounter
from grader.worker.devices import OnCpu
from grader.worker.modules import PACKAGE, ROOT, Chunk, StudentModules
from grader.worker.protocol import (
    Channel,
    ConnectionEnded,
    Encoder,
    ProtocolError,
    clean_text,
    decode,
    named_fields,
    pack,
    without_addresses,
)
from grader.worker.state import reset
from grader.worker.tracing import Tracer
from grader.worker.watch import LibraryWatch

MAX_FRAMES = 12  # of a traceback that are sent
MAX_WATCHED = 5_000  # calls of a module that are noted
MAX_SENT_ALONG = 50_000  # elements of parameters that are told at once when a module is made
MAX_NAMED = 500  # such parameters


class Runtime:
    """The state of one worker: the loaded modules and the objects that the checks hold."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._modules: list[Any] = []
        self._objects: dict[int, Any] = {}
        self._replaced: list[tuple[Any, str, Any]] = []  # functions of modules, to be put back
        self._argument_names: dict[str, list[str]] = {}
        self._norms: dict[int, list[float]] = {}
        self._on_cpu: OnCpu | None = None
        self._library = LibraryWatch((), ROOT, ())
        self._operations: dict[str, Callable[[dict[str, Any]], Any]] = {
            "load": self._load,
            "call": self._call,
            "parameters": self._parameters,
            "set_parameters": self._set_parameters,
            "gradients": self._kept_gradients,
            "equal_positions": self._equal_positions,
            "restore": self._restore,
            "mode": self._mode,
            "watch": self._watch,
            "watched": self._watched_norms,
        }

    def serve(self) -> None:
        """Answer requests until the trusted side closes the socket."""
        while True:
            try:
                head, body = self._channel.receive()
            except ConnectionEnded:
                return
            self._channel.send(self._answer(head, body))

    def _answer(self, head: bytes, body: bytes) -> bytes:
        request = json.loads(head)
        tensors = load_safetensors(body) if body else {}
        answer: dict[str, Any] = {"id": request["id"]}
        encoder = Encoder(self._keep)
        try:
            reset(request["seed"])
            arguments = {
                name: decode(node, tensors, self._objects.__getitem__)
                for name, node in request["arguments"].items()
            }
            answer["value"] = encoder.encode(self._operations[request["operation"]](arguments))
            answer.update(devices=self._places(), uses=self._uses())
            frame = pack(answer, encoder.tensors)
        except BaseException as error:
            answer.pop("value", None)
            answer["fault"] = describe(error)
            for key, told in (("devices", self._places()), ("uses", self._uses())):
                answer.setdefault(key, told)  # what was told before it did not fit stays told
            frame = pack(answer, {})
        _flush()
        return frame

    def _places(self) -> list[dict[str, Any]]:
        """The student's lines that asked for a device that is not there, each told once."""
        if self._on_cpu is None:
            return []
        places, self._on_cpu.places = self._on_cpu.places, []
        return [_frame((file, line, "")) for file, line in places]

    def _uses(self) -> list[dict[str, Any]]:
        """What was used that is not allowed, each told once."""
        uses, self._library.uses = self._library.uses, []
        return [
            {
                "name": clean_text(name, 200),
                "owner": clean_text(owner, 200),
                "frame": _frame(line) if line else None,
            }
            for name, owner, line in uses
        ]

    def _keep(self, value: Any) -> int | None:
        """Keep modules for later requests; everything else is only described."""
        if not isinstance(value, torch.nn.Module) and not _is_plain_layer(value):
            return None
        number = len(self._objects)
        self._objects[number] = value
        return number

    # operations

    def _load(self, arguments: dict[str, Any]) -> Any:
        """Run the submission's modules; answers which of the wanted names there are.

        Answers, too, what raised on the way, and what stand-ins took the place of.
        """
        if arguments.get("on_cpu"):
            self._on_cpu = OnCpu(ROOT)
            self._on_cpu.enter()
        names = arguments["names"]
        self._argument_names = arguments.get("argument_names", {})
        self._library = LibraryWatch(arguments.get("disallowed", ()), ROOT, names)
        sources = {
            path: [Chunk(*chunk) for chunk in chunks]
            for path, chunks in arguments["sources"].items()
        }
        order: list[str] = arguments["modules"]
        finder = StudentModules(
            sources, order[0], set(arguments["tolerant"]), arguments.get("root_name", "")
        )
        if self._on_cpu is not None:
            self._on_cpu.guarded = finder.device_guards
        finder.install()
        self._modules = [finder.load(path) for path in order]
        return {
            "found": [name for name in names if self._find(name) is not None],
            "errors": [[path, describe(error)] for path, error in finder.errors],
            "absent": [
                [clean_text(name, 100), kind] for name, kind in finder.stand_ins.used.items()
            ],
        }

    def _find(self, name: str) -> Any:
        """The object of that name in the first module that has it, or None."""
        for module in self._modules:
            value = module.__dict__.get(name)
            if value is not None:
                return value
        return None

    def _call(self, arguments: dict[str, Any]) -> Any:
        """Call a definition or a kept object.

        The arguments are `inputs`, `names` in the assignment's order, which of them are bound
        `by_name` first, and the places of those that are `omitted`.

        Answers the returned value and, when asked for, the inputs as they are afterwards, the
        gradients of `sum(output · probe)`, the operations counted, and the tensors computed.
        """
        target = arguments["target"]
        if isinstance(target, str):
            name, target = target, self._find(target)
            if target is None:
                raise NameError(f"{name} is not defined")
        train = arguments.get("train", False)
        inputs = arguments["inputs"]
        probe = arguments.get("probe")
        wanted = arguments.get("gradients_of", [])
        for index in wanted:
            inputs[index] = inputs[index].clone().requires_grad_(True)
        for index in arguments.get("omitted", []):
            inputs[index] = OMITTED
        own = arguments.get("names", [])
        names = [self._argument_names.get(name, [name]) for name in own]
        by_name = arguments.get("by_name", ())
        call = bind(target, names, inputs, [name in by_name for name in own])
        counter = OperationCounter() if arguments.get("count") else None
        tracer = Tracer(ROOT) if arguments.get("trace") else None
        grad = torch.set_grad_enabled(probe is not None or train)
        # A training, and what is counted, runs as it would without being watched.
        watch = nullcontext() if train or counter else self._library.watch(arguments["target"])
        with grad, watch, counter or tracer or nullcontext():
            returned = call()
        self._library.look_into(returned)
        if arguments.get("listed"):
            returned = listed(returned)
        answer: dict[str, Any] = {"returned": returned}
        if arguments.get("echo"):
            answer["inputs"] = inputs
        if isinstance(returned, torch.nn.Module) and not train:
            returned.eval()
        if arguments.get("parameters"):
            answer["parameters"] = self._small_parameters(returned)
        if tracer is not None:
            answer["events"] = [_event(value, line) for value, line in tracer.events]
        if counter is not None:
            # What was computed is large where costs are counted, and nobody asks for it.
            answer.update(returned=None, operations=counter.count)
        if probe is not None:
            answer.update(self._gradients(target, returned, probe, [inputs[i] for i in wanted]))
        return answer

    @staticmethod
    def _gradients(target: Any, returned: Any, probe: Any, inputs: list[Any]) -> dict[str, Any]:
        output = first_of_shape(returned, probe.shape)
        if output is None or not output.requires_grad:
            return {"input_gradients": None, "parameter_gradients": None}
        named = list(target.named_parameters()) if isinstance(target, torch.nn.Module) else []
        trained = [(name, parameter) for name, parameter in named if parameter.requires_grad]
        for leaf in [*inputs, *(parameter for _, parameter in trained)]:
            leaf.grad = None
        # Not autograd.grad, which reentrant checkpointing does not allow.
        (output * probe).sum().backward()
        return {
            "input_gradients": [leaf.grad for leaf in inputs],
            "parameter_gradients": {name: parameter.grad for name, parameter in trained},
        }

    @staticmethod
    def _parameters(arguments: dict[str, Any]) -> Any:
        """The parameters of a module by name, in the order of registration, shared ones once."""
        return {
            name: {"value": parameter, "requires_grad": bool(parameter.requires_grad)}
            for name, parameter in _module(arguments["target"]).named_parameters()
        }

    def _small_parameters(self, module: Any) -> Any:
        """The parameters of a module that was made; None where they are to be asked for.

        That is where there are many, or of an odd kind, or where asking raises: what comes of that
        belongs to who asks.
        """
        try:
            parameters = self._parameters({"target": module})
        except BaseException:
            return None
        values = [entry["value"] for entry in parameters.values()]
        if len(values) > MAX_NAMED or any(type(v) is not torch.nn.Parameter for v in values):
            return None
        return parameters if sum(v.numel() for v in values) <= MAX_SENT_ALONG else None

    @staticmethod
    def _set_parameters(arguments: dict[str, Any]) -> Any:
        """Copy values into parameters of the same name and shape."""
        module = _module(arguments["target"])
        parameters = dict(module.named_parameters())
        with torch.no_grad():
            for name, value in arguments["values"].items():
                parameters[name].copy_(value)
        training = module.training
        module.train(not training).train(training)  # what eval mode prepares, it prepares anew
        return None

    @staticmethod
    def _kept_gradients(arguments: dict[str, Any]) -> Any:
        """The gradients that a module's parameters hold, by name; None where there is none."""
        named = _module(arguments["target"]).named_parameters()
        return {name: parameter.grad for name, parameter in named}

    def _equal_positions(self, arguments: dict[str, Any]) -> Any:
        """Give all positions of a model the encoding of the first, wherever it keeps the table.

        Tables are tensors of two or more dimensions whose last is `width` and another at least
        `length`, kept by a module and not trained; and what `function` of the submission returns.
        """
        width, length = arguments["width"], arguments["length"]
        for module in _module(arguments["target"]).modules():
            tables = [*module.__dict__.values(), *module.buffers(recurse=False)]
            tables += [p for p in module.parameters(recurse=False) if not p.requires_grad]
            for table in tables:
                if isinstance(table, torch.Tensor) and not table.requires_grad:
                    _level(table, width, length)
        for module in self._modules:
            define = module.__dict__.get(arguments["function"])
            if callable(define):
                self._replaced.append((module, arguments["function"], define))
                module.__dict__[arguments["function"]] = _levelled(define, width)
        return None

    def _restore(self, arguments: dict[str, Any]) -> Any:  # noqa: ARG002
        """Put functions back that were replaced for one check."""
        for module, name, function in reversed(self._replaced):
            module.__dict__[name] = function
        self._replaced.clear()
        return None

    def _watch(self, arguments: dict[str, Any]) -> Any:
        """Note a parameter's norm whenever the module is called with gradients on."""
        module = _module(arguments["target"])
        parameter = dict(module.named_parameters())[arguments["parameter"]]
        norms = self._norms[id(module)] = []

        def note(*_: Any) -> None:
            if torch.is_grad_enabled() and len(norms) < MAX_WATCHED:
                norms.append(float(parameter.detach().norm()))

        module.register_forward_pre_hook(note)
        return None

    def _watched_norms(self, arguments: dict[str, Any]) -> Any:
        """The norms that were noted of a module that is watched."""
        return self._norms[id(_module(arguments["target"]))]

    @staticmethod
    def _mode(arguments: dict[str, Any]) -> Any:
        """Put a module into train or eval mode."""
        _module(arguments["target"]).train(arguments["train"])
        return None


def _level(table: torch.Tensor, width: int, length: int) -> None:
    """Fill a table of positions with its first row, in place."""
    axes = [axis for axis, size in enumerate(table.shape[:-1]) if size >= length]
    if table.dim() >= 2 and table.shape[-1] == width and len(axes) == 1:
        table.copy_(table.narrow(axes[0], 0, 1).clone().expand_as(table))


def _levelled(define: Callable[..., Any], width: int) -> Callable[..., Any]:
    """The function with every row of its table as the first."""

    def level(*arguments: Any, **named: Any) -> Any:
        table = define(*arguments, **named)
        if isinstance(table, torch.Tensor) and table.shape[-1:] == (width,):
            return table[:1].expand_as(table).clone()
        return table

    return level


def listed(value: Any, depth: int = 4) -> Any:
    """A value with its iterators, views and sets as lists, so that it can travel.

    A tensor is left alone, so is a text; an iterator ends after 10,000 items.
    """
    if depth == 0 or isinstance(value, (str, bytes, torch.Tensor, torch.nn.Module)):
        return value
    if isinstance(value, Mapping):
        return {key: listed(item, depth - 1) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [listed(item, depth - 1) for item in itertools.islice(value, 10_000)]
    return value


def first_of_shape(returned: Any, shape: torch.Size) -> Any:
    """The first tensor of that shape in a returned value, looking into what holds several."""
    if isinstance(returned, torch.Tensor):
        return returned if returned.shape == shape else None
    if isinstance(returned, Mapping):
        items = list(returned.values())
    elif isinstance(returned, (tuple, list)):
        items = list(returned)
    else:
        items = list((named_fields(returned) or {}).values())
    found = (first_of_shape(item, shape) for item in items)
    return next((tensor for tensor in found if tensor is not None), None)


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as type, message and the frames of the student's own files."""
    kind = clean_text(type(error).__name__, 100)
    if isinstance(error, ProtocolError):
        kind = "ValueError"  # the class is the grader's own, the value was the student's
    try:
        message = clean_text(without_addresses(str(error)), 600)
    except BaseException:
        message = ""
    frames = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if name.startswith(ROOT):
            function = clean_text(frame.f_code.co_name, 100)
            file = clean_text(name.removeprefix(ROOT), 300)
            frames.append({"file": file, "line": max(1, line or 1), "function": function})
    if isinstance(error, SyntaxError) and str(error.filename).startswith(ROOT):
        file = clean_text(str(error.filename).removeprefix(ROOT), 300)
        line = error.lineno if type(error.lineno) is int and error.lineno > 0 else 1
        frames.append({"file": file, "line": line, "function": "<module>"})
    if len(frames) > MAX_FRAMES:
        frames = frames[: MAX_FRAMES // 2] + frames[-MAX_FRAMES // 2 :]
    return {"type": kind, "message": message, "frames": frames}


def _event(value: torch.Tensor, line: tuple[str, int, str] | None) -> dict[str, Any]:
    """A tensor that was computed, and the student's line, ready to be sent."""
    return {"value": value, "frame": _frame(line) if line else None}


def _frame(line: tuple[str, int, str]) -> dict[str, Any]:
    """A line of the student's, ready to be sent."""
    file, number, function = line
    return {
        "file": clean_text(file, 300),
        "line": number,
        "function": clean_text(function, 100),
    }


def _is_plain_layer(value: Any) -> bool:
    """A callable object of a class of the student's own."""
    return callable(value) and type(value).__module__.split(".")[0] == PACKAGE


def _module(target: Any) -> torch.nn.Module:
    if not isinstance(target, torch.nn.Module):
        raise TypeError(f"{type(target).__name__} is not an nn.Module, so it has no parameters")
    return target


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass  # the student may have put anything there
