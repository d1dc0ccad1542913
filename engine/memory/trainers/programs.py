"""A recipe as a small Python program over the libraries that the shadow run knows, so that one estimator serves all.

Two shapes: transformers' Trainer, for the trainers built on it, and a loop written out, for those that have their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.memory.trainers.diffusion_programs import amused_program, cogvideox_program, images_program
from engine.memory.trainers.litgpt_programs import litgpt_program
from engine.memory.trainers.recipes import Recipe
from engine.memory.trainers.stepping import MOST_MICRO_BATCHES, optimizer_lines

ROWS = 4096
"""Rows of the data set that stands for the trainer's own."""
LADDER = (0.4, 0.7, 0.55, 0.9, 1.0)
"""Lengths of successive batches as parts of the longest, where they differ. A longer batch finds no free block that is
large enough and a shorter one splits those that are, so that the allocator reserves several times what is live."""


def lengths(recipe: Recipe) -> list[int]:
    """Tokens of successive batches."""
    longest = recipe.sequence_length or 0
    if not recipe.varied:
        return [longest]
    return [max(1, round(part * longest)) for part in LADDER]


def steps_to_see(recipe: Recipe) -> int | None:
    """Optimizer steps until every length has come; None where all are alike."""
    if not recipe.varied:
        return None
    micro = max(1, min(recipe.accumulation_steps, MOST_MICRO_BATCHES))
    return max(2, -(-(len(LADDER) + 1) // micro))


def transformers_program(recipe: Recipe) -> str:
    """The run as transformers' Trainer takes it."""
    arguments: dict[str, Any] = {
        "per_device_train_batch_size": recipe.batch_size,
        "gradient_accumulation_steps": recipe.accumulation_steps,
        "optim": recipe.optimizer,
        "bf16": recipe.autocast == "bfloat16",
        "fp16": recipe.autocast == "float16",
        "gradient_checkpointing": recipe.checkpointing,
        "max_grad_norm": recipe.clip,
        **recipe.arguments,
    }
    if recipe.checkpoint_options is not None:
        arguments["gradient_checkpointing_kwargs"] = dict(recipe.checkpoint_options)
    lines = [
        "import torch",
        "from datasets import Dataset",
        "from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training",
        "from transformers import Trainer, TrainingArguments, default_data_collator",
        *_model(recipe),
        *_rows(recipe),
        f"arguments = TrainingArguments(output_dir='out', {_keywords(arguments)})",
        *_varied(recipe),
        "trainer = Trainer(model=model, args=arguments, train_dataset=data, data_collator=default_data_collator)",
        "trainer.train()",
    ]
    return "\n".join(lines) + "\n"


def _varied(recipe: Recipe) -> list[str]:
    """A Trainer whose batches have different lengths, as a collator that pads each to its own longest sample makes."""
    if not recipe.varied or recipe.task != "causal-lm":
        return []
    return [
        "class Trainer(Trainer):",
        "    def get_train_dataloader(self):",
        f"        for length in {lengths(recipe)}:",
        f"            ids = torch.randint(0, 1000, ({recipe.batch_size}, length))",
        "            yield {'input_ids': ids, 'labels': ids.clone()}",
    ]


HEADS: Mapping[str, str] = {
    "causal-lm": "AutoModelForCausalLM",
    "masked-lm": "AutoModelForMaskedLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "question-answering": "AutoModelForQuestionAnswering",
    "image-classification": "AutoModelForImageClassification",
}
"""Auto classes by task."""


def _model(recipe: Recipe) -> list[str]:
    head = HEADS[recipe.task]
    options: list[str] = []
    if recipe.weights is not None:
        options.append(f"torch_dtype=torch.{recipe.weights}")
    if recipe.attention is not None:
        options.append(f"attn_implementation={recipe.attention!r}")
    options += [f"{name}={value!r}" for name, value in recipe.overrides.items()]
    lines = [f"from transformers import AutoConfig, BitsAndBytesConfig, {head}"]
    quantization = recipe.quantization
    if quantization is not None:
        bits = (
            f"load_in_4bit=True, bnb_4bit_quant_type='nf4', bnb_4bit_use_double_quant={quantization.double}, "
            f"bnb_4bit_compute_dtype=torch.{quantization.compute}"
            if quantization.bits == 4
            else "load_in_8bit=True"
        )
        lines.append(f"quantization = BitsAndBytesConfig({bits})")
        options += ["quantization_config=quantization", "device_map={'': 0}"]
    if recipe.from_scratch:
        lines.append(f"model = {head}.from_config(AutoConfig.from_pretrained({recipe.model!r}), {', '.join(options)})")
        if recipe.weights not in (None, "float32"):
            lines.append(f"model = model.to(torch.{recipe.weights})")
    else:
        lines.append(f"model = {head}.from_pretrained({', '.join([repr(recipe.model), *options])})")
    lines.append("model.config.use_cache = False")
    if quantization is not None and quantization.prepared:
        lines.append(
            f"model = prepare_model_for_kbit_training(model, use_gradient_checkpointing={recipe.checkpointing})"
        )
    adapters = recipe.adapters
    if adapters is not None:
        targets = list(adapters.targets) if isinstance(adapters.targets, tuple) else adapters.targets
        kinds = {"classification": "SEQ_CLS", "token-classification": "TOKEN_CLS", "seq2seq": "SEQ_2_SEQ_LM"}
        further = f", modules_to_save={list(adapters.saved_modules)!r}" if adapters.saved_modules else ""
        further += ", use_dora=True" if adapters.dora else ""
        lines.append(
            f"model = get_peft_model(model, LoraConfig(r={adapters.rank!r}, lora_alpha={adapters.alpha!r}, "
            f"lora_dropout={adapters.dropout!r}, target_modules={targets!r}, bias='none', "
            f"task_type={kinds.get(recipe.task, 'CAUSAL_LM')!r}{further}))"
        )
        if recipe.checkpointing and (recipe.checkpoint_options or {}).get("use_reentrant"):
            lines.append("model.enable_input_require_grads()")
        if adapters.dtype is not None:
            lines += [
                "for parameter in model.parameters():",
                "    if parameter.requires_grad:",
                f"        parameter.data = parameter.data.to(torch.{adapters.dtype})",
            ]
    return lines


def _rows(recipe: Recipe) -> list[str]:
    length = recipe.sequence_length
    if recipe.task == "image-classification":
        size = recipe.shape.get("height", 224)
        return [f"data = Dataset.from_list([{{'pixel_values': torch.randn(3, {size}, {size}), 'labels': 1}}] * {ROWS})"]
    lines = [f"ids = torch.randint(0, 1000, ({ROWS}, {length})).tolist()"]
    if recipe.task == "classification":
        labels = f"[0] * {ROWS}"
    elif recipe.task == "seq2seq":
        lines.append(f"target = torch.randint(0, 1000, ({ROWS}, {recipe.shape.get('target', length)})).tolist()")
        labels = "target"
    elif recipe.task == "question-answering":
        lines.append(
            "data = Dataset.from_dict({'input_ids': ids, 'attention_mask': ids, "
            f"'start_positions': [0] * {ROWS}, 'end_positions': [1] * {ROWS}}})"
        )
        return lines
    else:
        labels = "ids"
    mask = "" if recipe.task == "causal-lm" else "'attention_mask': ids, "
    lines.append(f"data = Dataset.from_dict({{'input_ids': ids, {mask}'labels': {labels}}})")
    return lines


def _keywords(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items() if name.isidentifier())


def loop_program(recipe: Recipe) -> str:
    """The run as a loop: the head apart from the layers, so that the loss can be taken in pieces."""
    lines = [
        "import torch",
        "from torch.nn import functional as F",
        "from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training",
        *_model(recipe),
        "model = model.to('cuda')",
        "model.train()",
        "causal = model.get_base_model()" if recipe.adapters is not None else "causal = model",
        "decoder = getattr(causal, causal.base_model_prefix)",
        "head = causal.get_output_embeddings()",
    ]
    if recipe.checkpointing:
        lines.append("causal.gradient_checkpointing_enable(gradient_checkpointing_kwargs={'use_reentrant': False})")
    lines += [*optimizer_lines(recipe), *_OFFLOADING] if recipe.offload_activations else optimizer_lines(recipe)
    size = f"({recipe.batch_size}, {lengths(recipe)}[step % {len(lengths(recipe))}])"
    forward = "    hidden = decoder(input_ids=ids)[0]"
    lines += [
        *(_FUSED if recipe.loss.endswith("fused") else ()),
        "def run(ids, labels):",
        *(["    with torch.autograd.graph.saved_tensors_hooks(keep, fetch):", f"    {forward}"]
          if recipe.offload_activations else [forward]),
        *_loss(recipe),
        f"for step in range({4 * MOST_MICRO_BATCHES}):",
        f"    ids = torch.randint(0, 1000, {size}, device='cuda')",
        f"    labels = torch.randint(0, 1000, {size}, device='cuda')",
    ]  # fmt: skip
    context = (
        f"    with torch.autocast('cuda', dtype=torch.{recipe.autocast}):"
        if recipe.autocast is not None
        else "    if True:"
    )
    lines += [context, "        loss = run(ids, labels)", "    loss.backward()"]
    micro = min(recipe.accumulation_steps, MOST_MICRO_BATCHES)
    if not recipe.step_in_backward:
        lines.append(f"    if (step + 1) % {micro} == 0:")
        if recipe.clip:
            lines.append(f"        torch.nn.utils.clip_grad_norm_(model.parameters(), {recipe.clip!r})")
        lines += ["        optimizer.step()", "        optimizer.zero_grad(set_to_none=True)"]
    return "\n".join(lines) + "\n"


_OFFLOADING = (
    "def keep(saved):",
    "    if isinstance(saved, torch.nn.Parameter) or saved.numel() * saved.element_size() < 1024:",
    "        return 0, saved",
    "    return 1, saved.to('cpu')",
    "def fetch(kept):",
    "    return kept[1].to('cuda') if kept[0] else kept[1]",
)
"""Saved tensors of a kilobyte and more wait on the host; parameters stay."""


_FUSED = (
    "class Fused(torch.autograd.Function):",
    "    @staticmethod",
    "    def forward(ctx, logits, wanted):",
    "        ctx.save_for_backward(logits, wanted)",
    "        return torch.empty((), dtype=torch.float32, device='cuda')",
    "    @staticmethod",
    "    def backward(ctx, gradient):",
    "        logits, wanted = ctx.saved_tensors",
    "        return torch.empty_like(logits), None",
)
"""A compiled cross entropy: between the logits and their gradient nothing of their size is held."""


def _loss(recipe: Recipe) -> list[str]:
    fused = recipe.loss.endswith("fused")
    wide = ".float()" if "float32" in recipe.loss else ""
    if recipe.loss.startswith("whole"):
        loss = "Fused.apply(flat, wanted)" if fused else "F.cross_entropy(flat, wanted)"
        return [
            f"    logits = head(hidden){wide}",
            "    del hidden",
            "    flat, wanted = logits.flatten(0, 1), labels.flatten()",
            f"    return {loss}",
        ]
    flat = f"logits{wide}.flatten(0, 1), wanted.flatten()"
    return [
        "    def piece(logits, wanted):",
        f"        return Fused.apply({flat})" if fused else f"        return F.cross_entropy({flat}, reduction='sum')",
        f"    parts = [head(part) for part in hidden.chunk({recipe.loss_pieces}, dim=1)]",
        "    total = 0.0",
        f"    for part, wanted in zip(parts, labels.chunk({recipe.loss_pieces}, dim=1)):",
        "        total = total + piece(part, wanted)",
        "    return total / labels.numel()",
    ]


def program(recipe: Recipe, kind: str) -> str:
    """The text of a recipe's program."""
    if recipe.structure:
        return litgpt_program(recipe)
    makers = {
        "transformers": transformers_program,
        "loop": loop_program,
        "cogvideox": cogvideox_program,
        "diffusers": amused_program if "amused" in recipe.model else images_program,
    }
    return makers[kind](recipe)
