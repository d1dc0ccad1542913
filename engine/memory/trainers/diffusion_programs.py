"""Recipes of diffusers' and finetrainers' example scripts as programs."""

from __future__ import annotations

from engine.memory.trainers.recipes import Recipe


def cogvideox_program(recipe: Recipe) -> str:
    """CogVideoX on latents and prompt embeddings made before: text encoder and VAE stay off the device."""
    height, width = recipe.shape.get("height", 480), recipe.shape.get("width", 720)
    frames = (recipe.shape.get("frames", 49) - 1) // 4 + 1
    size = f"{recipe.batch_size}, {frames}, 16, {height // 8}, {width // 8}"
    dtype = f"torch.{recipe.weights or 'float32'}"
    optimizer = "bitsandbytes.optim.AdamW8bit" if "8bit" in recipe.optimizer else "torch.optim.AdamW"
    adapters = recipe.adapters
    lines = [
        "import bitsandbytes",
        "import torch",
        "from diffusers import CogVideoXTransformer3DModel",
        "from peft import LoraConfig",
        f"model = CogVideoXTransformer3DModel.from_pretrained({recipe.model!r}, subfolder='transformer', "
        f"torch_dtype={dtype}).to('cuda')",
        f"model.requires_grad_({adapters is None})",
    ]
    if recipe.checkpointing:
        lines.append("model.enable_gradient_checkpointing()")
    if adapters is not None:
        targets = list(adapters.targets or ()) if not isinstance(adapters.targets, str) else adapters.targets
        sizes = f"r={adapters.rank!r}, lora_alpha={adapters.alpha!r}"
        lines.append(f"model.add_adapter(LoraConfig({sizes}, target_modules={targets!r}))")
    words = recipe.sequence_length or 226
    autocast = f"torch.{recipe.autocast}" if recipe.autocast else "torch.float32"
    lines += [
        "trained = [p for p in model.parameters() if p.requires_grad]",
        f"optimizer = {optimizer}(trained, lr=1e-4)",
        f"latents = torch.randn({size}, dtype={dtype}, device='cuda')",
        f"prompt = torch.randn({recipe.batch_size}, {words}, 4096, dtype={dtype}, device='cuda')",
        "model.train()",
        "for step in range(12):",
        f"    moment = torch.randint(0, 1000, ({recipe.batch_size},), device='cuda')",
        f"    with torch.autocast('cuda', dtype={autocast}, enabled={recipe.autocast is not None}):",
        "        predicted = model(hidden_states=latents, encoder_hidden_states=prompt, timestep=moment,",
        "                          return_dict=False)[0]",
        "        loss = (predicted.float() - latents.float()).pow(2).mean()",
        "    loss.backward()",
        f"    if (step + 1) % {min(recipe.accumulation_steps, 3)} == 0:",
        "        torch.nn.utils.clip_grad_norm_(trained, 1.0)",
        "        optimizer.step()",
        "        optimizer.zero_grad()",
    ]
    return "\n".join(lines) + "\n"
