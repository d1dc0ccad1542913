"""The tape: nodes with what they save, and the backward engine in torch's order (highest sequence number first).

A node's ``backward(node, gradient)`` gets the gradient of its output (a list where it has several outputs) and
returns one gradient or None for each of its inputs. It reads ``node.saved`` (tensors) and ``node.context`` (plain
values). Backward functions use ordinary operators, so with ``create_graph`` they record themselves.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from sys import getrefcount
from typing import TYPE_CHECKING, Any

from engine.memory.tensors import machine
from engine.memory.tensors.storage import TensorError

if TYPE_CHECKING:
    from engine.memory.tensors.tensor import Tensor

Gradients = Sequence["Tensor | None"]
Backward = Callable[["Node", Any], Gradients]


class Node:
    """One recorded operation."""

    __slots__ = (
        "__weakref__",
        "backward",
        "context",
        "dtype",
        "edges",
        "hooks",
        "needs",
        "outputs",
        "released",
        "saved",
        "sequence",
        "shape",
    )

    def __init__(
        self,
        backward: Backward,
        edges: list[tuple[Node, int] | None],
        saved: tuple[Any, ...],
        context: Any,
        outputs: int = 1,
    ) -> None:
        state = machine.current
        self.sequence = state.sequence
        state.sequence += 1
        self.backward = backward
        self.edges = edges
        self.saved = saved
        self.context = context
        self.outputs = outputs
        self.released = False
        self.shape: Any = None
        self.dtype: Any = None
        self.hooks: dict[int, list[Callable[..., Any]]] | None = None

    def name(self) -> str:
        return self.backward.__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple((e[0], e[1]) if e else (None, 0) for e in self.edges)

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return RemovableHandle([], hook)

    register_prehook = register_hook


class RemovableHandle:
    """What hook registrations return."""

    def __init__(self, hooks: list[Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        self._hook = hook

    def remove(self) -> None:
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


_LAST = 1 << 62


def _accumulate(node: Node, gradient: Any) -> Gradients:
    raise AssertionError("leaves are handled by the engine")


class Leaf(Node):
    """AccumulateGrad: adds what arrives to ``tensor.grad``."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.sequence = _LAST
        self.backward = _accumulate
        self.edges = []
        self.saved = ()
        self.context = None
        self.outputs = 1
        self.released = False
        self.hooks = None
        self.tensor = tensor
        self.shape = tensor.shape
        self.dtype = tensor.dtype
        hooks = tensor.__dict__.get("_leaf_hooks")
        if hooks:
            self.hooks = {0: hooks}


def edge_of(tensor: Tensor) -> tuple[Node, int] | None:
    """Where the gradient of ``tensor`` goes, or None."""
    node = tensor.grad_fn
    if node is not None:
        return node, tensor.output_index
    if not tensor.requires_grad:
        return None
    reference = tensor.leaf
    leaf = reference() if reference is not None else None
    if leaf is None:
        leaf = Leaf(tensor)
        tensor.leaf = weakref.ref(leaf)
    return leaf, 0


def record(
    out: Tensor, inputs: Sequence[Tensor | None], backward: Backward, saved: tuple[Any, ...] = (), context: Any = None
) -> None:
    """Attach the node of an operation to its output; the caller has checked that gradients are wanted."""
    node = Node(backward, [None if t is None else edge_of(t) for t in inputs], saved, context)
    hooks = machine.current.saved_tensor_hooks
    if hooks and saved:
        pack_saved(node, hooks[-1])
    node.shape = out.shape
    node.dtype = out.dtype
    out.grad_fn = node
    out.output_index = 0
    out.requires_grad = True


def record_many(
    outs: Sequence[Tensor],
    inputs: Sequence[Tensor | None],
    backward: Backward,
    saved: tuple[Any, ...] = (),
    context: Any = None,
) -> Node:
    """The same for an operation with several outputs; ``backward`` gets a list with a gradient or None for each."""
    node = Node(backward, [None if t is None else edge_of(t) for t in inputs], saved, context, len(outs))
    hooks = machine.current.saved_tensor_hooks
    if hooks and saved:
        pack_saved(node, hooks[-1])
    if len(outs) == 1:
        node.outputs = 2  # keeps the list calling convention
    node.shape = [o.shape for o in outs]
    node.dtype = [o.dtype for o in outs]
    for index, out in enumerate(outs):
        if out.dtype.kind >= 2:
            out.grad_fn = node
            out.output_index = index
            out.requires_grad = True
    return node


class Packed:
    """A saved tensor that went through a saved-tensor hook."""

    __slots__ = ("content", "unpack")

    def __init__(self, content: Any, unpack: Callable[..., Any]) -> None:
        self.content = content
        self.unpack = unpack


def pack_saved(node: Node, hooks: tuple[Callable[..., Any], Callable[..., Any]]) -> None:
    """Apply ``saved_tensors_hooks`` to what a node saves (parameters and other leaves included, as in torch)."""
    pack, unpack = hooks
    node.saved = tuple(Packed(pack(s), unpack) if s is not None and hasattr(s, "grad_fn") else s for s in node.saved)


def wants_gradient(*tensors: Any) -> bool:
    """Whether an operation over these has to be recorded."""
    if not machine.current.grad_enabled:
        return False
    return any(t is not None and t.requires_grad for t in tensors)


def _dependencies(roots: list[Node]) -> dict[Node, int]:
    waiting: dict[Node, int] = {}
    seen = set(roots)
    stack = list(seen)
    while stack:
        node = stack.pop()
        for edge in node.edges:
            if edge is not None:
                following = edge[0]
                waiting[following] = waiting.get(following, 0) + 1
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
    return waiting


def _needed_for(roots: list[Node], targets: set[Node]) -> set[Node]:
    """Nodes on a path from a root to a target."""
    needed: set[Node] = set()
    state: dict[Node, bool] = {}
    stack: list[tuple[Node, bool]] = [(r, False) for r in roots]
    while stack:
        node, done = stack.pop()
        if done:
            state[node] = node in targets or any(e is not None and state.get(e[0], False) for e in node.edges)
            if state[node]:
                needed.add(node)
            continue
        if node in state:
            continue
        state[node] = False
        stack.append((node, True))
        for edge in node.edges:
            if edge is not None and edge[0] not in state:
                stack.append((edge[0], False))
    return needed


def run(
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    keep_graph: bool = False,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
    collect: bool = False,
) -> list[Tensor | None]:
    """Backward. With ``collect`` the gradients of ``inputs`` are returned instead of accumulated."""
    from engine.memory.tensors import pointwise

    state = machine.current
    add = pointwise.add
    outer_grad, outer_backward, outer_phase = state.grad_enabled, state.in_backward, state.phase
    outer_autocast, outer_category = state.autocast, state.current_category
    if state.on_backward is not None and not outer_backward:
        state.on_backward("begin")
    buffers: dict[Node, list[Tensor | None]] = {}
    root_nodes: list[Node] = []
    for root, gradient in zip(roots, gradients, strict=True):
        edge = edge_of(root)
        if edge is None:
            raise TensorError("element 0 of tensors does not require grad and does not have a grad_fn")
        node, index = edge
        buffer = buffers.get(node)
        if buffer is None:
            buffer = buffers[node] = [None] * node.outputs
            root_nodes.append(node)
        buffer[index] = gradient if buffer[index] is None else add(buffer[index], gradient)
    del gradient, buffer, gradients
    waiting = _dependencies(root_nodes)
    captured: dict[tuple[Node, int], int] = {}
    results: list[Tensor | None] = []
    needed: set[Node] | None = None
    if inputs is not None:
        results = [None] * len(inputs)
        for position, tensor in enumerate(inputs):
            edge = edge_of(tensor)
            if edge is not None:
                captured[edge] = position
        needed = _needed_for(root_nodes, {e[0] for e in captured})
    captured_nodes = {e[0] for e in captured} if collect else set()
    state.grad_enabled = create_graph
    state.autocast = None
    state.in_backward = True
    state.phase = "backward"
    # Leaves have one sequence number: of those that are ready the first to become so comes first.
    ready: list[tuple[int, int, Node]] = []
    turn = count()
    try:
        for node in root_nodes:
            if waiting.get(node, 0) == 0:
                heappush(ready, (-node.sequence, next(turn), node))
        while ready:
            node = heappop(ready)[2]
            buffer = buffers.pop(node)
            if node in captured_nodes:
                for index in range(node.outputs):
                    where = captured.get((node, index))
                    if where is not None:
                        results[where] = buffer[index]
            if node.hooks:
                for index, hooks in node.hooks.items():
                    if buffer[index] is not None:
                        for hook in list(hooks):
                            changed = hook(buffer[index])
                            if changed is not None:
                                buffer[index] = changed
            if node.sequence == _LAST:
                if not collect and (needed is None or node in captured_now(captured, node)):
                    accumulate(node.tensor, buffer, create_graph)  # type: ignore[attr-defined]
                del buffer
                continue
            if needed is not None and node not in needed:
                gradients_in: Gradients = (None,) * len(node.edges)
            elif (
                collect
                and node in captured_nodes
                and not any(e is not None and needed is not None and e[0] in needed for e in node.edges)
            ):
                gradients_in = (None,) * len(node.edges)
            else:
                gradients_in = _call(node, buffer, create_graph or keep_graph, create_graph)
            del buffer
            for position, edge in enumerate(node.edges):
                if edge is not None:
                    following, index = edge
                    gradient = gradients_in[position]
                    if gradient is not None:
                        target = buffers.get(following)
                        if target is None:
                            target = buffers[following] = [None] * following.outputs
                        if target[index] is None:
                            target[index] = gradient
                        elif state.inplace_accumulation and not create_graph and _sole_owner(target, index):
                            pass
                        else:
                            target[index] = add(target[index], gradient)
                        del target
                    elif following not in buffers:
                        buffers[following] = [None] * following.outputs
                    gradient = None
                    waiting[following] -= 1
                    if waiting[following] == 0:
                        heappush(ready, (-following.sequence, next(turn), following))
            del gradients_in
    finally:
        state.grad_enabled, state.in_backward = outer_grad, outer_backward
        state.autocast = outer_autocast
        state.phase = outer_phase
        state.current_category = outer_category
        if not outer_backward:
            for ending in state.backward_ends:
                ending()
            if state.on_backward is not None:
                state.on_backward("end")
    return results


def captured_now(captured: dict[tuple[Node, int], int], node: Node) -> tuple[Node, ...]:
    return (node,) if (node, 0) in captured else ()


def _sole_owner(target: list[Tensor | None], index: int) -> bool:
    tensor = target[index]
    return tensor is not None and getrefcount(tensor) <= 3 and getrefcount(tensor.storage) <= 2


def _call(node: Node, buffer: list[Tensor | None], keep: bool, create_graph: bool) -> Gradients:
    if node.released:
        raise TensorError("Trying to backward through the graph a second time")
    saved = node.saved
    if saved and (create_graph or any(type(s) is Packed for s in saved)):
        node.saved = tuple(_unpack(s, node, create_graph) for s in saved)
        unpacked = True
    else:
        unpacked = False
    if node.outputs == 1:
        gradient = buffer[0]
        result: Gradients = (None,) * len(node.edges) if gradient is None else node.backward(node, gradient)
    else:
        result = node.backward(node, buffer)
    gradient = None
    result = _validate(node, result)
    if not keep:
        node.saved = ()
        node.released = bool(saved)
    elif unpacked:
        node.saved = saved
    return result


def _validate(node: Node, result: Gradients) -> Gradients:
    """Bring gradients to the shape and dtype of what they belong to, as ``validate_outputs`` does."""
    changed: list[Tensor | None] | None = None
    position = -1
    for edge in node.edges:
        position += 1
        if edge is None:
            continue
        gradient = result[position]
        if gradient is None:
            continue
        following, index = edge
        shape, dtype = following.shape, following.dtype
        if following.outputs > 1:
            shape, dtype = shape[index], dtype[index]
        if gradient.shape != shape or gradient.dtype is not dtype:
            if changed is None:
                changed = list(result)
            if gradient.shape != shape:
                from engine.memory.tensors.broadcasting import sum_to

                gradient = sum_to(gradient, shape)
            if gradient.dtype is not dtype:
                gradient = gradient.to(dtype)
            changed[position] = gradient
    return result if changed is None else changed


def _unpack(saved: Any, node: Node, create_graph: bool) -> Any:
    if type(saved) is Packed:
        return saved.unpack(saved.content)
    if create_graph and saved is not None and getattr(saved, "saved_output", False):
        # An output saved by its own node comes back with its history for double backward.
        fresh = saved.alias()
        fresh.grad_fn = node
        fresh.requires_grad = True
        return fresh
    return saved


def accumulate(tensor: Tensor, buffer: list[Tensor | None], create_graph: bool) -> None:
    """AccumulateGrad: the first gradient is stolen where nobody else holds it and its layout fits."""
    from engine.memory.tensors import casting, pointwise

    gradient = buffer[0]
    buffer[0] = None
    if gradient is None:
        return
    bucket = tensor.__dict__.get("_bucket")
    if bucket is not None and tensor.grad is None:
        from engine.memory.tensors.tensor import Tensor as Kind

        tensor.grad = Kind(tensor.shape, tensor.dtype, bucket, tensor.strides)
    elif tensor.grad is None:
        if (
            not create_graph
            and getrefcount(gradient) <= 2
            and gradient.is_dense()
            and gradient.stride_of() == tensor.stride_of()
        ):
            kept = gradient.alias()
        elif create_graph:
            kept = casting.clone(gradient)
        else:
            kept = gradient.fresh_copy(tensor)
        kept.storage.relabel("gradients")
        tensor.grad = kept
    elif not create_graph:
        pass  # added in place
    else:
        tensor.grad = pointwise.add(tensor.grad, gradient)
    del gradient
    hooks = tensor.__dict__.get("_post_accumulate_hooks")
    if hooks:
        for hook in list(hooks):
            hook(tensor)
