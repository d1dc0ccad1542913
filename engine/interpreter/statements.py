"""Executing statements: bodies, expressions, jumps, definitions and `with`; which statement is whose."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from engine.interpreter.branches import Branches
from engine.interpreter.state import Flow, WithBody
from engine.trace import events
from engine.trace.places import Context
from engine.trace.values import Choice, Value


class Statements(Branches):
    """`execute`."""

    def import_statement(self, node: ast.Import | ast.ImportFrom) -> None:
        raise NotImplementedError

    def define_class(self, node: ast.ClassDef) -> None:
        raise NotImplementedError

    def define_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        raise NotImplementedError

    def enter_context(self, value: Value, node: ast.AST) -> tuple[Context | None, Value]:
        raise NotImplementedError

    def execute(self, body: Sequence[ast.stmt]) -> str:
        base = len(self.guards)
        flow = Flow.NORMAL
        for statement in body:
            self.spend()
            method = _DISPATCH.get(type(statement))
            if method is None:
                continue
            flow = method(self, statement)
            if flow != Flow.NORMAL:
                break
        del self.guards[base:]
        return flow

    # ---- simple statements ---------------------------------------------------------------------------------------

    def _expression(self, node: ast.Expr) -> str:
        value = node.value
        if isinstance(value, ast.Call):
            self.evaluate_call(value, discarded=True)
        elif isinstance(value, ast.Attribute):
            receiver = self.evaluate(value.value)
            # Named and not called, it still tells what the receiver is.
            receiver.use(value.attr)
            self.emit(events.Referenced, value, receiver=receiver, attribute=value.attr)
        elif not isinstance(value, ast.Constant):
            self.evaluate(value)
        return Flow.NORMAL

    def _delete(self, node: ast.Delete) -> str:
        for target in node.targets:
            if isinstance(target, ast.Name):
                old = self.frame.env.get(target.id)
                if old is not None:
                    self.mark_reset(old)
                    self._released(old, node)
            elif isinstance(target, ast.Subscript):
                held = self.evaluate(target.value)
                self.mark_reset(held)
        return Flow.NORMAL

    def _return(self, node: ast.Return) -> str:
        value = self.evaluate(node.value) if node.value is not None else self.constant(node, None)
        self.emit(events.Return, node, value=value if node.value is not None else None)
        self.frame.returned.append(value)
        self.frame.return_states.append(self.snapshot())
        return Flow.RETURN

    def _raise(self, node: ast.Raise) -> str:
        return Flow.RAISE

    def _break(self, node: ast.Break) -> str:
        if self.loops:
            self.loops[-1].breaks = True
        if self.frame.loop_exits:
            self.frame.loop_exits[-1].append(self.snapshot())
        return Flow.BREAK

    def _continue(self, node: ast.Continue) -> str:
        if self.frame.loop_continues:
            self.frame.loop_continues[-1].append(self.snapshot())
        return Flow.CONTINUE

    def _global(self, node: ast.Global) -> str:
        self.frame.declared_global.update(node.names)
        return Flow.NORMAL

    def _nonlocal(self, node: ast.Nonlocal) -> str:
        self.frame.declared_nonlocal.update(node.names)
        return Flow.NORMAL

    def _assert(self, node: ast.Assert) -> str:
        value = self.evaluate(node.test)
        self.condition_sync(value, node.test)
        return Flow.NORMAL

    def _import(self, node: ast.Import | ast.ImportFrom) -> str:
        self.import_statement(node)
        return Flow.NORMAL

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        self.define_function(node)
        return Flow.NORMAL

    def _class(self, node: ast.ClassDef) -> str:
        self.define_class(node)
        return Flow.NORMAL

    # ---- with ----------------------------------------------------------------------------------------------------

    def _with(self, node: ast.With | ast.AsyncWith) -> str:
        return self._with_items(node, 0)

    def _with_items(self, node: ast.With | ast.AsyncWith, first: int) -> str:
        """The items from `first` on, and the body in what they enter."""
        contexts, grad = len(self.contexts), self.grad
        for position, item in enumerate(node.items[first:], first):
            waiting = WithBody(item.context_expr, len(self.frames), len(self.stack))
            waiting.play = self._body_player(node, position)
            self.with_bodies.append(waiting)
            value = self.evaluate(item.context_expr)
            self.with_bodies.pop()
            if waiting.flow is not None:
                # A generator of the project has played the rest at its `yield`.
                del self.contexts[contexts:]
                self.grad = grad
                return waiting.flow
            entered: Value = value
            for option in value.options():
                context, entered = self.enter_context(option, item.context_expr)
                if context is not None:
                    if isinstance(value, Choice):
                        context = Context(context.kind, context.place, None, context.value, context.dtype, context.text)
                    self.contexts.append(context)
                    self._apply_grad(context)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered, node)
        flow = self.execute(node.body)
        del self.contexts[contexts:]
        self.grad = grad
        return flow

    def _body_player(self, node: ast.With | ast.AsyncWith, position: int) -> Callable[[Value], str]:
        def play(entered: Value) -> str:
            target = node.items[position].optional_vars
            if target is not None:
                self.assign(target, entered, node)
            return self._with_items(node, position + 1)

        return play

    def _apply_grad(self, context: Context) -> None:
        if context.kind in ("no_grad", "inference_mode"):
            self.grad = False if context.enabled else (self.grad if context.enabled is False else None)
        elif context.kind == "enable_grad":
            self.grad = True
        elif context.kind == "set_grad_enabled":
            self.grad = context.enabled


_DISPATCH: dict[type[ast.stmt], Callable[[Any, Any], str]] = {
    ast.Expr: Statements._expression,
    ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented,
    ast.Delete: Statements._delete,
    ast.Return: Statements._return,
    ast.Raise: Statements._raise,
    ast.Break: Statements._break,
    ast.Continue: Statements._continue,
    ast.Global: Statements._global,
    ast.Nonlocal: Statements._nonlocal,
    ast.Assert: Statements._assert,
    ast.Import: Statements._import,
    ast.ImportFrom: Statements._import,
    ast.FunctionDef: Statements._function,
    ast.AsyncFunctionDef: Statements._function,
    ast.ClassDef: Statements._class,
    ast.If: Statements._if,
    ast.Match: Statements._match,
    ast.Try: Statements._try,
    ast.TryStar: Statements._try,
    ast.With: Statements._with,
    ast.AsyncWith: Statements._with,
    ast.For: Statements._for,
    ast.AsyncFor: Statements._for,
    ast.While: Statements._while,
}
