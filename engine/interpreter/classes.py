"""Classes of the project: definition, construction, methods and super()."""

from __future__ import annotations

import ast
import re

from engine.frameworks.registry import base_family, canonical
from engine.interpreter.calls import Calls
from engine.interpreter.state import Frame
from engine.trace import events
from engine.trace.values import ClassValue, External, FunctionValue, Value

FAMILY_ROLES = {
    "module": "module",
    "lightning-module": "module",
    "dataset": "dataset",
    "iterable-dataset": "dataset",
    "sampler": "sampler",
    "loader": "loader",
    "optimizer": "optimizer",
    "scheduler": "scheduler",
    "hf-trainer": "trainer",
    "metric": "metric",
}


class Classes(Calls):
    """Classes and their instances."""

    def instantiate(self, cls: ClassValue, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        """An instance of a class of the project."""
        instance = self.make(node, "construct", role=FAMILY_ROLES.get(cls.family, "instance"), cls=cls)
        instance.made_by = cls.name
        instance.name = cls.name
        instance.keywords = {**{str(i): v for i, v in enumerate(arguments)}, **keywords}
        if instance.role == "module":
            self.created(instance, node)
            kinds = tuple(
                (n, v.role, repr(v.constant)[:40] if v.is_constant else type(v).__name__)
                for n, v in (*enumerate(arguments), *keywords.items())
            )
            key = (id(cls), kinds)
            times, template = self.templates.get(key, (0, instance))
            if times >= 3:
                # Built the same way often enough: its parts are known.
                instance.attributes = dict(template.attributes)
                return instance
            self.templates[key] = (times + 1, instance)
        init = cls.method("__init__")
        if isinstance(init, FunctionValue):
            self.call_function(self.bind_method(init, instance), arguments, keywords, node)
        else:
            self._fields(instance, cls, arguments, keywords)
        post = cls.method("__post_init__")
        if isinstance(post, FunctionValue):
            self.call_function(self.bind_method(post, instance), [], {}, node)
        if instance.role == "loader":
            self.loader_built(instance, "torch.utils.data.DataLoader", arguments, keywords, node)
        if instance.role == "trainer":
            self.emit(
                events.FrameworkTrainer,
                node,
                library="transformers",
                what="built",
                trainer=instance,
                keywords=instance.keywords,
            )
        if instance.role == "optimizer":
            self.emit(events.OptimizerCreated, node, optimizer=instance, parameters=arguments[0] if arguments else None)
            instance.of = arguments[0].of if arguments else ()
        return instance

    def _fields(self, instance: Value, cls: ClassValue, arguments: list[Value], keywords: dict[str, Value]) -> None:
        """Fields of dataclasses and of classes without __init__."""
        names = [n for base in reversed(list(cls.lineage())) for n in base.members]
        for name, value in zip(names, arguments, strict=False):
            self.set_attribute(instance, name, value)
        for name, value in keywords.items():
            self.set_attribute(instance, name, value)
        if instance.role == "module" and any(b in ("torch.nn.Sequential", "torch.nn.ModuleList") for b in cls.bases):
            for index, value in enumerate(arguments):
                self.set_attribute(instance, str(index), value)

    def created(self, module: Value, node: ast.AST) -> None:
        inside = any(f.function is not None and f.function.name == "forward" and f.owner is not None
                     and f.owner.role == "module" for f in self.frames)  # fmt: skip
        self.emit(events.ModuleCreated, node, module=module, inside_forward=inside)

    def define_class(self, node: ast.ClassDef) -> None:
        frame = self.frame
        bases = [self.evaluate(base) for base in node.bases]
        cls = ClassValue(
            place=self.place(node),
            name=node.name,
            op="class",
            node=node,
            path=frame.path,
            made_by=node.name,
        )
        own: list[ClassValue] = []
        outside: list[str] = []
        for base in bases:
            for option in base.options():
                if isinstance(option, ClassValue):
                    own.append(option)
                    outside.extend(option.bases)
                elif isinstance(option, External):
                    outside.append(canonical(option.qualified))
                elif not option.is_constant:
                    cls.bases_unknown = True
        cls.project_bases, cls.bases = tuple(own), tuple(dict.fromkeys(outside))
        families = [base.family for base in own if base.family]
        families += [f for f in map(base_family, outside) if f]
        cls.family = families[0] if families else ""
        cls.bases_unknown = cls.bases_unknown or any(b.bases_unknown for b in own)
        decorators = [self.evaluate(d) for d in node.decorator_list]
        if any(isinstance(d, External) and d.qualified.startswith("dataclasses.") for d in decorators):
            cls.family = cls.family or "dataclass"
        inner = Frame(
            path=frame.path,
            env={},
            globals=frame.globals,
            function=None,
            parent=frame if frame.function is not None else None,
            qualified=f"{frame.qualified}.{node.name}".lstrip("."),
            defining_class=cls,
        )
        self.frames.append(inner)
        try:
            self.execute(node.body)
        finally:
            self.frames.pop()
        for name, value in inner.env.items():
            if isinstance(value, FunctionValue) and value.owner is None and value.node in node.body:
                value.owner = cls
                cls.methods[name] = value
            elif isinstance(value, FunctionValue):
                cls.methods[name] = value
            else:
                cls.members[name] = value
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                cls.members.setdefault(statement.target.id, self.make(statement, "attribute", name=statement.target.id))
        cls.mentions_rank = bool(_RANK_WORDS.search(self.lines_of(node))) and _mentions_rank(node)
        self.trace.classes.append(cls)
        frame.env[node.name] = cls

    def define_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        frame = self.frame
        decorators = tuple(self.evaluate(d) for d in node.decorator_list)
        kind = ""
        for decorator in decorators:
            if isinstance(decorator, External):
                last = decorator.qualified.rsplit(".", 1)[-1]
                kind = {
                    "staticmethod": "static",
                    "classmethod": "class",
                    "property": "property",
                    "cached_property": "property",
                }.get(last, kind)
        function = FunctionValue(
            place=self.place(node),
            name=node.name,
            op="function",
            node=node,
            path=frame.path,
            qualified=f"{frame.qualified}.{node.name}".lstrip("."),
            closure=frame if frame.function is not None or frame.defining_class is None else frame.parent,
            decorators=decorators,
            kind_of_method=kind,
        )
        frame.env[node.name] = function
        self.functions.append(function)

    def call_own_method(
        self, receiver: Value, method: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value | None:
        """A method that the receiver's class in the project defines; None if it defines none."""
        cls = receiver if isinstance(receiver, ClassValue) else receiver.cls
        if cls is None:
            return None
        if receiver.op == "super":
            return self._call_super(receiver, method, arguments, keywords, node)
        found = cls.method(method)
        if not isinstance(found, FunctionValue):
            return None
        if isinstance(receiver, ClassValue):
            if found.kind_of_method == "class":
                return self.call_function(self.bind_method(found, receiver), arguments, keywords, node)
            return self.call_function(found, arguments, keywords, node)
        if found.kind_of_method == "property":
            return self.call(self.attribute(receiver, method, node), arguments, keywords, node)
        if method == "forward" and receiver.role == "module":
            return self.forward(receiver, arguments, keywords, node, method="forward")
        return self.call_function(self.bind_method(found, receiver), arguments, keywords, node)

    def _call_super(
        self, receiver: Value, method: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        target = receiver.member_of
        assert target is not None and receiver.cls is not None
        for base in receiver.cls.project_bases:
            found = base.method(method)
            if isinstance(found, FunctionValue):
                return self.call_function(self.bind_method(found, target), arguments, keywords, node)
        if method == "__init__":
            if target.role == "module" and any(b.startswith("torch.nn.Sequential") for b in receiver.cls.bases):
                for index, value in enumerate(arguments):
                    self.set_attribute(target, str(index), value)
            if target.role == "loader":
                target.keywords = {**target.keywords, **keywords}
            return self.constant(node, None)
        if method in ("train", "eval", "zero_grad", "step", "parameters", "state_dict", "load_state_dict", "to"):
            return self.call_known_method(target, method, arguments, keywords, node)
        result = self.make(node, "method-call", (*arguments, *keywords.values()), callee=receiver)
        self.emit(
            events.MethodCall,
            node,
            receiver=receiver,
            method=method,
            arguments=tuple(arguments),
            keywords=keywords,
            result=result,
        )
        return result

    def call_known_method(
        self, receiver: Value, method: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        raise NotImplementedError


_RANK_CALLS = frozenset(
    ["get_rank", "get_world_size", "get_worker_info", "global_rank", "process_index", "num_processes"]
)

_RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
_RANK_WORDS = re.compile("|".join((*_RANK_CALLS, *_RANK_VARIABLES)))


def _mentions_rank(node: ast.ClassDef) -> bool:
    """Whether a class asks for its rank, the world size or its loader worker, or is given them."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in _RANK_CALLS:
            return True
        if isinstance(part, ast.Name) and part.id in _RANK_CALLS:
            return True
        if isinstance(part, ast.Constant) and part.value in _RANK_VARIABLES:
            return True
    return False
