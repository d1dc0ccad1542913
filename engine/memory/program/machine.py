"""The interpreter of one shadow run: modules, classes, calls, activity and notes."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.memory.program import calls
from engine.memory.program.attributes import read
from engine.memory.program.budget import Budget, StopRun
from engine.memory.program.builtins import make_builtins
from engine.memory.program.frames import Cell, Frame, Statement
from engine.memory.program.functions import Code, Function
from engine.memory.program.namespaces import Namespace
from engine.memory.program.scopes import analyse
from engine.memory.program.statements import StatementCompiler
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.project import Project
    from hardware_catalog.allocator import Peak

LIBRARY_FIRST = frozenset(
    {"torch", "einops", "einx", "numpy", "yaml", "beartype", "jaxtyping", "packaging", "frozendict", "tqdm"}
)
"""Packages whose model is taken even where their source lies in the project."""
MAX_DEPTH = 300
STEPS_TO_SEE = 2
"""Optimizer steps after which every lifetime has repeated: the second step runs beside what the first left alive."""
MAX_STEPS = 24
"""Steps after which a run ends although one of its optimizers has stepped only once."""


@dataclass
class Activity:
    """What the program has done with models so far."""

    model_calls: int = 0
    calls_of: dict[int, int] = field(default_factory=dict)
    depth: int = 0
    backwards: int = 0
    steps: int = 0
    generated: bool = False
    steps_of: dict[int, int] = field(default_factory=dict)
    optimizers: list[Any] = field(default_factory=list)
    models: list[Any] = field(default_factory=list)
    first_step: Peak | None = None
    """The peak up to the end of the first step, which a later one has not repeated yet."""


@dataclass(frozen=True)
class Fault:
    """A statement that failed and was passed over."""

    place: str
    reason: str


def _beside(importer: str, module: str, level: int) -> str:
    """The dotted path from the root that a relative import names."""
    parts = importer.split("/")[:-level]
    return ".".join([*parts, module])


class Interpreter:
    """Runs one program. `libraries` answers with the model of a library's module, or None.

    `demanded` are variables that the environment has only for a program that cannot do without them.
    """

    def __init__(
        self,
        project: Project,
        libraries: Callable[[Interpreter, str], Any],
        *,
        arguments: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        demanded: Mapping[str, str] | None = None,
        budget: Budget | None = None,
        search_paths: tuple[str, ...] = (),
    ) -> None:
        self.project = project
        self.libraries = libraries
        self.arguments = list(arguments)
        self.environment = dict(environment or {})
        self.demanded = dict(demanded or {})
        self.budget = budget or Budget()
        self.search_paths = search_paths
        self.notes: list[str] = []
        self.faults: list[Fault] = []
        self.activity = Activity()
        self.modules: dict[str, Any] = {}
        self.stack: list[tuple[Code, Frame]] = []
        self.guarded = 0
        self.device: Any = None
        self.state: dict[str, Any] = {}
        self.literals: dict[tuple[str, int, int], Any] = {}
        self.entry = ""
        # Classes with a base that is not known, and what is to be said once one of them is used.
        self._unknown_bases: dict[type, str] = {}
        self.builtins: dict[str, Any] = make_builtins(self)

    # Notes and places

    def note(self, text: str) -> None:
        """Say once what was assumed or passed over."""
        if text not in self.notes:
            self.notes.append(text)

    def place(self) -> tuple[str, int]:
        """File and line that run now."""
        if not self.stack:
            return self.entry, 0
        code, frame = self.stack[-1]
        return code.path, frame.line

    def locate(self, problem: BaseException, path: str, line: int) -> None:
        """Remember where an exception came from: the innermost frame of the program."""
        if not hasattr(problem, "preflight_place"):
            problem.preflight_place = f"{path}:{line}"  # type: ignore[attr-defined]

    def tolerates(self, problem: Exception, path: str, line: int) -> bool:
        """Whether a failed statement may be passed over, with a note, instead of ending the run."""
        if self.guarded or self.activity.depth or getattr(problem, "preflight_raised", False):
            return False
        if isinstance(problem, (StopIteration, RecursionError, MemoryError)) or getattr(problem, "fatal_to_run", False):
            return False
        if type(problem).__module__.startswith("engine.memory.tensors"):
            return False
        where = getattr(problem, "preflight_place", f"{path}:{line}")
        self.faults.append(Fault(where, f"{type(problem).__name__}: {problem}"))
        self.note(f"{where}: passed over: {type(problem).__name__}: {problem}")
        return True

    # Calls

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call any value of the program."""
        return calls.call(self, function, args, kwargs)

    def enter(self, code: Code, frame: Frame) -> None:
        """A function of the program starts."""
        if len(self.stack) > MAX_DEPTH:
            raise RecursionError("maximum recursion depth exceeded")
        self.stack.append((code, frame))

    def leave(self) -> None:
        """It ends."""
        self.stack.pop()

    def zero_argument_super(self) -> Any:
        """`super()` in the running method."""
        _, frame = self.stack[-1]
        cell = frame.cells.get("__class__")
        name = frame.first_argument
        if cell is None or name is None:
            raise RuntimeError("super(): no arguments")
        instance = frame.locals[name] if name in frame.locals else frame.cells[name].value
        return super(cell.value, instance)

    # Classes

    def define_class(
        self,
        name: str,
        qualified: str,
        bases: list[Any],
        keywords: dict[str, Any],
        body: Statement,
        global_variables: dict[str, Any],
        cells: dict[str, Cell],
        has_class_cell: bool,
        doc: str | None,
        place: str,
    ) -> Any:
        """Run a class statement."""
        unknown = [base for base in bases if isinstance(base, Unknown)]
        resolved = tuple(types.resolve_bases(tuple(bases)))
        keywords = {key: value for key, value in keywords.items() if not isinstance(value, Unknown)}
        meta, namespace, keywords = types.prepare_class(name, resolved, keywords)
        cell = Cell()
        if has_class_cell:
            cells = {**cells, "__class__": cell}
        namespace["__module__"] = str(global_variables.get("__name__", "__main__"))
        namespace["__qualname__"] = qualified
        if doc is not None:
            namespace["__doc__"] = doc
        frame = Frame(namespace, global_variables, cells)
        body(frame)
        if len(resolved) < len(bases) or resolved != tuple(bases):
            namespace["__orig_bases__"] = tuple(bases)
        created = self._create(meta, name, resolved, namespace, keywords)
        if unknown and isinstance(created, type):
            self._unknown_bases[created] = f"{place}: {name} inherits from something unknown: {unknown[0].reason}"
        cell.set(created)
        return created

    def making(self, kind: type) -> None:
        """An instance of a class of the program is made: what its classes inherit from counts from now on."""
        for base in kind.__mro__ if self._unknown_bases else ():
            if base in self._unknown_bases:
                self.note(self._unknown_bases.pop(base))

    def make_class(self, name: str, bases: tuple[Any, ...], namespace: dict[str, Any], keywords: dict[str, Any]) -> Any:
        """`type(name, bases, namespace)`."""
        resolved = tuple(types.resolve_bases(bases))
        meta, _, keywords = types.prepare_class(name, resolved, keywords)
        return self._create(meta, name, resolved, namespace, keywords)

    def _create(self, meta: Any, name: str, bases: tuple[Any, ...], namespace: Any, keywords: dict[str, Any]) -> Any:
        annotations = namespace.get("__annotations__", {})
        if not isinstance(annotations, dict) or not all(type(key) is str and key.isidentifier() for key in annotations):
            raise TypeError("annotations must be keyed by names")
        for special in ("__new__", "__init_subclass__", "__class_getitem__"):
            method = namespace.get(special)
            if isinstance(method, Function):
                dict.__setitem__(
                    namespace, special, staticmethod(method) if special == "__new__" else classmethod(method)
                )
        dict.__setitem__(namespace, "__preflight_program__", True)
        for special in ("__del__", "__reduce__", "__reduce_ex__", "__dataclass_fields__"):
            namespace.pop(special, None)
        return meta(name, bases, namespace, **keywords)

    # Modules

    def run_main(self, path: str) -> None:
        """Execute the entry script; raises what it raises. StopRun is the regular end of a training run."""
        self.entry = path
        module = Namespace("__main__", {"__name__": "__main__", "__file__": path, "__package__": None, "__doc__": None})
        self.modules["__main__"] = module
        try:
            self._execute(path, module)
        except (StopRun, SystemExit):
            return

    def _execute(self, path: str, module: Namespace) -> None:
        source = self.project.module(path)
        variables = module.special("__dict__")
        variables["__builtins__"] = Unknown("__builtins__ is out of reach")
        compiler = StatementCompiler(self, path, analyse(source.tree))
        body = compiler.block(source.tree.body, compiler.scopes[source.tree])
        code = Code("<module>", "<module>", path, 1, (), 0, (), None, None, (), (), lambda: body, None)
        frame = Frame(variables, variables, {})
        self.enter(code, frame)
        try:
            body(frame)
        except Exception as problem:
            self.locate(problem, path, frame.line)
            raise
        finally:
            self.leave()

    def find(self, name: str, importer: str, level: int = 0) -> Any:
        """The module object of a dotted name, loaded if need be; None where there is none."""
        from engine.memory.program.stdlib import rest_of_the_standard_library, standard_module

        if level == 0:
            if name in self.modules:
                return self.modules[name]
            known = standard_module(self, name)
            if known is None and name.split(".")[0] in LIBRARY_FIRST:
                known = self.libraries(self, name)
            if known is not None:
                self.modules[name] = known
                return known
        path = self.project.find_module(name, importer, level)
        if path is None and level == 0:
            for folder in self.search_paths:
                candidate = f"{folder}/{name.replace('.', '/')}"
                path = next(
                    (p for p in (f"{candidate}.py", f"{candidate}/__init__.py") if self.project.exists(p)), None
                )
                if path is not None:
                    break
        if path is not None:
            return self._load_file(path, name, level)
        if level == 0:
            found = self.libraries(self, name)
            if found is None and self._is_folder(name):
                found = Namespace(
                    name, {"__name__": name}, missing=lambda child: self.find(f"{name}.{child}", importer)
                )
            if found is None:
                found = rest_of_the_standard_library(name)
            if found is not None:
                self.modules[name] = found
            return found
        return None

    def _is_folder(self, name: str) -> bool:
        prefix = name.replace(".", "/") + "/"
        return any(path.startswith(prefix) and path.endswith(".py") for path in self.project.paths())

    def load_path(self, path: str, name: str) -> Any:
        """The module of one file of the project, by its path, under the name that the program gives it."""
        return self._load_file(path, name, 0)

    def _load_file(self, path: str, name: str, level: int) -> Any:
        key = f"file:{path}"
        if key in self.modules:
            module = self.modules[key]
            if level == 0:
                self.modules[name] = module
            return module
        is_package = path.endswith("/__init__.py") or path == "__init__.py"
        dotted = path.removesuffix("/__init__.py").removesuffix(".py").removeprefix("src/").replace("/", ".")
        members: dict[str, Any] = {
            "__name__": dotted if level else name,
            "__file__": path,
            "__doc__": None,
            "__package__": dotted if is_package else dotted.rpartition(".")[0],
        }
        if is_package:
            members["__path__"] = [path.rpartition("/")[0]]

        def submodule(child: str) -> Any:
            return self.modules.get(f"{key}:{child}")

        module = Namespace(members["__name__"], members, missing=submodule if is_package else None, strict=True)
        self.modules[key] = module
        if level == 0:
            self.modules[name] = module
        elif "." in dotted:
            # Registries look their own module up in sys.modules.
            self.modules.setdefault(dotted, module)
        try:
            self._execute(path, module)
        except Exception:
            self.modules.pop(key, None)
            self.modules.pop(name, None)
            raise
        return module

    def import_module(self, name: str, importer: str, guarded: bool, *, whole: bool) -> Any:
        """`import name` (the top-level module) or, with `whole`, `import name as ...` (the last one)."""
        parts = name.split(".")
        top = module = None
        for index in range(len(parts)):
            dotted = ".".join(parts[: index + 1])
            found = self.find(dotted, importer)
            if found is None and isinstance(module, (Namespace, Unknown)):
                found = self._member(module, parts[index])
            if found is None:
                if guarded:
                    raise ModuleNotFoundError(f"No module named {dotted!r}")
                found = Unknown(f"the package {parts[0]} is not modelled")
                self.note(f"{importer}: the package {parts[0]} is not modelled")
                self.modules[dotted] = found
            if isinstance(module, Namespace) and parts[index] not in module.special("__dict__"):
                setattr(module, parts[index], found)
            module = found
            top = top if top is not None else found
        return module if whole else top

    @staticmethod
    def _member(module: Any, name: str) -> Any:
        try:
            return read(module, name)
        except AttributeError:
            return None

    def import_from(self, module: str, importer: str, level: int, guarded: bool) -> Any:
        """The module that `from module import ...` names."""
        if level == 0 and importer.startswith("<"):
            # Model files of the catalogue: their imports are never the project's.
            found = self.libraries(self, module)
            if found is not None:
                return found
        if level == 0:
            return self.import_module(module, importer, guarded, whole=True)
        if module:
            parts = module.split(".")
            for index in range(1, len(parts)):
                self.find(".".join(parts[:index]), importer, level)
        found = self.find(module, importer, level)
        if found is None and (not module or self._is_folder(_beside(importer, module, level))):
            return None
        if found is None:
            raise ModuleNotFoundError(f"No module named {'.' * level + module!r}")
        return found

    def import_name(self, module: str, name: str, importer: str, level: int, guarded: bool) -> Any:
        """One name of `from module import name`."""
        source = self.import_from(module, importer, level, guarded)
        if isinstance(source, Unknown):
            return source
        if isinstance(source, Namespace) and name in source.special("__dict__"):
            return source.special("__dict__")[name]
        dotted = f"{module}.{name}" if module else name
        if source is None or not isinstance(source, Namespace) or source._preflight_strict:
            found = self.find(dotted, importer, level)
            if found is not None:
                if isinstance(source, Namespace):
                    setattr(source, name, found)
                return found
        try:
            value = read(source, name)
        except AttributeError:
            value = None
            found = self.find(dotted, importer, level)
            if found is not None:
                return found
            if guarded or (isinstance(source, Namespace) and source._preflight_strict):
                raise ImportError(f"cannot import name {name!r} from {module!r}") from None
        if isinstance(value, Unknown) or value is None:
            if guarded and isinstance(value, Unknown):
                raise ImportError(f"cannot import name {name!r} from {module!r}")
            return value if value is not None else Unknown(f"{module}.{name} is not modelled")
        return value

    def import_all(self, module: str, importer: str, level: int, guarded: bool) -> dict[str, Any]:
        """Names of `from module import *`."""
        source = self.import_from(module, importer, level, guarded)
        if not isinstance(source, Namespace):
            return {}
        members = source.special("__dict__")
        if "__all__" in members:
            return {name: read(source, name) for name in members["__all__"]}
        return {name: value for name, value in list(members.items()) if not name.startswith("_")}

    # What the device reports

    def live_and_peak(self) -> tuple[int, int]:
        """Bytes allocated now, and at the highest so far."""
        if self.device is None:
            return 0, 0
        return self.device.allocator.allocated, self.device.allocator.peak_allocated

    def grad_enabled(self) -> bool:
        """Whether autograd records now."""
        return self.device is not None and bool(self.device.grad_enabled)

    def after_step(self, optimizer: Any) -> None:
        """An optimizer has stepped: the first step ends the warm-up, enough of them end the run."""
        activity = self.activity
        activity.steps += 1
        if id(optimizer) not in activity.steps_of:
            activity.optimizers.append(optimizer)
        activity.steps_of[id(optimizer)] = activity.steps_of.get(id(optimizer), 0) + 1
        if activity.steps == 1:
            activity.first_step = self.device.allocator.peak()
            self.device.reset_peak()
        elif max(activity.steps_of.values()) >= MAX_STEPS or (
            min(activity.steps_of.values()) >= self.state.get("steps to see", STEPS_TO_SEE) and not self._awaited()
        ):
            activity.first_step = None
            raise StopRun

    def _awaited(self) -> bool:
        """Whether an optimizer was made for parameters that none has stepped yet, as a critic steps first."""
        stepped = self.activity.steps_of
        made = [optimizer for reference in self.device.optimizers if (optimizer := reference()) is not None]
        seen = {id(p) for o in self.activity.optimizers for group in o.param_groups for p in group["params"]}
        return any(
            id(optimizer) not in stepped
            and any(id(p) not in seen for group in optimizer.param_groups for p in group["params"])
            for optimizer in made
        )
