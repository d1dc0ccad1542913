"""Expressions compiled to closures over a frame."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.memory.program.attributes import read, remove, write
from engine.memory.program.budget import MAX_ELEMENTS, OutOfBudget
from engine.memory.program.calls import call
from engine.memory.program.formatting import percent, render
from engine.memory.program.frames import Expression, Frame, Store
from engine.memory.program.functions import Code, Function
from engine.memory.program.operators import BINARY, COMPARE, UNARY
from engine.memory.program.scopes import Scope
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


class ExpressionCompiler:
    """Turns the expressions of one module into closures."""

    def __init__(self, interpreter: Interpreter, path: str, scopes: dict[ast.AST, Scope]) -> None:
        self.interpreter = interpreter
        self.path = path
        self.scopes = scopes
        self.qualifier: list[str] = []

    # Names

    def load(self, name: str, scope: Scope) -> Expression:
        """Read a variable as `scope` sees it."""
        builtins = self.interpreter.builtins
        if scope.kind == "class":
            return self._load_in_class(name, scope)
        if scope.is_shared(name) and name not in scope.globals:

            def load_cell(frame: Frame) -> Any:
                cell = frame.cells[name]
                if not cell.filled:
                    raise NameError(f"free variable {name!r} referenced before assignment")
                return cell.value

            return load_cell
        if scope.kind != "module" and scope.is_local(name):

            def load_local(frame: Frame) -> Any:
                try:
                    return frame.locals[name]
                except KeyError:
                    raise UnboundLocalError(f"local variable {name!r} referenced before assignment") from None

            return load_local

        def load_global(frame: Frame) -> Any:
            variables = frame.globals
            if name in variables:
                return variables[name]
            if name in builtins:
                return builtins[name]
            raise NameError(f"name {name!r} is not defined")

        return load_global

    def _load_in_class(self, name: str, scope: Scope) -> Expression:
        builtins = self.interpreter.builtins
        free = name in scope.free

        def load_class(frame: Frame) -> Any:
            try:
                return frame.locals[name]
            except KeyError:
                pass
            if free and frame.cells[name].filled:
                return frame.cells[name].value
            if name in frame.globals:
                return frame.globals[name]
            if name in builtins:
                return builtins[name]
            raise NameError(f"name {name!r} is not defined")

        return load_class

    def store_name(self, name: str, scope: Scope) -> Store:
        """Bind a variable as `scope` does."""
        if scope.kind == "comprehension" and name not in scope.bound and not scope.is_shared(name):
            # A walrus at module level inside a comprehension.
            def store_outer(frame: Frame, value: Any) -> None:
                frame.globals[name] = value

            return store_outer
        if name in scope.globals:

            def store_global(frame: Frame, value: Any) -> None:
                frame.globals[name] = value

            return store_global
        if scope.is_shared(name) and (scope.kind != "class" or name in scope.nonlocals):

            def store_cell(frame: Frame, value: Any) -> None:
                frame.cells[name].set(value)

            return store_cell

        def store_local(frame: Frame, value: Any) -> None:
            frame.locals[name] = value

        return store_local

    def delete_name(self, name: str, scope: Scope) -> Callable[[Frame], None]:
        """Unbind a variable."""
        if name in scope.globals:
            return lambda frame: frame.globals.__delitem__(name)
        if scope.is_shared(name) and scope.kind != "class":
            return lambda frame: frame.cells[name].clear()

        def delete_local(frame: Frame) -> None:
            try:
                del frame.locals[name]
            except KeyError:
                raise NameError(f"name {name!r} is not defined") from None

        return delete_local

    # Expressions

    def expression(self, node: ast.expr, scope: Scope) -> Expression:
        """The closure of an expression."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            kind = type(node).__name__
            line = node.lineno
            return lambda frame: Unknown(f"{self.path}:{line}: {kind} expressions are not interpreted")
        compiled: Expression = method(node, scope)
        return compiled

    def _constant(self, node: ast.Constant, scope: Scope) -> Expression:
        value = self.interpreter.literals.get((self.path, node.lineno, node.col_offset), node.value)
        return lambda frame: value

    def _name(self, node: ast.Name, scope: Scope) -> Expression:
        return self.load(node.id, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Expression:
        owner, name = self.expression(node.value, scope), node.attr

        def attribute(frame: Frame) -> Any:
            return read(owner(frame), name)

        return attribute

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Expression:
        owner, key = self.expression(node.value, scope), self.expression(node.slice, scope)

        def subscript(frame: Frame) -> Any:
            container = owner(frame)
            index = key(frame)
            try:
                return container[index]
            except (TypeError, KeyError, IndexError):
                if isinstance(index, Unknown):
                    return index
                raise

        return subscript

    def _slice(self, node: ast.Slice, scope: Scope) -> Expression:
        parts = [
            (lambda frame: None) if part is None else self.expression(part, scope)
            for part in (node.lower, node.upper, node.step)
        ]
        lower, upper, step = parts
        return lambda frame: slice(lower(frame), upper(frame), step(frame))

    def _binop(self, node: ast.BinOp, scope: Scope) -> Expression:
        left, right = self.expression(node.left, scope), self.expression(node.right, scope)
        apply = BINARY[type(node.op)]
        return lambda frame: apply(left(frame), right(frame))

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Expression:
        operand, apply = self.expression(node.operand, scope), UNARY[type(node.op)]
        if isinstance(node.op, ast.Not):
            # Not knowing is not the same as false: the branch stays untaken either way.
            def negate(frame: Frame) -> Any:
                value = operand(frame)
                return value if isinstance(value, Unknown) else not value

            return negate
        return lambda frame: apply(operand(frame))

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> Expression:
        values = [self.expression(value, scope) for value in node.values]
        first, last = values[:-1], values[-1]
        if isinstance(node.op, ast.And):

            def conjunction(frame: Frame) -> Any:
                for value in first:
                    result = value(frame)
                    if not result:
                        return result
                return last(frame)

            return conjunction

        def disjunction(frame: Frame) -> Any:
            for value in first:
                result = value(frame)
                if result:
                    return result
            return last(frame)

        return disjunction

    def _compare(self, node: ast.Compare, scope: Scope) -> Expression:
        left = self.expression(node.left, scope)
        rest = [
            (COMPARE[type(op)], self.expression(value, scope))
            for op, value in zip(node.ops, node.comparators, strict=True)
        ]
        if len(rest) == 1:
            apply, right = rest[0]
            return lambda frame: apply(left(frame), right(frame))

        def compare(frame: Frame) -> Any:
            previous = left(frame)
            result: Any = True
            for apply, value in rest:
                current = value(frame)
                result = apply(previous, current)
                if not result:
                    return result
                previous = current
            return result

        return compare

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Expression:
        test = self.expression(node.test, scope)
        body, otherwise = self.expression(node.body, scope), self.expression(node.orelse, scope)
        return lambda frame: body(frame) if test(frame) else otherwise(frame)

    def _namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Expression:
        value, store = self.expression(node.value, scope), self.store_name(node.target.id, scope)

        def named(frame: Frame) -> Any:
            result = value(frame)
            store(frame, result)
            return result

        return named

    # Displays

    def _elements(self, nodes: list[ast.expr], scope: Scope) -> Callable[[Frame], list[Any]]:
        if not any(isinstance(node, ast.Starred) for node in nodes):
            values = [self.expression(node, scope) for node in nodes]
            return lambda frame: [value(frame) for value in values]
        parts = [
            (True, self.expression(node.value, scope))
            if isinstance(node, ast.Starred)
            else (False, self.expression(node, scope))
            for node in nodes
        ]
        budget = self.interpreter.budget

        def elements(frame: Frame) -> list[Any]:
            result: list[Any] = []
            for starred, value in parts:
                if starred:
                    result.extend(budget.bounded(value(frame)))
                else:
                    result.append(value(frame))
            return result

        return elements

    def _list(self, node: ast.List, scope: Scope) -> Expression:
        return self._elements(node.elts, scope)

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Expression:
        elements = self._elements(node.elts, scope)
        return lambda frame: tuple(elements(frame))

    def _set(self, node: ast.Set, scope: Scope) -> Expression:
        elements = self._elements(node.elts, scope)
        return lambda frame: set(elements(frame))

    def _dict(self, node: ast.Dict, scope: Scope) -> Expression:
        pairs = [
            (None if key is None else self.expression(key, scope), self.expression(value, scope))
            for key, value in zip(node.keys, node.values, strict=True)
        ]

        def display(frame: Frame) -> Any:
            result: dict[Any, Any] = {}
            for key, value in pairs:
                if key is None:
                    other = value(frame)
                    if not isinstance(other, Unknown):
                        result.update(other)
                else:
                    result[key(frame)] = value(frame)
            return result

        return display

    def _starred(self, node: ast.Starred, scope: Scope) -> Expression:
        return self.expression(node.value, scope)

    # Strings

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Expression:
        parts = [self.expression(value, scope) for value in node.values]
        return lambda frame: "".join([part(frame) for part in parts])

    def _formattedvalue(self, node: ast.FormattedValue, scope: Scope) -> Expression:
        value = self.expression(node.value, scope)
        spec = self.expression(node.format_spec, scope) if node.format_spec is not None else (lambda frame: "")
        converters: dict[int, Callable[[Any], str]] = {115: str, 114: repr, 97: ascii}
        convert = converters.get(node.conversion)

        def formatted(frame: Frame) -> str:
            result = value(frame)
            if convert is not None:
                result = convert(result)
            text = render(result, spec(frame))
            if len(text) > MAX_ELEMENTS:
                raise OutOfBudget("a string grows beyond what a shadow run grants")
            return text

        return formatted

    # Calls

    def _call(self, node: ast.Call, scope: Scope) -> Expression:
        interpreter = self.interpreter
        function = self.expression(node.func, scope)
        arguments = self._elements(node.args, scope)
        keywords = [(keyword.arg, self.expression(keyword.value, scope)) for keyword in node.keywords]
        if not keywords:
            return lambda frame: call(interpreter, function(frame), arguments(frame), {})
        named = [(name, value) for name, value in keywords if name is not None]
        if len(named) == len(keywords):

            def call_named(frame: Frame) -> Any:
                target = function(frame)
                items = arguments(frame)
                return call(interpreter, target, items, {name: value(frame) for name, value in named})

            return call_named

        def call_mapped(frame: Frame) -> Any:
            target = function(frame)
            items = arguments(frame)
            mapping: dict[str, Any] = {}
            for name, value in keywords:
                if name is not None:
                    mapping[name] = value(frame)
                    continue
                other = value(frame)
                if isinstance(other, Unknown):
                    continue
                for key in other.keys():  # noqa: SIM118 (any mapping, as `**` takes)
                    if key in mapping:
                        raise TypeError(f"got multiple values for keyword argument {key!r}")
                    mapping[key] = other[key]
            return call(interpreter, target, items, mapping)

        return call_mapped

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Expression:
        return self.function(node, scope)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope) -> Expression:
        """The closure that makes the function object of a definition."""
        code = self.code(node)
        defaults = [self.expression(default, scope) for default in node.args.defaults]
        keyword_defaults = [
            (argument.arg, self.expression(default, scope))
            for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if default is not None
        ]
        interpreter = self.interpreter

        def make(frame: Frame) -> Function:
            return Function(
                interpreter,
                code,
                frame.globals,
                {name: frame.cells[name] for name in code.free},
                tuple([default(frame) for default in defaults]),
                {name: default(frame) for name, default in keyword_defaults},
            )

        return make

    def code(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Code:
        """What every function object of this definition shares; the statement compiler says how to build the body."""
        raise NotImplementedError

    def _await(self, node: ast.Await, scope: Scope) -> Expression:
        return self.expression(node.value, scope)

    # Targets

    def target(self, node: ast.expr, scope: Scope) -> Store:
        """The closure that assigns a value to a target."""
        if isinstance(node, ast.Name):
            return self.store_name(node.id, scope)
        if isinstance(node, ast.Attribute):
            owner, name = self.expression(node.value, scope), node.attr
            return lambda frame, value: write(owner(frame), name, value)
        if isinstance(node, ast.Subscript):
            container, key = self.expression(node.value, scope), self.expression(node.slice, scope)
            return lambda frame, value: operator.setitem(container(frame), key(frame), value)
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._unpack(node.elts, scope)
        if isinstance(node, ast.Starred):
            return self.target(node.value, scope)
        raise SyntaxError(f"{self.path}:{node.lineno}: cannot assign to {type(node).__name__}")

    def _unpack(self, nodes: list[ast.expr], scope: Scope) -> Store:
        stores = [self.target(node, scope) for node in nodes]
        star = next((index for index, node in enumerate(nodes) if isinstance(node, ast.Starred)), None)
        count = len(stores)
        budget = self.interpreter.budget

        def unpack(frame: Frame, value: Any) -> None:
            if isinstance(value, Unknown):
                for store in stores:
                    store(frame, value)
                return
            items = list(budget.bounded(value))
            del value
            if star is not None:
                after = count - star - 1
                if len(items) < count - 1:
                    raise ValueError(f"not enough values to unpack (expected at least {count - 1}, got {len(items)})")
                middle = items[star : len(items) - after]
                items = [*items[:star], middle, *items[len(items) - after :]]
                del middle
            elif len(items) != count:
                raise ValueError(f"cannot unpack {len(items)} values into {count}")
            items.reverse()
            for store in stores:
                store(frame, items.pop())

        return unpack

    def deletion(self, node: ast.expr, scope: Scope) -> Callable[[Frame], None]:
        """The closure that deletes a target."""
        if isinstance(node, ast.Name):
            return self.delete_name(node.id, scope)
        if isinstance(node, ast.Attribute):
            owner, name = self.expression(node.value, scope), node.attr
            return lambda frame: remove(owner(frame), name)
        if isinstance(node, ast.Subscript):
            container, key = self.expression(node.value, scope), self.expression(node.slice, scope)
            return lambda frame: operator.delitem(container(frame), key(frame))
        if isinstance(node, (ast.Tuple, ast.List)):
            parts = [self.deletion(part, scope) for part in node.elts]

            def delete_all(frame: Frame) -> None:
                for part in parts:
                    part(frame)

            return delete_all
        raise SyntaxError(f"{self.path}:{node.lineno}: cannot delete {type(node).__name__}")


__all__ = ["ExpressionCompiler", "percent"]
