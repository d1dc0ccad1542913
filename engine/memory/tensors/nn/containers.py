"""Modules that hold modules or parameters in order or by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.tensor import Parameter


class Sequential(Module):
    def __init__(self, *args: Any) -> None:
        super().__init__()
        items = (
            args[0].items()
            if len(args) == 1 and isinstance(args[0], dict)
            else ((str(i), m) for i, m in enumerate(args))
        )
        for name, module in items:
            self.add_module(name, module)

    def forward(self, x: Any) -> Any:
        for module in self._modules.values():
            x = module(x)
        return x

    def __getitem__(self, index: Any) -> Any:
        values = list(self._modules.values())
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return values[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self._modules[list(self._modules)[index]] = module

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[index]]:
            del self._modules[name]
        values = list(self._modules.values())
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(values))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def append(self, module: Module) -> Any:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        values = list(self._modules.values())
        values.insert(index, module)
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(values))
        return self

    def pop(self, index: int) -> Any:
        value = self[index]
        del self[index]
        return value


class ModuleList(Sequential):
    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        Module.__init__(self)
        if modules is not None:
            self.extend(modules)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("ModuleList has no forward")

    def __getitem__(self, index: Any) -> Any:
        values = list(self._modules.values())
        return type(self)(values[index]) if isinstance(index, slice) else values[index]

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> Any:
        return ModuleList(chain(self, other))


class ModuleDict(Module):
    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._modules))

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def keys(self) -> Any:
        return self._modules.keys()

    def values(self) -> Any:
        return self._modules.values()

    def items(self) -> Any:
        return self._modules.items()

    def get(self, key: str, default: Any = None) -> Any:
        return self._modules.get(key, default)

    def update(self, modules: Any) -> None:
        for key, module in modules.items() if hasattr(modules, "items") else modules:
            self.add_module(key, module)

    def pop(self, key: str) -> Any:
        return self._modules.pop(key)


class ParameterList(Module):
    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        for value in values or ():
            self.append(value)

    def append(self, value: Any) -> Any:
        index = len(self._parameters)
        self._parameters[str(index)] = value if isinstance(value, Parameter) else Parameter(value)
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        for value in values:
            self.append(value)
        return self

    def __getitem__(self, index: Any) -> Any:
        return list(self._parameters.values())[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._parameters[str(index)] = value

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._parameters.values()))


class ParameterDict(Module):
    def __init__(self, values: Any = None) -> None:
        super().__init__()
        for key, value in (values or {}).items():
            self[key] = value

    def __getitem__(self, key: str) -> Any:
        return self._parameters[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._parameters[key] = value if isinstance(value, Parameter) else Parameter(value)

    def __contains__(self, key: str) -> bool:
        return key in self._parameters

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._parameters))

    def keys(self) -> Any:
        return self._parameters.keys()

    def values(self) -> Any:
        return self._parameters.values()

    def items(self) -> Any:
        return self._parameters.items()
