"""Where a value of the configuration was written: the observed value, found again under a name that means it."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.findings import Setting

if TYPE_CHECKING:
    from engine.project import Project

NAMES: Mapping[str, str] = {
    "batch_size": r"(micro_?|train_?|per_device_(train|eval)_?|per_gpu_)*(batch(_?size)?|bs|bsz)(_per_(gpu|device))?|samples_per_gpu|n_batch",  # noqa: E501
    "sequence_length": r"(max_?)?(seq(uence)?|block|ctx|context|model_max)(_?(len(gth)?|size))?|max_len(gth)?|seqlen|n_ctx|n_positions",  # noqa: E501
    "image_size": r"(img|image|input|crop)(_?size|_?res(olution)?)?|resolution|res|size|IMG",
    "precision": r"(mixed_)?precision|fp16|bf16|(torch_|weight_|compute_)?dtype|amp(_dtype)?|use_amp|half",
    "optimizer": r"optim(izer)?(_name|_type)?|opt",
    "accumulation_steps": r"(grad(ient)?_?)?acc(um(ulat(ion|e))?)?(_?(steps|iter(ation)?s|grad_batches))?",
    "gradient_checkpointing": r"(use_?|grad(ient)?_?|activation_?)*checkpoint(ing)?(_enable)?|set_grad_checkpointing",
    "attention": r"_?attn(_impl(ementation)?)?|use_flash_attention(_2)?|attention",
    "world_size": r"world_?size|nproc_per_node|num_processes|devices|gpus|n_gpu",
    "sharding": r"strategy|sharding(_strategy)?|zero_stage|stage|fsdp|deepspeed",
    "lora_rank": r"(lora_)?(r|rank)|lora_r",
    "quantization": r"load_in_[48]bit|bits|quantization(_config)?|bnb_4bit_quant_type",
    "offload": r"offload\w*|cpu_offload",
    "max_new_tokens": r"max_new_tokens|max_length|new_tokens|n_new",
}
"""How programs call each value."""


@dataclass(frozen=True)
class Place:
    """A literal in a file: its line, its node where the file is Python, and how well its name fits (0 is best)."""

    path: str
    line: int
    node: ast.Constant | None
    rank: int


def _pattern(key: str) -> re.Pattern[str]:
    # Options are written with dashes where attributes have underscores.
    return re.compile(rf"-*({NAMES[key].replace('_', '[_-]')})", re.IGNORECASE)


def _named_literals(tree: ast.Module) -> Iterable[tuple[str, ast.expr]]:
    """Every expression that stands under a name: assignments, fields, keywords, defaults, dictionary keys, options."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, (ast.Name, ast.Attribute)):
                    yield target.id if isinstance(target, ast.Name) else target.attr, node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for part, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(part, ast.Name):
                            yield part.id, value
        elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            yield node.target.id, node.value
        elif isinstance(node, ast.Call):
            first = node.args[0] if node.args else None
            option = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
            if option is not None:
                for keyword in node.keywords:
                    if keyword.arg == "default":
                        yield option.lstrip("-").replace("-", "_"), keyword.value
                if len(node.args) > 1:
                    yield option, node.args[1]
            for keyword in node.keywords:
                if keyword.arg:
                    yield keyword.arg, keyword.value
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = node.args.args
            for argument, default in zip(
                arguments[len(arguments) - len(node.args.defaults) :], node.args.defaults, strict=True
            ):
                yield argument.arg, default
            for argument, maybe in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
                if maybe is not None:
                    yield argument.arg, maybe
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value


def find_literal(project: Project, files: Iterable[str], key: str, value: Any) -> Place | None:
    """The literal `value` under a name that means `key`, best name first."""
    pattern = _pattern(key)
    best: Place | None = None
    for path in dict.fromkeys(files):
        try:
            tree = project.module(path).tree
        except Exception:
            continue
        for name, expression in _named_literals(tree):
            match = pattern.match(name)
            if match is None:
                continue
            written = _constant(expression)
            if written is None or written != value or isinstance(value, bool) != isinstance(written, bool):
                continue
            rank = 0 if match.end() == len(name) else 1
            if best is None or rank < best.rank:
                literal = expression if isinstance(expression, ast.Constant) else None
                best = Place(path, expression.lineno, literal, rank)
    return best


_WHOLE_NUMBERS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def _constant(expression: ast.expr) -> Any:
    """The value of a literal, or of a sum or product of whole numbers (`5 * 8`)."""
    if isinstance(expression, ast.Constant):
        return expression.value
    if isinstance(expression, ast.BinOp) and type(expression.op) in _WHOLE_NUMBERS:
        left, right = _constant(expression.left), _constant(expression.right)
        if isinstance(left, int) and isinstance(right, int):
            return _WHOLE_NUMBERS[type(expression.op)](left, right)
    return None


def find_mention(project: Project, files: Iterable[str], key: str, value: Any) -> Place | None:
    """A line of a configuration file or launch script that gives `key` this value."""
    text = re.escape(str(value))
    pattern = re.compile(rf"(?<![\w]){_pattern(key).pattern}[\"']?\s*[:=\s]\s*[\"']?{text}(?![\w.])", re.IGNORECASE)
    for path in dict.fromkeys(files):
        try:
            lines = project.read_text(path).splitlines()
        except Exception:
            continue
        for number, line in enumerate(lines, 1):
            if pattern.search(line):
                return Place(path, number, None, 0)
    return None


_MADE_UP = frozenset({"rand", "randn", "randint"})
_DIMENSIONS: Mapping[str, int] = {"batch_size": 0, "sequence_length": 1}


def find_in_shape(project: Project, files: Iterable[str], key: str, value: Any) -> Place | None:
    """`value` as a literal in the shape of made-up input: `torch.randint(0, 50257, (8, 1024))`, batch first."""
    dimension = _DIMENSIONS.get(key)
    if dimension is None:
        return None
    for path in dict.fromkeys(files):
        try:
            tree = project.module(path).tree
        except Exception:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MADE_UP:
                sizes = [keyword.value for keyword in node.keywords if keyword.arg == "size"]
                given = [part for part in (*node.args, *sizes) if isinstance(part, (ast.Tuple, ast.List))]
                shape = given[-1].elts if given else node.args if node.func.attr != "randint" else []
                if len(shape) > dimension and _constant(shape[dimension]) == value:
                    return Place(path, shape[dimension].lineno, None, 1)
    return None


def locate(
    project: Project, python_files: Iterable[str], other_files: Iterable[str], key: str, value: Any, **shown: Any
) -> Setting:
    """`value` as a setting: with its place where it is written somewhere, else assumed."""
    if value is None or key not in NAMES:
        return Setting(value=value, assumed=True)
    sought = shown.get("literal", value)
    python_files = tuple(python_files)
    place = find_mention(project, other_files, key, sought) or find_literal(project, python_files, key, sought)
    place = place or find_in_shape(project, python_files, key, sought)
    if place is None:
        return Setting(value=value, assumed=True)
    return Setting(value=value, path=place.path, line=place.line)


PRECISION_WORDS: Mapping[str, str] = {
    "amp-fp16": r"fp16|float16|autocast|16-mixed|half",
    "amp-bf16": r"bf16|bfloat16|autocast",
    "pure-fp16": r"float16|half\(|fp16|16-true",
    "pure-bf16": r"bfloat16|bf16",
    "fp32": r"float32|fp32|32-true",
}


def locate_word(project: Project, files: Iterable[str], value: Any, words: str) -> Setting:
    """A setting found by the words that bring it about (a call, a dtype), else assumed."""
    pattern = re.compile(words, re.IGNORECASE)
    for path in dict.fromkeys(files):
        try:
            # A notebook's own text holds its outputs too.
            notebook = path.endswith(".ipynb")
            lines = project.module(path).lines if notebook else project.read_text(path).splitlines()
            prose = _prose_lines(project, path)
        except Exception:
            continue
        for number, line in enumerate(lines, 1):
            if number not in prose and pattern.search(line.split("#")[0]):
                return Setting(value=value, path=path, line=number)
    return Setting(value=value, assumed=True)


def _prose_lines(project: Project, path: str) -> frozenset[int]:
    """Lines of docstrings and other texts that stand alone: they speak of settings, and set none."""
    if not path.endswith((".py", ".ipynb")):
        return frozenset()
    return frozenset(
        line
        for node in ast.walk(project.module(path).tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )
