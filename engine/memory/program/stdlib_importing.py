"""`importlib` and `pkgutil`: programs that look for modules by name or by folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.memory.program.attributes import plain_name, read
from engine.memory.program.files import project_path
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import NEWEST, Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _spec(name: str, origin: str | None) -> SimpleNamespace:
    # The file runs when its module is made: what a program does with the loader in between shows nothing.
    return SimpleNamespace(name=name, origin=origin, loader=SimpleNamespace(exec_module=_nothing))


def make_importlib(interpreter: Interpreter) -> dict[str, Any]:
    def import_module(name: Any, package: Any = None) -> Any:
        if not isinstance(name, str):
            return Unknown("a module whose name is not known")
        name = plain_name(name)
        level = len(name) - len(name.lstrip("."))
        if level and isinstance(package, str):
            base = package.split(".")
            name = ".".join([*base[: len(base) - level + 1], name.lstrip(".")])
        return interpreter.import_module(name, interpreter.place()[0], True, whole=True)

    def find_spec(name: str, *args: Any) -> Any:
        try:
            return (
                SimpleNamespace(name=name)
                if interpreter.find(plain_name(name), interpreter.place()[0]) is not None
                else None
            )
        except Exception:
            return None

    def spec_from_file_location(name: Any, location: Any = None, **kwargs: Any) -> Any:
        path = project_path(interpreter, location)
        if not isinstance(name, str) or not interpreter.project.exists(path):
            return None
        return _spec(plain_name(name), path)

    def module_from_spec(spec: Any) -> Any:
        if isinstance(spec, Unknown) or spec is None:
            return Unknown("a module whose file is not known")
        return interpreter.load_path(spec.origin, spec.name)

    return {
        "import_module": import_module,
        "util": Namespace(
            "importlib.util",
            {
                "find_spec": find_spec,
                "spec_from_file_location": spec_from_file_location,
                "module_from_spec": module_from_spec,
            },
        ),
        "metadata": Namespace(
            "importlib.metadata", {"version": lambda name: NEWEST, "PackageNotFoundError": ImportError}
        ),
        "reload": lambda module: module,
    }


class ModuleInfo(NamedTuple):
    """``pkgutil.ModuleInfo``."""

    module_finder: Any
    name: str
    ispkg: bool


def make_pkgutil(interpreter: Interpreter) -> dict[str, Any]:
    """`iter_modules` and `walk_packages` over folders of the project, in the order of their names."""
    finder = SimpleNamespace(find_spec=lambda name, *rest: _spec(str(name), None))

    def iter_modules(path: Any = None, prefix: str = "") -> Iterator[ModuleInfo]:
        for folder in path if isinstance(path, (list, tuple)) else ():
            place = project_path(interpreter, folder).strip("/")
            inside = f"{place}/" if place not in ("", ".") else ""
            for name, is_package in _modules_in(interpreter.project.paths(), inside):
                yield ModuleInfo(finder, prefix + name, is_package)

    def walk_packages(
        path: Any = None, prefix: str = "", onerror: Callable[[str], Any] | None = None
    ) -> Iterator[ModuleInfo]:
        for info in iter_modules(path, prefix):
            yield info
            if not info.ispkg:
                continue
            try:
                package = interpreter.import_module(info.name, interpreter.place()[0], True, whole=True)
            except Exception as problem:
                if onerror is not None:
                    onerror(info.name)
                elif not isinstance(problem, ImportError):
                    raise
                continue
            if isinstance(package, Namespace):
                yield from walk_packages(read(package, "__path__"), info.name + ".", onerror)

    return {"iter_modules": iter_modules, "walk_packages": walk_packages, "ModuleInfo": ModuleInfo}


def _modules_in(paths: Iterable[str], folder: str) -> list[tuple[str, bool]]:
    """Modules directly below a folder ('' or ending in a slash), and whether each is a package."""
    found: dict[str, bool] = {}
    for path in paths:
        if not path.startswith(folder) or not path.endswith(".py"):
            continue
        name, _, rest = path[len(folder) :].partition("/")
        if not rest and name != "__init__.py":
            found.setdefault(name.removesuffix(".py"), False)
        elif rest == "__init__.py":
            found[name] = True
    return sorted(found.items())
