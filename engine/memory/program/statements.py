"""Statements compiled to closures over a frame."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from engine.memory.program.attributes import read, write
from engine.memory.program.comprehensions import ComprehensionCompiler
from engine.memory.program.exceptions import ExceptionCompiler
from engine.memory.program.frames import BREAK, CONTINUE, RETURN, Expression, Frame, LazyStatement, Signal, Statement
from engine.memory.program.functions import Code
from engine.memory.program.generators import LazyCompiler
from engine.memory.program.loops import LoopWatch
from engine.memory.program.namespaces import Namespace
from engine.memory.program.operators import IN_PLACE
from engine.memory.program.patterns import PatternCompiler
from engine.memory.program.scopes import Scope
from engine.memory.program.unknown import Unknown

_SEQUENCES: tuple[Any, ...] = (range(0), [], (), {}, reversed([]), reversed(range(0)))
_COUNTED: tuple[type, ...] = (*(type(iter(sequence)) for sequence in _SEQUENCES), enumerate, zip)
"""Iterators over something of known length, as a sequence's time steps are."""


def is_tensor_without_data(value: Any) -> bool:
    """Whether a tensor of which only shape and dtype are known."""
    return hasattr(value, "storage") and getattr(value, "values", ()) is None


class StatementCompiler(PatternCompiler, ExceptionCompiler, ComprehensionCompiler):
    """Adds statements, function bodies and class bodies to expressions."""

    def block(self, nodes: Sequence[ast.stmt], scope: Scope) -> Statement:
        """The closure of a list of statements."""
        compiled = [self.statement(node, scope) for node in nodes]
        if len(compiled) == 1:
            return compiled[0]

        def run(frame: Frame) -> Signal | None:
            for statement in compiled:
                signal = statement(frame)
                if signal is not None:
                    return signal
            return None

        return run

    def statement(self, node: ast.stmt, scope: Scope) -> Statement:
        """The closure of one statement."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        line = node.lineno
        if method is None:
            self.interpreter.note(f"{self.path}:{line}: {type(node).__name__} is not interpreted")
            return lambda frame: None
        body: Statement = method(node, scope)
        step = self.interpreter.budget.step

        def run(frame: Frame) -> Signal | None:
            frame.line = line
            step()
            return body(frame)

        return run

    # Simple statements

    def _expr(self, node: ast.Expr, scope: Scope) -> Statement:
        if isinstance(node.value, ast.Constant):
            return lambda frame: None
        value = self.expression(node.value, scope)
        interpreter, path, line = self.interpreter, self.path, node.lineno

        def run(frame: Frame) -> None:
            try:
                value(frame)
            except Exception as problem:
                if not interpreter.tolerates(problem, path, line):
                    raise

        return run

    def _assign(self, node: ast.Assign, scope: Scope) -> Statement:
        value = self.expression(node.value, scope)
        interpreter, path, line = self.interpreter, self.path, node.lineno
        stores = [self.target(target, scope) for target in node.targets]
        if len(stores) == 1:
            store = stores[0]
            if isinstance(node.value, ast.Call):

                def run_call(frame: Frame) -> None:
                    try:
                        store(frame, value(frame))
                    except Exception as problem:
                        if not interpreter.tolerates(problem, path, line):
                            raise
                        store(frame, Unknown(f"{path}:{line}: {problem}"))

                return run_call
            return lambda frame: store(frame, value(frame))

        def run(frame: Frame) -> None:
            result = value(frame)
            for target in stores:
                target(frame, result)

        return run

    def _annassign(self, node: ast.AnnAssign, scope: Scope) -> Statement:
        annotate = None
        if scope.kind in ("class", "module") and isinstance(node.target, ast.Name):
            name, annotation = node.target.id, self.annotation(node.annotation, scope)

            def annotate(frame: Frame) -> None:
                frame.locals.setdefault("__annotations__", {})[name] = annotation(frame)

        store = self.target(node.target, scope) if node.value is not None else None
        value = self.expression(node.value, scope) if node.value is not None else None

        def run(frame: Frame) -> None:
            if value is not None and store is not None:
                store(frame, value(frame))
            if annotate is not None:
                annotate(frame)

        return run

    def annotation(self, node: ast.expr, scope: Scope) -> Expression:
        """The annotation's value, or its text where it cannot be evaluated."""
        value = self.expression(node, scope)
        text = ast.unparse(node)

        def annotated(frame: Frame) -> Any:
            try:
                result = value(frame)
            except Exception:
                return text
            return text if isinstance(result, Unknown) else result

        return annotated

    def _augassign(self, node: ast.AugAssign, scope: Scope) -> Statement:
        apply = IN_PLACE[type(node.op)]
        value = self.expression(node.value, scope)
        target = node.target
        if isinstance(target, ast.Name):
            load, store = self.load(target.id, scope), self.store_name(target.id, scope)
            return lambda frame: store(frame, apply(load(frame), value(frame)))
        owner = self.expression(target.value, scope)
        if isinstance(target, ast.Attribute):
            name = target.attr

            def run_attribute(frame: Frame) -> None:
                holder = owner(frame)
                write(holder, name, apply(read(holder, name), value(frame)))

            return run_attribute
        key = self.expression(target.slice, scope)

        def run_subscript(frame: Frame) -> None:
            holder, index = owner(frame), key(frame)
            holder[index] = apply(holder[index], value(frame))

        return run_subscript

    def _delete(self, node: ast.Delete, scope: Scope) -> Statement:
        parts = [self.deletion(target, scope) for target in node.targets]

        def run(frame: Frame) -> None:
            for part in parts:
                part(frame)

        return run

    def _pass(self, node: ast.Pass, scope: Scope) -> Statement:
        return lambda frame: None

    def _global(self, node: ast.Global, scope: Scope) -> Statement:
        return lambda frame: None

    _nonlocal = _global

    def _break(self, node: ast.Break, scope: Scope) -> Statement:
        return lambda frame: BREAK

    def _continue(self, node: ast.Continue, scope: Scope) -> Statement:
        return lambda frame: CONTINUE

    def _return(self, node: ast.Return, scope: Scope) -> Statement:
        if node.value is None:
            return lambda frame: RETURN
        value = self.expression(node.value, scope)

        def run(frame: Frame) -> Signal:
            frame.result = value(frame)
            return RETURN

        return run

    def _raise(self, node: ast.Raise, scope: Scope) -> Statement:
        value = None if node.exc is None else self.expression(node.exc, scope)

        def run(frame: Frame) -> Signal | None:
            problem = frame.handled if value is None else value(frame)
            if isinstance(problem, type):
                problem = problem()
            if not isinstance(problem, BaseException):
                raise RuntimeError("exceptions must derive from BaseException")
            problem.preflight_raised = True  # type: ignore[attr-defined]
            raise problem

        return run

    def _assert(self, node: ast.Assert, scope: Scope) -> Statement:
        test = self.expression(node.test, scope)
        message = None if node.msg is None else self.expression(node.msg, scope)
        demanded = self._demanded_version(node.test, scope)

        def run(frame: Frame) -> None:
            if demanded is not None:
                demanded(frame)
            result = test(frame)
            # An assertion about the data of a tensor that has none is taken to hold.
            if not result and not isinstance(result, Unknown) and not is_tensor_without_data(result):
                raise AssertionError(message(frame) if message is not None else "")

        return run

    def _demanded_version(self, test: ast.expr, scope: Scope) -> Statement | None:
        """`assert package.__version__ == "0.3.2"`: where the program runs at all, that version is installed."""
        match test:
            case ast.Compare(
                left=ast.Attribute(value=ast.Name() as package, attr="__version__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=str() as version)],
            ):
                module = self.expression(package, scope)
            case _:
                return None

        def run(frame: Frame) -> None:
            found = module(frame)
            if isinstance(found, Namespace):
                found.__version__ = version

        return run

    def _import(self, node: ast.Import, scope: Scope) -> Statement:
        interpreter, path, guarded = self.interpreter, self.path, self.guarded > 0
        names = [
            (alias.name, alias.asname, self.store_name(alias.asname or alias.name.split(".")[0], scope))
            for alias in node.names
        ]

        def run(frame: Frame) -> None:
            for name, alias, store in names:
                store(frame, interpreter.import_module(name, path, guarded, whole=alias is not None))

        return run

    def _importfrom(self, node: ast.ImportFrom, scope: Scope) -> Statement:
        interpreter, path, guarded = self.interpreter, self.path, self.guarded > 0
        module, level = node.module or "", node.level
        if module == "__future__":
            return lambda frame: None
        names = [
            (alias.name, self.store_name(alias.asname or alias.name, scope))
            for alias in node.names
            if alias.name != "*"
        ]
        star = len(names) < len(node.names)

        def run(frame: Frame) -> None:
            for name, store in names:
                store(frame, interpreter.import_name(module, name, path, level, guarded))
            if star:
                for name, value in interpreter.import_all(module, path, level, guarded).items():
                    frame.locals[name] = value

        return run

    # Compound statements

    def _if(self, node: ast.If, scope: Scope) -> Statement:
        test, body = self.expression(node.test, scope), self.block(node.body, scope)
        otherwise = self.block(node.orelse, scope) if node.orelse else None
        if otherwise is None:
            return lambda frame: body(frame) if test(frame) else None
        return lambda frame: body(frame) if test(frame) else otherwise(frame)

    def _for(self, node: ast.For, scope: Scope) -> Statement:
        items, store = self.expression(node.iter, scope), self.target(node.target, scope)
        body = self.block(node.body, scope)
        otherwise = self.block(node.orelse, scope) if node.orelse else None
        interpreter, step, place = self.interpreter, self.interpreter.budget.step, f"{self.path}:{node.lineno}"

        def run(frame: Frame) -> Signal | None:
            iterator = iter(items(frame))
            watch = LoopWatch(interpreter, place, endless=not isinstance(iterator, _COUNTED))
            while True:
                try:
                    store(frame, next(iterator))
                except StopIteration:
                    break
                step()
                signal = body(frame)
                if signal is BREAK:
                    return None
                if signal is RETURN:
                    return signal
                if watch.settled():
                    break
            return otherwise(frame) if otherwise is not None else None

        return run

    _asyncfor = _for

    def _while(self, node: ast.While, scope: Scope) -> Statement:
        test, body = self.expression(node.test, scope), self.block(node.body, scope)
        otherwise = self.block(node.orelse, scope) if node.orelse else None
        interpreter, step, place = self.interpreter, self.interpreter.budget.step, f"{self.path}:{node.lineno}"

        def run(frame: Frame) -> Signal | None:
            watch = LoopWatch(interpreter, place, endless=True)
            while test(frame):
                step()
                signal = body(frame)
                if signal is BREAK:
                    return None
                if signal is RETURN:
                    return signal
                if watch.settled():
                    break
            return otherwise(frame) if otherwise is not None else None

        return run

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> Statement:
        run = self.block(node.body, scope)
        for item in reversed(node.items):
            run = self._managed(item, run, scope)
        return run

    _asyncwith = _with

    def _managed(self, item: ast.withitem, body: Statement, scope: Scope) -> Statement:
        manager = self.expression(item.context_expr, scope)
        store = self.target(item.optional_vars, scope) if item.optional_vars is not None else None

        def run(frame: Frame) -> Signal | None:
            with manager(frame) as value:
                if store is not None:
                    store(frame, value)
                del value
                return body(frame)
            return None

        return run

    # Definitions

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Statement:
        make, store = self.function(node, scope), self.store_name(node.name, scope)
        decorators = [self.expression(decorator, scope) for decorator in node.decorator_list]
        interpreter = self.interpreter

        def run(frame: Frame) -> None:
            wrappers = [decorator(frame) for decorator in decorators]
            value: Any = make(frame)
            for wrapper in reversed(wrappers):
                value = interpreter.call(wrapper, [value], {})
            store(frame, value)

        return run

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef, scope: Scope) -> Statement:
        inner = self.scopes[node]
        self.qualifier.append(node.name)
        qualified = ".".join(self.qualifier)
        body = self.block(node.body, inner)
        self.qualifier.pop()
        bases = self._elements(node.bases, scope)
        keywords = [(keyword.arg, self.expression(keyword.value, scope)) for keyword in node.keywords if keyword.arg]
        decorators = [self.expression(decorator, scope) for decorator in node.decorator_list]
        store = self.store_name(node.name, scope)
        interpreter, free, has_class_cell = self.interpreter, tuple(inner.free), "__class__" in inner.cells
        doc = ast.get_docstring(node)
        name, path, line = node.name, self.path, node.lineno

        def run(frame: Frame) -> None:
            wrappers = [decorator(frame) for decorator in decorators]
            cells = {key: frame.cells[key] for key in free}
            value = interpreter.define_class(
                name,
                qualified,
                bases(frame),
                {key: item(frame) for key, item in keywords},
                body,
                frame.globals,
                cells,
                has_class_cell,
                doc,
                f"{path}:{line}",
            )
            for wrapper in reversed(wrappers):
                value = interpreter.call(wrapper, [value], {})
            store(frame, value)

        return run

    def code(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Code:
        """What every function object of this definition shares."""
        scope = self.scopes[node]
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        arguments = node.args
        positional = tuple(argument.arg for argument in (*arguments.posonlyargs, *arguments.args))
        annotations = {
            argument.arg: ast.unparse(argument.annotation)
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if argument.annotation is not None
        }
        qualifier = list(self.qualifier)

        def build() -> Statement:
            if isinstance(node, ast.Lambda):
                value = self.expression(node.body, scope)

                def evaluate(frame: Frame) -> Signal:
                    frame.result = value(frame)
                    return RETURN

                return evaluate
            saved, self.qualifier = self.qualifier, [*qualifier, name, "<locals>"]
            try:
                return self.block(node.body, scope)
            finally:
                self.qualifier = saved

        def build_lazy() -> LazyStatement:
            assert not isinstance(node, ast.Lambda)
            return LazyCompiler(self).block(node.body, scope)

        return Code(
            name=name,
            qualified_name=".".join([*self.qualifier, name]),
            path=self.path,
            line=node.lineno,
            positional=positional,
            positional_only=len(arguments.posonlyargs),
            keyword_only=tuple(argument.arg for argument in arguments.kwonlyargs),
            variadic=arguments.vararg.arg if arguments.vararg else None,
            keywords=arguments.kwarg.arg if arguments.kwarg else None,
            own_cells=tuple(scope.cells),
            free=tuple(scope.free),
            build=build,
            build_lazy=build_lazy if scope.is_generator and not isinstance(node, ast.Lambda) else None,
            doc=None if isinstance(node, ast.Lambda) else ast.get_docstring(node),
            annotations=annotations,
        )
