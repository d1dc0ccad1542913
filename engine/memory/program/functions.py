"""Functions of the program: binding of arguments, calls, and generators."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from types import MethodType
from typing import TYPE_CHECKING, Any

from engine.memory.program.frames import RETURN, Cell, Frame, LazyStatement, Statement

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


@dataclass(eq=False)
class Code:
    """A compiled function body, shared by every function object made from it. The body is compiled at the first call."""  # noqa: E501

    name: str
    qualified_name: str
    path: str
    line: int
    positional: tuple[str, ...]
    positional_only: int
    keyword_only: tuple[str, ...]
    variadic: str | None
    keywords: str | None
    own_cells: tuple[str, ...]
    free: tuple[str, ...]
    build: Callable[[], Statement]
    build_lazy: Callable[[], LazyStatement] | None
    doc: str | None = None
    annotations: dict[str, str] = field(default_factory=dict)
    body: Statement | None = None
    lazy_body: LazyStatement | None = None


class Function:
    """A function of the program. Called by host code as any callable, and by the interpreter through `invoke`."""

    is_program_function = True

    def __init__(
        self,
        interpreter: Interpreter,
        code: Code,
        global_variables: dict[str, Any],
        cells: dict[str, Cell],
        defaults: tuple[Any, ...],
        keyword_defaults: dict[str, Any],
    ) -> None:
        self.preflight_interpreter = interpreter
        self.preflight_code = code
        self.preflight_globals = global_variables
        self.preflight_cells = cells
        self.preflight_defaults = defaults
        self.preflight_keyword_defaults = keyword_defaults
        self.__name__ = code.name
        self.__qualname__ = code.qualified_name
        self.__module__ = str(global_variables.get("__name__", "__main__"))
        self.__doc__ = code.doc

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __deepcopy__(self, memo: Any) -> Function:
        return self

    def __copy__(self) -> Function:
        return self

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        items = list(args)
        del args
        return self.invoke(items, kwargs)

    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters that can be given by name."""
        code = self.preflight_code
        return code.positional[code.positional_only :] + code.keyword_only

    def invoke(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call with `args`, which is emptied, so that the callee alone holds what its caller no longer names."""
        interpreter = self.preflight_interpreter
        interpreter.budget.step()
        code = self.preflight_code
        variables = self._bind(code, args, kwargs)
        args.clear()
        cells = self.preflight_cells
        if code.own_cells:
            cells = dict(cells)
            for name in code.own_cells:
                cell = cells[name] = Cell()
                if name in variables:
                    cell.set(variables.pop(name))
        frame = Frame(variables, self.preflight_globals, cells)
        if code.positional:
            frame.first_argument = code.positional[0]
        if code.build_lazy is not None:
            return self._generate(code, frame)
        body = code.body
        if body is None:
            body = code.body = code.build()
        interpreter.enter(code, frame)
        try:
            if body(frame) is RETURN:
                return frame.result
            return None
        except Exception as problem:
            interpreter.locate(problem, code.path, frame.line)
            raise
        finally:
            interpreter.leave()

    def _generate(self, code: Code, frame: Frame) -> Generator[Any, Any, Any]:
        assert code.build_lazy is not None
        body = code.lazy_body
        if body is None:
            body = code.lazy_body = code.build_lazy()
        try:
            signal = yield from body(frame)
        except StopIteration as stop:
            raise RuntimeError("generator raised StopIteration") from stop
        return frame.result if signal is RETURN else None

    def _bind(self, code: Code, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = code.positional
        count = len(args)
        variables: dict[str, Any] = dict(zip(names, args, strict=False))
        if count > len(names):
            if code.variadic is None:
                raise TypeError(f"{code.name}() takes {len(names)} positional arguments but {count} were given")
            variables[code.variadic] = tuple(args[len(names) :])
        elif code.variadic is not None:
            variables[code.variadic] = ()
        extra: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name in code.keyword_only:
                variables[name] = value
            elif name in names and names.index(name) >= code.positional_only:
                if names.index(name) < count:
                    raise TypeError(f"{code.name}() got multiple values for argument {name!r}")
                variables[name] = value
            elif code.keywords is not None:
                extra[name] = value
            else:
                raise TypeError(f"{code.name}() got an unexpected keyword argument {name!r}")
        if code.keywords is not None:
            variables[code.keywords] = extra
        if count < len(names):
            first_default = len(names) - len(self.preflight_defaults)
            for index in range(count, len(names)):
                if names[index] not in variables:
                    if index < first_default:
                        raise TypeError(f"{code.name}() missing required argument {names[index]!r}")
                    variables[names[index]] = self.preflight_defaults[index - first_default]
        for name in code.keyword_only:
            if name not in variables:
                if name not in self.preflight_keyword_defaults:
                    raise TypeError(f"{code.name}() missing required keyword argument {name!r}")
                variables[name] = self.preflight_keyword_defaults[name]
        return variables
