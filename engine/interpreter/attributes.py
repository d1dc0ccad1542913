"""Names, attributes, elements and subscripts."""

from __future__ import annotations

import ast
import builtins

from engine.frameworks.registry import canonical
from engine.interpreter.guards import LOCAL_RANK_ATTRIBUTES, RANK_ATTRIBUTES, RANK_VARIABLES
from engine.interpreter.machine import Machine
from engine.interpreter.state import join_values
from engine.trace import events
from engine.trace.values import (
    Choice,
    ClassValue,
    Constant,
    Container,
    External,
    FunctionValue,
    Namespace,
    Value,
)

#: The attribute of a `defaultdict` that holds what it calls for a missing key.
DEFAULT_FACTORY = "default_factory"
_BUILTINS = frozenset(dir(builtins))
#: Tensor attributes that are neither tensors nor carry a graph.
_METADATA = frozenset(
    ["shape", "device", "dtype", "ndim", "is_cuda", "names", "layout", "itemsize", "grad_fn", "is_leaf"]
)


_GIVEN = frozenset(["parameter-of-function", "attribute", "unknown", "construct"])
"""How an object that outlives one turn of a generator may have come to be."""


_TRAINER_ATTRIBUTES = {"accelerator": "accelerator", "processing_class": "tokenizer", "tokenizer": "tokenizer"}
"""What a Hugging Face Trainer makes or keeps in its constructor."""


class Attributes(Machine):
    """`lookup`, `attribute`, `subscript`, `element_of`."""

    bypasses: dict[int, Value]

    def call_method(
        self,
        receiver: Value,
        method: str,
        arguments: list[Value],
        keywords: dict[str, Value],
        node: ast.AST,
        discarded: bool = False,
    ) -> Value:
        raise NotImplementedError

    def call_function(
        self, function: FunctionValue, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        raise NotImplementedError

    def load_module(self, path: str) -> dict[str, Value]:
        raise NotImplementedError

    def infer_matmul_shape(self, value: Value, left: Value, right: Value) -> None:
        raise NotImplementedError

    def lookup(self, name: str) -> Value | None:
        """A name's value: local, enclosing, global, builtin; None if unbound."""
        frame = self.frames[-1]
        if name in frame.env and name not in frame.declared_global:
            return frame.env[name]
        outer = frame.parent
        while outer is not None:
            if name in outer.env:
                return outer.env[name]
            outer = outer.parent
        found = frame.globals.get(name)
        if found is not None:
            if found.op == "unknown" and id(found) in self.late:
                _, path, original = self.late[id(found)]
                arrived = self.modules_loaded[path].get(original)
                if arrived is not None and arrived.op != "unknown":
                    frame.globals[name] = found = arrived
            return found
        if name in _BUILTINS:
            return External(place=self.root.place, name=name, op="external", qualified="builtins." + name)
        return None

    # ---- attributes ----------------------------------------------------------------------------------------------

    def attribute(self, value: Value, name: str, node: ast.AST) -> Value:
        """`value.name`, read."""
        if isinstance(value, External):
            return External(
                place=self.place(node), name=name, op="external", qualified=canonical(f"{value.qualified}.{name}")
            )
        if isinstance(value, Choice):
            options = [o for o in value.options() if not (o.is_constant and o.constant is None)]
            if not options:
                options = list(value.options())
            before, self.alternatives = self.alternatives, self.alternatives or len(options) > 1
            result = self.attribute(options[0], name, node)
            for option in options[1:]:
                result = join_values(result, self.attribute(option, name, node))
            self.alternatives = before
            return result
        if isinstance(value, Namespace):
            return self._member_of_namespace(value, name, node)
        stored = self.get_attribute(value, name)
        if stored is not None:
            if name == "module" and value.wrapped is None:
                self.bypasses[id(node)] = value
            return stored
        cls = value if isinstance(value, ClassValue) else value.cls
        if cls is not None:
            found = self._member_of_class(value, cls, name, node)
            if found is not None:
                return found
        if value.wrapped is not None and value.wrapping != "copy":
            if name in ("module", "_orig_mod", "base_model", "model"):
                self.bypasses[id(node)] = value
                return value.wrapped
            if value.wrapping in ("ddp", "data-parallel") and not self.alternatives:
                inner = value.wrapped.origin
                if inner.cls is not None and self.get_attribute(inner, name) is not None:
                    self.emit(events.ThroughWrapper, node, wrapper=value, name=name)
            return self.attribute(value.wrapped, name, node)
        return self._derived_attribute(value, name, node)

    def _member_of_namespace(self, value: Namespace, name: str, node: ast.AST) -> Value:
        env = self.load_module(value.path)
        if name in env:
            return env[name]
        submodule = value.attributes.get(name)
        if submodule is not None:
            return submodule
        package = value.path.endswith("/__init__.py")
        below = self.project.find_module(name, importer=value.path, level=1) if package else None
        if below is not None:
            # A package's own file need not import it: once any file has, it is there.
            return Namespace(place=self.place(node), name=name, path=below)
        made = self.make(node, "attribute", (value,), name=name, callee=value)
        env.setdefault(name, made)
        return made

    def _member_of_class(self, value: Value, cls: ClassValue, name: str, node: ast.AST) -> Value | None:
        method = cls.method(name)
        if isinstance(method, FunctionValue):
            if isinstance(value, ClassValue) and method.kind_of_method != "class":
                return method
            bound = FunctionValue(
                place=method.place,
                name=method.name,
                node=method.node,
                path=method.path,
                qualified=method.qualified,
                bound=None if method.kind_of_method == "static" else value,
                owner=method.owner,
                closure=method.closure,
                decorators=method.decorators,
                kind_of_method=method.kind_of_method,
            )
            if method.kind_of_method == "property":
                return self.call_function(bound, [], {}, node)
            return bound
        if method is not None:
            return method
        for base in cls.lineage():
            if name in base.members:
                return base.members[name]
        return None

    def _derived_attribute(self, value: Value, name: str, node: ast.AST) -> Value:
        if value.op == "mode-of" or name == "training":
            made = self.make(node, "mode-of", (value,), role="number", about=frozenset(["training"]))
            made.member_of = value
            return made
        if name == "grad":
            made = self.make(node, "grad", (value,), role="tensor", detached="grad", of=value.of)
            self.set_attribute(value, name, made)
            made.member_of = value
            value.use("grad")
            return made
        if name == "data" and value.role != "instance":
            cut = self.make(node, "data", (value,), role="tensor", detached="data", of=value.of, shape=value.shape)
            self.emit(events.Detach, node, value=value, output=cut, how="data")
            return cut
        if name in _METADATA:
            return self.make(node, name, (value,), role="device" if name == "device" else "number", detached=name)
        op = "attribute"
        tensor_like = value.role == "tensor" or value.op in (
            "call",
            "method-call",
            "forward-result",
            "data-element",
            "getattr",
            "getitem",
            "element",
        )
        if tensor_like and value.role in (None, "tensor"):
            op = "getattr"
        made = self.make(node, op, (value,), callee=value, grad=value.grad)
        made.name = f"{value.name}.{name}" if value.name else name
        made.member_of = value
        if name in RANK_ATTRIBUTES:
            made.about = frozenset(["local-rank" if name in LOCAL_RANK_ATTRIBUTES else "rank"])
            made.role = "number"
        elif name in ("num_processes", "world_size"):
            made.about, made.role = frozenset(["world-size"]), "number"
        if value.role == "module" and op == "attribute":
            made.role = self._role_of_module_attribute(value, name)
            if made.role == "parameter" and value.requires_grad is False:
                made.requires_grad = False
        if value.role == "loader" and name in ("sampler", "batch_sampler", "dataset"):
            known = value.keywords.get(name)
            if known is not None and not (known.is_constant and known.constant is None):
                return known
        if value.role in ("accelerator", "fabric") and name == "device":
            made.role = "device"
        if value.role == "trainer" and value.cls is not None and value.cls.family == "hf-trainer":
            made.role = _TRAINER_ATTRIBUTES.get(name)
        self.set_attribute(value, name, made)
        return made

    @staticmethod
    def _role_of_module_attribute(module: Value, name: str) -> str | None:
        if name in ("config", "in_features", "out_features", "hparams", "device", "dtype", "current_epoch"):
            return None
        if name in ("weight", "bias") and module.made_by.startswith("torch.nn."):
            return "parameter"
        return None

    # ---- subscripts ----------------------------------------------------------------------------------------------

    def subscript(self, value: Value, index: Value, node: ast.AST) -> Value:
        """`value[index]`, read."""
        if isinstance(value, Choice):
            options = [o for o in value.options() if not o.is_constant] or list(value.options())
            result = self.subscript(options[0], index, node)
            for option in options[1:]:
                result = join_values(result, self.subscript(option, index, node))
            return result
        if isinstance(value, External):
            if value.qualified == "os.environ" and index.is_constant:
                return self.environment(str(index.constant), node)
            return value
        if isinstance(value, ClassValue):
            return value
        if isinstance(value, Container):
            return self._item_of_container(value, index, node)
        if value.is_constant and index.is_constant:
            try:
                return self.constant(node, value.constant[index.constant])
            except (TypeError, KeyError, IndexError):
                pass
        if value.role == "module":
            return self._submodule(value, index, node)
        key = f"[{index.constant!r}]" if index.is_constant else ""
        if key:
            stored = self.get_attribute(value, key)
            if stored is not None:
                return stored
        made = self.make(node, "getitem", (value,), of=value.of, grad=value.grad)
        made.name = f"{value.name}{key or '[...]'}" if value.name else ""
        made.member_of = value
        if value.role in ("tensor", "number", "array", "parameter"):
            made.role = "tensor" if value.role == "parameter" else value.role
        if value.op == "data-element":
            made.op = "data-element"
        elif value.op in ("parameter-of-function", "attribute", "unknown") and value.role is None:
            made.op = "attribute"
            made.callee = value
        if index.op == "compare":
            # A mask: how much is taken is known only at run time.
            made.keywords = {"mask": index}
        made.about = value.about
        if value.role in ("optimizer", "scheduler") and value.op == "optimizers":
            made.role = value.role
        if key:
            self.set_attribute(value, key, made)
        return made

    def environment(self, name: str, node: ast.AST) -> Value:
        made = self.make(node, "environment", role="number", name=name)
        if name in RANK_VARIABLES:
            made.about = frozenset([RANK_VARIABLES[name]])
        return made

    def _submodule(self, value: Value, index: Value, node: ast.AST) -> Value:
        if index.is_constant:
            stored = self.get_attribute(value, str(index.constant))
            if stored is not None:
                return stored
        children = [c for c in value.attributes.values() if c.role == "module"]
        if not children:
            return self.make(node, "attribute", (value,), role="module", member_of=value, callee=value)
        result = children[0]
        for child in children[1:8]:
            result = join_values(result, child)
        return result

    def _item_of_container(self, value: Container, index: Value, node: ast.AST) -> Value:
        if index.is_constant:
            key = index.constant
            if isinstance(key, str | int) and key in value.entries:
                return value.entries[key]
            if isinstance(key, int) and not value.open and -len(value.items) <= key < len(value.items):
                return value.items[key]
        made = self._made_for_missing(value, index, node)
        if made is not None:
            return made
        if index.op == "slice":
            part = self.container(node, value.shape_name, value.items)
            part.open, part.parents = True, (value,)
            return part
        return self.item_among(value, node)

    def _made_for_missing(self, value: Container, index: Value, node: ast.AST) -> Value | None:
        """What a `defaultdict` makes for a key that it does not hold."""
        factory = value.attributes.get(DEFAULT_FACTORY)
        if factory is None:
            return None
        key = index.constant if index.is_constant else "?" + index.name
        if key in value.entries:
            return value.entries[key]
        made = self.call(factory, [], {}, node)
        if isinstance(key, str | int):
            value.entries[key] = made
            value.open = True
        made.loops, made.iterations = value.loops, value.iterations
        if isinstance(made, Container):
            made.held_as = value.held_as
        value.parents = (*value.parents, made)
        return made

    def item_among(self, value: Container, node: ast.AST) -> Value:
        """Any element of a container."""
        items = value.elements()
        if not items:
            return self.make(node, "element", (value,))

        result = items[0]
        for item in items[1:12]:
            result = join_values(result, item)
        if result.op == "element" or isinstance(result, Constant) or result.role in ("module", "optimizer", "loader"):
            return result
        if value.shape_name == "generator" and all(isinstance(option, Container) for option in result.options()):
            taken, *others = [self._yielded(option, node) for option in result.options()]
            for other in others:
                taken = join_values(taken, other)
            return taken
        if isinstance(result, FunctionValue | ClassValue | Container) or result.cls is not None:
            return result
        if isinstance(result, Choice) and any(
            isinstance(o, FunctionValue | ClassValue | Container | Constant)
            or o.role in ("module", "optimizer", "loader")
            or o.cls is not None
            for o in result.choices
        ):
            return result
        # The container is an ancestor of what is taken from it, so that its consumption is seen.
        taken = self.make(node, "element", (result, value), role=result.role, grad=result.grad, of=result.of)
        taken.name, taken.member_of = result.name, value
        return taken

    def _yielded(self, item: Value, node: ast.AST) -> Value:
        """A tuple that a generator yields: with each turn of the loop that asks for it, its tensors are new."""
        assert isinstance(item, Container)
        parts = [
            self.make(node, "element", (part, item), role=part.role, grad=part.grad, of=part.of, name=part.name)
            if type(part) is Value and part.role in (None, "tensor", "array") and part.op not in _GIVEN
            else part
            for part in item.items
        ]
        if item.shape_name != "tuple" or all(new is old for new, old in zip(parts, item.items, strict=True)):
            return item
        for new, old in zip(parts, item.items, strict=True):
            if new is not old:
                new.member_of = item
                new.op = old.op if old.op == "data-element" else new.op
        made = self.container(node, "tuple", parts)
        made.open = item.open
        return made

    # ---- iteration -----------------------------------------------------------------------------------------------

    def element_of(self, value: Value, node: ast.AST) -> Value:
        """What iterating over a value yields."""
        value.use("for")
        if isinstance(value, Choice):
            options = [o for o in value.options() if not o.is_constant] or list(value.options())
            result = self.element_of(options[0], node)
            for option in options[1:]:
                result = join_values(result, self.element_of(option, node))
            return result
        if isinstance(value, Container):
            return self._element_of_container(value, node)
        if value.is_constant:
            return self.make(node, "element", (value,), role="number")
        if value.op == "enumerate":
            index = self.make(node, "loop-index", role="number", name="index")
            return self.container(node, "tuple", [index, self.element_of(value.parents[0], node)])
        if value.op == "zip":
            return self.container(node, "tuple", [self.element_of(p, node) for p in value.parents])
        if value.op == "range":
            return self.make(node, "loop-index", (value,), role="number", name="index")
        if value.op in ("iter", "tqdm", "passthrough") and value.parents:
            return self.element_of(value.parents[0], node)
        if value.op == "named_parameters":
            name = self.make(node, "name", role="string")
            return self.container(node, "tuple", [name, self._parameter_element(value, node)])
        if value.op in ("buffers", "named_buffers"):
            buffer = self.make(node, "element", (value,), role="tensor", detached="buffers", member_of=value)
            if value.op == "buffers":
                return buffer
            return self.container(node, "tuple", [self.make(node, "name", role="string"), buffer])
        if value.role == "parameters":
            return self._parameter_element(value, node)
        if value.op in ("modules", "children", "named_modules", "named_children"):
            item = self.make(node, "attribute", (value,), role="module", member_of=value.parents[0])
            if value.op.startswith("named"):
                return self.container(node, "tuple", [self.make(node, "name", role="string"), item])
            return item
        if value.role == "module":
            return self._submodule(value, self.make(node, "unknown"), node)
        if value.op == "items" and value.parents:
            key = self.make(node, "name", role="string")
            return self.container(node, "tuple", [key, self.element_of(value.parents[0], node)])
        if value.role in ("tensor", "array") or value.op in ("forward-result", "call", "method-call", "getattr"):
            if value.role in (None, "tensor", "array") and not value.prepared:
                op = "element"
                if value.op in ("call", "method-call", "getattr") and value.role is None:
                    # A factory's result is a loader, a model's result is tensors: which one shows by its use.
                    op = "element" if self._from_model(value) else "data-element"
                return self.make(node, op, (value,), member_of=value, role=value.role, grad=value.grad)
            return self.make(node, "data-element", (value,), member_of=value)
        if value.cls is not None and value.cls.method("__iter__") is not None:
            found = self.call_method(value, "__iter__", [], {}, node)
            if found is not value:
                return self.element_of(found, node)
        if value.op == "state_dict":
            return self.make(node, "element", (value,), role="tensor", detached="state_dict")
        return self.make(node, "data-element", (value,), member_of=value)

    @staticmethod
    def _from_model(value: Value) -> bool:
        return any(p.op in ("data-element", "forward-result") or p.role == "tensor" for p in value.parents)

    def _parameter_element(self, value: Value, node: ast.AST) -> Value:
        made = self.make(node, "element", (value,), role="parameter", of=value.of, member_of=value)
        if value.of and all(module.requires_grad is False for module in value.of):
            made.requires_grad = False
        return made

    def _element_of_container(self, value: Container, node: ast.AST) -> Value:
        if value.shape_name == "dict" and value.items:
            keys = [k for k in value.entries if isinstance(k, str)]
            if len(keys) == 1:
                return self.constant(node, keys[0])
            return self.make(node, "name", (value,), role="string")
        return self.item_among(value, node)

    def unpack(self, value: Value, count: int, node: ast.AST, starred: int | None = None) -> list[Value]:
        """The values that unpacking into `count` targets gives."""
        if isinstance(value, Choice):
            columns = [self.unpack(o, count, node, starred) for o in value.options() if not o.is_constant]
            if columns:
                result = columns[0]
                for column in columns[1:]:
                    result = [join_values(a, b) for a, b in zip(result, column, strict=True)]
                return result
        if isinstance(value, Container) and not value.open and value.shape_name != "dict":
            items = list(value.items)
            if starred is not None and len(items) >= count - 1:
                tail = count - 1 - starred
                middle = self.container(node, "list", items[starred : len(items) - tail])
                return [*items[:starred], middle, *items[len(items) - tail :]]
            if len(items) == count:
                return items
        if isinstance(value, Container):
            return [self.element_of(value, node) for _ in range(count)]
        values = []
        for position in range(count):
            index = self.constant(node, position)
            if value.op in ("shape", "size"):
                values.append(self.make(node, "size", (value,), role="number", detached="shape"))
            elif value.role == "parameters" or value.op in ("optimizers", "schedulers", "zip", "enumerate"):
                item = self.make(node, "getitem", (value,), role=value.role if value.op != "zip" else None, of=value.of)
                if value.role == "parameters":
                    item.role = "parameter"
                item.name = f"{value.name}[{position}]"
                item.member_of = value
                stored = self.get_attribute(value, f"[{position}]")
                if stored is None:
                    self.set_attribute(value, f"[{position}]", item)
                values.append(stored or item)
            else:
                values.append(self.subscript(value, index, node))
        return values
