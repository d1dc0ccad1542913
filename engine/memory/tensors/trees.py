"""``torch.utils._pytree``: nested containers of tensors as flat lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class TreeSpec:
    """How to put the leaves back."""

    def __init__(self, kind: Any, keys: Any, children: list[TreeSpec]) -> None:
        self.kind, self.keys, self.children = kind, keys, children


LEAF = TreeSpec(None, None, [])


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    if isinstance(tree, dict):
        keys: Any = list(tree)
        parts = [tree[k] for k in keys]
    elif type(tree) in (list, tuple) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        keys, parts = None, list(tree)
    else:
        return [tree], LEAF
    leaves: list[Any] = []
    children = []
    for part in parts:
        found, spec = tree_flatten(part, is_leaf)
        leaves += found
        children.append(spec)
    return leaves, TreeSpec(type(tree), keys, children)


def tree_unflatten(leaves: Any, spec: TreeSpec) -> Any:
    return _rebuild(iter(leaves), spec)


def _rebuild(leaves: Any, spec: TreeSpec) -> Any:
    if spec.kind is None:
        return next(leaves)
    parts = [_rebuild(leaves, child) for child in spec.children]
    if spec.keys is not None:
        return spec.kind(zip(spec.keys, parts, strict=True))
    return spec.kind(*parts) if hasattr(spec.kind, "_fields") else spec.kind(parts)


def tree_map(function: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    leaves, spec = tree_flatten(tree)
    others = [tree_flatten(r)[0] for r in rests]
    return tree_unflatten([function(*row) for row in zip(leaves, *others, strict=True)], spec)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    return tree_flatten(tree)[0]


def tree_map_only(kinds: Any, function: Callable[..., Any], tree: Any) -> Any:
    return tree_map(lambda x: function(x) if isinstance(x, kinds) else x, tree)


PYTREE: dict[str, Any] = {
    "tree_flatten": tree_flatten,
    "tree_unflatten": tree_unflatten,
    "tree_map": tree_map,
    "tree_leaves": tree_leaves,
    "tree_map_only": tree_map_only,
    "TreeSpec": TreeSpec,
}
