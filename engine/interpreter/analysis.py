"""From files to a Trace: which roots are analysed, in which order, and with what."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto

from engine.frameworks.torch_core import PARAMETERLESS
from engine.frameworks.torchvision import NORMALISED
from engine.interpreter.classes import FAMILY_ROLES
from engine.interpreter.finishing import finish
from engine.interpreter.loading import Loading
from engine.interpreter.machine import FILE_BUDGET, ROOT_BUDGET, BudgetSpent
from engine.interpreter.presuming import presumable
from engine.interpreter.state import Frame
from engine.project import Project, UnreadableFile
from engine.trace import events
from engine.trace.places import Context, Place, Root
from engine.trace.trace import Trace
from engine.trace.values import (
    LAYERS_OF_LIBRARIES,
    PARAMETERLESS_CLASSES,
    ClassValue,
    Constant,
    Container,
    External,
    FunctionValue,
    Value,
)

PARAMETERLESS_CLASSES.update(PARAMETERLESS)
LAYERS_OF_LIBRARIES.update(NORMALISED)
#: Enough for deeply nested sources; statement and call nesting are limited on their own.
_RECURSION_LIMIT = 6_000
_SOURCES = (".py", ".ipynb")
#: Methods that a call, a loop or a with statement reaches without naming them.
_CALLED_BY_SYNTAX = frozenset(
    ["forward", "__call__", "__iter__", "__next__", "__getitem__", "__len__", "__enter__", "__exit__", "__init__"]
)

#: Inherited methods that are played again for one subclass.
_TEMPLATES = 6
#: Methods that a framework's own loop calls, by the family of their class.
_FRAMEWORK_HOOKS = frozenset([("hf-trainer", "compute_loss")])
_GIVEN_THE_MODEL = frozenset([("hf-trainer", "compute_loss"), ("hf-trainer", "training_step")])

#: Lightning calls these without gradients and in eval mode.
LIGHTNING_EVALUATION = (
    "validation_step", "test_step", "predict_step", "on_validation_epoch_end", "on_test_epoch_end",
    "validation_epoch_end", "test_epoch_end", "on_validation_batch_end", "on_test_batch_end",
)  # fmt: skip


class _Turn(Enum):
    """When a function that nothing reached is played by itself."""

    UNCALLED = auto()
    """What no code calls: entry points."""
    CALLED_FROM_AFAR = auto()
    """What some code calls, but no method of its own class that still has its turn."""
    CALLED = auto()
    """The rest."""


class Interpreter(Loading):
    """Runs the analysis of one project."""

    def __init__(self, project: Project, presumed: Mapping[Place, str] | None = None) -> None:
        super().__init__(project)
        #: Parameters (by place) that are taken to be objects of a class of their file.
        self.presumed = presumed or {}
        self.bypasses = {}
        self.functions = []
        self.loading = set()
        self.shared_instances = {}
        self.forwards = {}
        self.spent: dict[str, int] = {}
        self.own_calls: dict[int, frozenset[str]] = {}
        self.forwards_by_class = {}
        self.dull = {}
        self.templates = {}
        self.costs = {}

    def constant_at(self, place: Place, value: object) -> Value:
        return Constant(place=place, op="literal", value=value, name=str(value))

    def run(self, paths: Sequence[str]) -> Trace:
        """Analyse these files and what they import."""
        for path in paths:
            if not self.relevant(path):
                self.trace.skipped.append(path)
                continue
            self.load_module(path)
        self._run_roots(frozenset(paths))
        finish(self.trace, self.created_values)
        if not self.presumed:
            self.trace.presumable = presumable(self.trace, frozenset(self._called_names()))
        return self.trace

    # ---- roots ---------------------------------------------------------------------------------------------------

    def _run_roots(self, paths: frozenset[str]) -> None:
        """Functions of these files that nothing reached, callers first. What is only imported is only called."""
        called = self._called_names()
        for turn in _Turn:
            position = 0
            while position < len(self.functions):
                function = self.functions[position]
                position += 1
                if function.path not in paths:
                    continue
                if self._called_by_framework(function):
                    if turn is _Turn.UNCALLED:
                        self._run_root(function)
                    continue
                if id(function.node) in self.reached:
                    continue
                callers = called.get(function.name, set()) - {id(function.node)}
                is_called = bool(callers) or function.name in _CALLED_BY_SYNTAX
                if is_called and turn is _Turn.UNCALLED:
                    continue
                if turn is _Turn.CALLED_FROM_AFAR and self._awaits_callers(function, callers):
                    continue
                self._run_root(function)
        self._run_templates(paths)
        for cls in self.trace.classes:
            # A class whose methods were all reached still has a shape of its own that rules ask for.
            if cls.family in ("module", "lightning-module") and id(cls) not in self.shared_instances:
                self._shared_instance(cls)

    def _awaits_callers(self, function: FunctionValue, callers: set[int]) -> bool:
        """Whether a method of the same class that calls it has its turn yet: it says under which contexts."""
        siblings = function.owner.methods.values() if function.owner is not None else ()
        waiting = {id(each.node) for each in siblings if isinstance(each, FunctionValue)} - self.reached
        return not waiting.isdisjoint(callers)

    def _run_templates(self, paths: frozenset[str]) -> None:
        """Inherited methods that call what a subclass defines, once more on the subclass: `run()` of a base class and
        `compute_loss()` of the class that is trained with it."""
        for cls in list(self.trace.classes):
            if cls.path not in paths or not cls.project_bases or cls.family == "module":
                continue
            own = set(cls.methods)
            played = 0
            for base in list(cls.lineage())[1:]:
                for name, method in base.methods.items():
                    inherited = isinstance(method, FunctionValue) and name not in own and not name.startswith("__")
                    if not inherited or played >= _TEMPLATES or not isinstance(method, FunctionValue):
                        continue
                    if self._calls_on_self(method) & own & set(base.methods):
                        played += 1
                        self._run_root(method, cls)
                own |= set(base.methods)

    def _calls_on_self(self, method: FunctionValue) -> frozenset[str]:
        """The methods of its own object that a method calls."""
        found = self.own_calls.get(id(method.node))
        if found is None:
            first = next(iter([*method.node.args.posonlyargs, *method.node.args.args]), None)
            found = frozenset(
                node.func.attr
                for node in ast.walk(method.node)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and first is not None
                and node.func.value.id == first.arg
            )
            self.own_calls[id(method.node)] = found
        return found

    @staticmethod
    def _called_by_framework(function: FunctionValue) -> bool:
        """Whether a framework's loop calls it with arguments that the project's own calls need not have."""
        return function.owner is not None and (function.owner.family, function.name) in _FRAMEWORK_HOOKS

    @staticmethod
    def _passed_by_framework(frame: Frame, function: FunctionValue) -> None:
        """A Hugging Face Trainer hands the model that it trains to these methods, as their first argument."""
        if function.owner is None or (function.owner.family, function.name) not in _GIVEN_THE_MODEL:
            return
        names = [parameter.arg for parameter in function.node.args.args[1:2]]
        for value in (frame.env[name] for name in names if name in frame.env):
            value.role = value.role or "module"

    def _called_names(self) -> dict[str, set[int]]:
        """For each called name, the functions (by node) in which the calls stand."""
        found: dict[str, set[int]] = {}
        for path in self.sources:
            for name, owners in self.outline(path).called.items():
                found.setdefault(name, set()).update(owners)
        return found

    def _run_root(self, function: FunctionValue, subclass: ClassValue | None = None) -> None:
        """Analyse a function or method by itself, on an instance of `subclass` where one is named."""
        self.reached.add(id(function.node))
        given = self.budget = min(ROOT_BUDGET, self._left_for(function.path))
        receiver: Value | None = None
        if function.owner is not None and function.kind_of_method != "static":
            owner = subclass or function.owner
            receiver = owner if function.kind_of_method == "class" else self._shared_instance(owner)
            if function.name == "__init__" and receiver is not function.owner:
                return  # ran when the shared instance was made
        place = function.place
        self.root = Root("method" if receiver is not None else "function", function.path, function.qualified, place)
        self.root.owner = receiver if not isinstance(receiver, ClassValue) else None
        self.trace.roots.append(self.root)
        self._reset_position()
        frame = self._base_frame(function.path)
        self.frames.append(frame)
        try:
            if receiver is not None:
                self._lightning_context(function)
                function = self.bind_method(function, receiver)
            wrapped = self._decorated(function, function.node)
            if isinstance(wrapped, FunctionValue):
                if wrapped.node is function.node:
                    wrapped.bound = function.bound
                function = wrapped
            inner = self.new_frame(function)
            self._symbolic_parameters(inner, function)
            self._passed_by_framework(inner, function)
            if self._called_by_framework(function):
                self.emit(
                    events.FrameworkHook,
                    function.place,
                    name=function.name,
                    cls=function.owner,
                    parameters=dict(inner.env),
                )
            self.run_function(inner, function, function.node)
        except BudgetSpent:
            self.trace.truncated.add(function.path)
        except RecursionError:
            self.trace.failed.setdefault(function.path, f"{function.qualified}: nested too deeply")
        except Exception as problem:  # one function that can not be followed costs only itself
            reason = f"{function.qualified} could not be followed: {type(problem).__name__}: {problem}"
            self.trace.failed.setdefault(function.path, reason)
        finally:
            self.frames.clear()
            self._reset_position()
            used = given - max(0, self.budget)
            self.spent[function.path] = self.spent.get(function.path, 0) + used

    def _left_for(self, path: str) -> int:
        """Statements left for one more root of a file; a little even where the others used up the file's share."""
        return max(400, FILE_BUDGET - self.spent.get(path, 0))

    def _base_frame(self, path: str) -> Frame:
        env = self.load_module(path)
        return Frame(path=path, env=env, globals=env)

    def _reset_position(self) -> None:
        self.stack, self.loops, self.iterations, self.guards, self.contexts = [], [], [], [], []
        self.active_functions = []
        self.grad = True
        self.modes = {}
        # Attributes stay on their objects; what differs by path ends with the root.
        self.heap = {}

    def _lightning_context(self, function: FunctionValue) -> None:
        """Lightning runs evaluation hooks without gradients; the hook is a root, so its caller's context is added."""
        owner = function.owner
        if owner is None:
            return
        family = owner.family
        if (family == "lightning-module" and function.name in LIGHTNING_EVALUATION) or (
            family == "autograd-function" and function.name in ("forward", "backward")
        ):
            self.contexts.append(Context("no_grad", function.place, True, text=f"called by {family}"))
            self.grad = False

    def _shared_instance(self, cls: ClassValue) -> Value:
        """The instance whose methods are analysed as roots; its constructor runs with unknown arguments."""
        found = self.shared_instances.get(id(cls))
        if found is not None:
            return found
        saved = (self.root, self.stack, self.loops, self.iterations, self.guards, self.contexts, self.grad, self.modes)
        saved_heap = self.heap
        saved_frames, self.frames = self.frames, []
        self.root = Root("method", cls.path, f"{cls.name}.__init__", cls.place)
        self._reset_position()
        self.frames.append(self._base_frame(cls.path))
        instance = self.make(cls.node or ast.Pass(), "construct", cls=cls)
        instance.place = cls.place
        instance.name, instance.made_by = "self", cls.name
        instance.role = FAMILY_ROLES.get(cls.family, "instance")
        self.shared_instances[id(cls)] = instance
        self.trace.instances[id(cls)] = instance
        self.root.owner = instance
        self.trace.roots.append(self.root)
        init = cls.method("__init__")
        self.budget = max(self.budget, ROOT_BUDGET)
        try:
            if isinstance(init, FunctionValue):
                self.reached.add(id(init.node))
                bound = self.bind_method(init, instance)
                inner = self.new_frame(bound)
                self._symbolic_parameters(inner, bound)
                self.run_function(inner, bound, init.node)
            elif cls.family == "dataclass":
                for name, member in cls.members.items():
                    value = self.make(member_node(cls), "parameter-of-function", name=name)
                    value.default = member
                    self.set_attribute(instance, name, value)
        except Exception:  # budget, recursion, or code that can not be followed: the instance keeps what it has
            self.trace.truncated.add(cls.path)
        finally:
            self.frames = saved_frames
            (self.root, self.stack, self.loops, self.iterations, self.guards, self.contexts, self.grad, self.modes) = (
                saved
            )
            self.active_functions = []
            for (holder, name), value in self.heap.items():
                if holder == id(instance):
                    # What the paths through the constructor leave, and not only what the last of them does.
                    instance.put(name, value)
            self.heap = saved_heap
            self.heap_shared = self.modes_shared = True
        return instance

    def _symbolic_parameters(self, frame: Frame, function: FunctionValue) -> None:
        """Parameters of a root: unknown values, known by annotation where that names a class."""
        spec: ast.arguments = function.node.args
        names = [*spec.posonlyargs, *spec.args]
        start = 0
        if function.bound is not None and names:
            frame.env[names[0].arg] = function.bound
            start = 1
        self.frames.append(frame)
        asked = self.outline(function.path).modules
        try:
            defaults = dict(zip(reversed([*spec.posonlyargs, *spec.args]), reversed(spec.defaults), strict=False))
            defaults.update({a: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None})
            for parameter in (*names[start:], *spec.kwonlyargs):
                value = self._presumed_value(parameter) or self._annotated_value(parameter)
                default = defaults.get(parameter)
                if default is not None:
                    value.default = self.evaluate(default)
                if "rank" in parameter.arg.lower():
                    value.about = frozenset(["local-rank" if "local" in parameter.arg.lower() else "rank"])
                if (id(function.node), parameter.arg) in asked:
                    value.role = value.role or "module"
                frame.env[parameter.arg] = value
            if spec.vararg is not None:
                extra = self.container(spec.vararg, "tuple")
                item = self.make(spec.vararg, "parameter-of-function", name=spec.vararg.arg)
                extra.items, extra.open = [item], True
                frame.env[spec.vararg.arg] = extra
            if spec.kwarg is not None:
                options = self.container(spec.kwarg, "dict")
                item = self.make(spec.kwarg, "parameter-of-function", name=spec.kwarg.arg)
                options.items, options.open = [item], True
                frame.env[spec.kwarg.arg] = options
        finally:
            self.frames.pop()

    def _presumed_value(self, parameter: ast.arg) -> Value | None:
        place = self.place(parameter) if self.presumed else None
        name = self.presumed.get(place) if place is not None else None
        if name is None:
            return None
        cls = next((c for c in self.trace.classes if c.name == name and place and c.path == place.path), None)
        return self._shared_instance(cls) if cls is not None else None

    def _annotated_value(self, parameter: ast.arg) -> Value:
        value = self.make(parameter, "parameter-of-function", name=parameter.arg)
        annotation = parameter.annotation
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
                self.kept.append(annotation)
            except (SyntaxError, ValueError):
                annotation = None
        if isinstance(annotation, ast.BinOp):
            annotation = annotation.left
        if isinstance(annotation, ast.Subscript):
            head = self.text(annotation.value)
            annotation = annotation.slice if head.endswith("Optional") else None
        if not isinstance(annotation, ast.Name | ast.Attribute):
            return value
        kind = self.evaluate(annotation)
        if isinstance(kind, ClassValue):
            if id(kind) in self.shared_instances or (kind.family and kind.family != "dataclass") or kind.methods:
                shared = self._shared_instance(kind)
                shared.use("annotated")
                return shared
        elif isinstance(kind, External):
            value.role = _ANNOTATED.get(kind.qualified)
            if value.role is None and kind.qualified.startswith("torch.optim.lr_scheduler"):
                value.role = "scheduler"
            elif value.role is None and kind.qualified.startswith("torch.optim."):
                value.role = "optimizer"
            elif value.role is None and kind.qualified.startswith("torch.nn.") and kind.qualified[9:10].isupper():
                value.role = "module"
            if value.role is not None and kind.qualified.startswith("torch.nn."):
                value.made_by = ""
        return value


_ANNOTATED = {
    "torch.nn.Module": "module",
    "torch.Tensor": "tensor",
    "torch.nn.Parameter": "parameter",
    "torch.utils.data.DataLoader": "loader",
    "torch.utils.data.Dataset": "dataset",
    "torch.utils.data.DistributedSampler": "sampler",
    "torch.cuda.amp.GradScaler": "scaler",
    "torch.amp.GradScaler": "scaler",
    "accelerate.Accelerator": "accelerator",
    "lightning.Fabric": "fabric",
    "lightning.Trainer": "trainer",
    "torch.device": "device",
    "builtins.int": "number",
    "builtins.float": "number",
    "builtins.bool": "number",
    "builtins.str": "string",
    "numpy.ndarray": "array",
    "torch.nn.parallel.DistributedDataParallel": "module",
    "deepspeed.DeepSpeedEngine": "engine",
}


def member_node(cls: ClassValue) -> ast.AST:
    return cls.node if cls.node is not None else ast.Pass()


def trace_project(
    project: Project, paths: Iterable[str] | None = None, presumed: Mapping[Place, str] | None = None
) -> Trace:
    """The trace of these files (all Python files and notebooks without `paths`) and of what they import.

    `presumed`: parameters that are taken to be objects of a class of their file, for a reading that may only suggest.

    Never raises for what a file holds: files that can not be read are named in `trace.failed`.
    """
    chosen = list(paths) if paths is not None else [p for p in project.paths() if p.endswith(_SOURCES)]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        return Interpreter(project, presumed).run(chosen)
    finally:
        sys.setrecursionlimit(limit)


__all__ = ["Container", "Interpreter", "UnreadableFile", "events", "trace_project"]
