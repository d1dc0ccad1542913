"""Files and imports: a module's top level is executed once, when first needed."""

from __future__ import annotations

import ast
import re

from engine.frameworks.registry import canonical
from engine.interpreter.machine import BudgetSpent
from engine.interpreter.methods import Methods
from engine.interpreter.state import Frame
from engine.project import UnreadableFile
from engine.trace.places import Place, Root
from engine.trace.values import External, Namespace, Value

_RELEVANT = re.compile(
    r"torch|\.backward\(|zero_grad|lightning|accelerate|transformers|deepspeed|\bignite\b|\btimm\b|diffusers|\.eval\(\)"
    r"|\.train\(\)|optimizer|\.step\("
)
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import|import[ \t]+([\w.]+))", re.MULTILINE)


class Loading(Methods):
    """`load_module` and import statements."""

    loading: set[str]

    def relevant(self, path: str, depth: int = 2) -> bool:
        """Whether a file can matter: its text speaks of training, or it imports a file that does."""
        try:
            text = self.project.read_text(path)
        except UnreadableFile:
            return True
        if _RELEVANT.search(text):
            return True
        if depth == 0 or path.endswith(".ipynb"):
            return False
        for match in _IMPORT.finditer(text):
            name = match.group(1) or match.group(2)
            level = len(name) - len(name.lstrip("."))
            target = self.project.find_module(name.lstrip("."), importer=path, level=level)
            if target is not None and target != path and self.relevant(target, depth - 1):
                return True
        return False

    def load_module(self, path: str) -> dict[str, Value]:
        """The globals of a file of the project."""
        found = self.modules_loaded.get(path)
        if found is not None:
            return found
        env: dict[str, Value] = {}
        self.modules_loaded[path] = env
        try:
            module = self.project.module(path)
        except UnreadableFile as problem:
            self.trace.failed[path] = str(problem)
            return env
        except RecursionError:
            self.trace.failed[path] = "nested too deeply"
            return env
        self.sources[path] = module
        self.trace.files.append(path)
        self.trace.imports.setdefault(path, set())
        saved = (self.root, self.stack, self.loops, self.iterations, self.guards, self.contexts, self.grad, self.budget)
        saved_functions = self.active_functions
        # Attributes set at import stay on their objects; the heap only tells apart the paths of one root.
        saved_heap, self.heap = self.heap, {}
        saved_modes, self.modes = self.modes, {}
        self.root = Root("script", path, "", Place(path, 1))
        self.trace.roots.append(self.root)
        self.stack, self.loops, self.iterations, self.guards, self.contexts = [], [], [], [], []
        self.active_functions = []
        self.grad = True
        self.budget = max(self.budget, 6_000)
        frame = Frame(path=path, env=env, globals=env)
        env["__name__"] = self.constant_at(Place(path, 1), "__main__")
        env["__file__"] = self.constant_at(Place(path, 1), path)
        depth = len(self.frames)
        self.frames.append(frame)
        try:
            self.execute(module.tree.body)
        except BudgetSpent:
            self.trace.truncated.add(path)
        except RecursionError:
            self.trace.failed[path] = "nested too deeply"
        except Exception as problem:  # a file that can not be followed costs only itself
            self.trace.failed[path] = f"could not be followed: {type(problem).__name__}: {problem}"
        finally:
            del self.frames[depth:]
            (self.root, self.stack, self.loops, self.iterations, self.guards, self.contexts, self.grad, self.budget) = (
                saved
            )
            self.active_functions = saved_functions
            self.heap, self.modes = saved_heap, saved_modes
            self.heap_shared = self.modes_shared = True
        return env

    def constant_at(self, place: Place, value: object) -> Value:
        raise NotImplementedError

    def import_statement(self, node: ast.Import | ast.ImportFrom) -> None:
        frame = self.frame
        imports = self.trace.imports.setdefault(frame.path, set())
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".", 1)[0]
                imports.add(top)
                target = self.project.find_module(alias.name, importer=frame.path)
                if target is None and "." in alias.name and alias.asname is None:
                    target = self.project.find_module(top, importer=frame.path)
                if target is not None and alias.asname is None and "." in alias.name:
                    self._bind_package(alias.name, frame, node)
                    continue
                name = alias.asname or top
                if target is not None:
                    self.bind_import(name, Namespace(place=self.place(node), name=name, op="import", path=target))
                else:
                    self.bind_import(name, self.library(alias.name if alias.asname else top, node))
            return
        base = node.module or ""
        if node.level == 0:
            imports.add(base.split(".", 1)[0])
        for alias in node.names:
            inside = self.project.find_module(base, importer=frame.path, level=node.level)
            if alias.name == "*":
                if inside is not None:
                    for name, value in self.load_module(inside).items():
                        if not name.startswith("_"):
                            self.bind_import(name, value)
                continue
            name = alias.asname or alias.name
            if inside is not None:
                env = self.load_module(inside)
                if alias.name in env:
                    self.bind_import(name, env[alias.name])
                    continue
            dotted = f"{base}.{alias.name}" if base else alias.name
            below = self.project.find_module(dotted, importer=frame.path, level=node.level)
            if below is not None:
                self.bind_import(name, Namespace(place=self.place(node), name=name, op="import", path=below))
            elif inside is not None or node.level:
                missing = self.make(node, "unknown", name=name)
                if inside is not None and inside in self.modules_loaded:
                    # Import cycles end here: the name is there once that file has run.
                    self.late[id(missing)] = (missing, inside, alias.name)
                self.bind_import(name, missing)
            else:
                self.bind_import(name, self.library(dotted, node))

    def _bind_package(self, dotted: str, frame: Frame, node: ast.AST) -> None:
        """`import a.b.c`: binds a, with b and c reachable from it."""
        parts = dotted.split(".")
        holder: Value | None = None
        for index, part in enumerate(parts):
            path = self.project.find_module(".".join(parts[: index + 1]), importer=frame.path)
            existing = frame.env.get(part) if holder is None else holder.attributes.get(part)
            current = existing
            if not isinstance(existing, Namespace):
                current = (
                    Namespace(place=self.place(node), name=part, op="import", path=path)
                    if path is not None
                    else self.make(node, "import", name=part)
                )
            assert current is not None
            if holder is None:
                self.bind_import(part, current)
            else:
                holder.put(part, current)
                self.own_heap()[(id(holder), part)] = current
            holder = current

    def bind_import(self, name: str, value: Value) -> None:
        if name in self.frame.declared_global:
            self.frame.globals[name] = value
        else:
            self.frame.env[name] = value

    def library(self, dotted: str, node: ast.AST) -> External:
        return External(place=self.place(node), name=dotted, op="external", qualified=canonical(dotted))
