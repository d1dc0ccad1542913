"""How a recipe's program steps: its optimizer, and how many micro-batches of a step are played."""

from __future__ import annotations

from collections.abc import Mapping

from engine.memory.trainers.recipes import Recipe

MOST_MICRO_BATCHES = 3
"""Micro-batches of a step that a loop plays: from the third on each repeats the second."""
_OPTIMIZERS: Mapping[str, tuple[str, str]] = {
    "adamw_torch": ("torch.optim.AdamW", ""),
    "adamw_torch_fused": ("torch.optim.AdamW", ", fused=True"),
    "adam": ("torch.optim.Adam", ""),
    "sgd": ("torch.optim.SGD", ""),
    "sgd_momentum": ("torch.optim.SGD", ", momentum=0.9"),
    "adamw_bnb_8bit": ("bitsandbytes.optim.AdamW8bit", ""),
    "adamw_torch_8bit": ("torchao.optim.AdamW8bit", ""),
    "adamw_torch_4bit": ("torchao.optim.AdamW4bit", ""),
    "paged_adamw_8bit": ("bitsandbytes.optim.PagedAdamW8bit", ""),
    "paged_adamw_32bit": ("bitsandbytes.optim.PagedAdamW32bit", ""),
    "adafactor": ("transformers.Adafactor", ""),
}
"""Constructor and further arguments by transformers' name."""


def optimizer_lines(recipe: Recipe) -> list[str]:
    """The optimizer of the trained parameters, or one a parameter that steps in backward."""
    name, further = _OPTIMIZERS.get(recipe.optimizer, _OPTIMIZERS["adamw_torch"])
    lines = [f"import {name.rpartition('.')[0]}", "trained = [p for p in model.parameters() if p.requires_grad]"]
    if not recipe.step_in_backward:
        return [*lines, f"optimizer = {name}(trained, lr=1e-4{further})"]
    return [
        *lines,
        f"optimizers = {{p: {name}([p], lr=1e-4{further}) for p in trained}}",
        "def step_now(parameter):",
        "    optimizers[parameter].step()",
        "    optimizers[parameter].zero_grad()",
        "for parameter in trained:",
        "    parameter.register_post_accumulate_grad_hook(step_now)",
    ]
