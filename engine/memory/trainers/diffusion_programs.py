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
    lines.append("trained = [p for p in model.parameters() if p.requires_grad]")
    scaled = recipe.autocast == "float16"
    if scaled:
        # cast_training_params of the scripts: a scaler's gradients are float32, and so is what is trained.
        lines += ["for parameter in trained:", "    parameter.data = parameter.data.float()"]
    lines += [
        f"scaler = torch.amp.GradScaler('cuda', enabled={scaled})",
        f"optimizer = {optimizer}(trained, lr=1e-4)",
        # With latents at hand the scripts drop the VAE and the text encoder here, and give the device its blocks back.
        "torch.cuda.empty_cache()",
        f"latents = torch.randn({size}, dtype={dtype}, device='cuda')",
        f"prompt = torch.randn({recipe.batch_size}, {words}, 4096, dtype={dtype}, device='cuda')",
        "model.train()",
        "for step in range(12):",
        f"    moment = torch.randint(0, 1000, ({recipe.batch_size},), device='cuda')",
        f"    with torch.autocast('cuda', dtype={autocast}, enabled={recipe.autocast is not None}):",
        "        predicted = model(hidden_states=latents, encoder_hidden_states=prompt, timestep=moment,",
        "                          return_dict=False)[0]",
        "        loss = (predicted.float() - latents.float()).pow(2).mean()",
        "    scaler.scale(loss).backward()",
        f"    if (step + 1) % {min(recipe.accumulation_steps, 3)} == 0:",
        "        scaler.unscale_(optimizer)",
        "        torch.nn.utils.clip_grad_norm_(trained, 1.0)",
        "        scaler.step(optimizer)",
        "        scaler.update()",
        "        optimizer.zero_grad()",
    ]
    return "\n".join(lines) + "\n"


def _beside(recipe: Recipe) -> str:
    """dtype of the frozen networks beside the trained one."""
    return f"torch.{recipe.autocast or 'float32'}"


def _trained(recipe: Recipe) -> list[str]:
    """Adapters, checkpointing, the optimizer and the averaged copy of `model`."""
    optimizer = "bitsandbytes.optim.AdamW8bit" if "8bit" in recipe.optimizer else "torch.optim.AdamW"
    lines = ["model.train()"]
    if recipe.adapters is not None:
        sizes = f"r={recipe.adapters.rank!r}, lora_alpha={recipe.adapters.alpha!r}"
        lines += [
            "model.requires_grad_(False)",
            f"model.add_adapter(LoraConfig({sizes}, target_modules={list(recipe.adapters.targets or ())!r}))",
            "for parameter in model.parameters():",
            "    if parameter.requires_grad:",
            "        parameter.data = parameter.data.float()",
        ]
    if recipe.checkpointing:
        lines.append("model.enable_gradient_checkpointing()")
    lines += [
        "trained = [p for p in model.parameters() if p.requires_grad]",
        f"optimizer = {optimizer}(trained, lr=1e-4)",
    ]
    if recipe.averaged:
        lines.append("average = [p.detach().clone() for p in model.parameters()]")
    return lines


def _step(recipe: Recipe, forward: list[str]) -> list[str]:
    scaled = recipe.autocast == "float16"
    autocast = f"torch.{recipe.autocast}" if recipe.autocast else "torch.float32"
    return [
        f"scaler = torch.amp.GradScaler('cuda', enabled={scaled})",
        "def predict(*inputs, **named):",
        f"    with torch.autocast('cuda', dtype={autocast}, enabled={recipe.autocast is not None}):",
        "        found = model(*inputs, **named)",
        "    found = found if torch.is_tensor(found) else found[0]",
        "    return found.float()",
        "for step in range(12):",
        *[f"    {line}" for line in forward],
        "    scaler.scale(loss).backward()",
        f"    if (step + 1) % {min(recipe.accumulation_steps, 3)} == 0:",
        "        scaler.unscale_(optimizer)",
        *([f"        torch.nn.utils.clip_grad_norm_(trained, {recipe.clip!r})"] if recipe.clip else []),
        "        scaler.step(optimizer)",
        "        scaler.update()",
        "        optimizer.zero_grad(set_to_none=True)",
    ]


_IMPORTS = (
    "import bitsandbytes",
    "import torch",
    "from torch.nn import functional as F",
    "from peft import LoraConfig",
    "from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection",
)


def amused_program(recipe: Recipe) -> str:
    """examples/amused/train_amused.py: tokens of images by a frozen autoencoder in float32, prompts by CLIP."""
    batch, size = recipe.batch_size, recipe.shape.get("height", 256)
    lines = [
        *_IMPORTS,
        "from diffusers import UVit2DModel, VQModel",
        f"text = CLIPTextModelWithProjection(CLIPTextConfig({_CLIP_LARGE})).requires_grad_(False).eval()",
        f"images = VQModel.from_pretrained({recipe.model!r}, subfolder='vqvae').requires_grad_(False)",
        f"model = UVit2DModel.from_pretrained({recipe.model!r}, subfolder='transformer').to('cuda')",
        *_trained(recipe),
        f"text.to('cuda', dtype={_beside(recipe)})",
        "images.to('cuda')",
    ]
    lines += _step(recipe, [
        f"pixels = torch.randn({batch}, 3, {size}, {size}, device='cuda')",
        "with torch.no_grad():",
        "    tokens = images.quantize(images.encode(pixels).latents)[2][2]",
        f"    tokens = tokens.reshape({batch}, {size // 16}, {size // 16})",
        f"    words = text(torch.randint(0, 1000, ({batch}, 77), device='cuda'))",
        f"sizes = torch.randn({batch}, 5, device='cuda')",
        "logits = predict(input_ids=tokens, encoder_hidden_states=words.last_hidden_state, micro_conds=sizes,"
        " pooled_text_emb=words.text_embeds)",
        f"logits = logits.reshape({batch}, 8192, -1).permute(0, 2, 1).reshape(-1, 8192)",
        "loss = F.cross_entropy(logits, tokens.view(-1))",
    ])  # fmt: skip
    return "\n".join(lines) + "\n"


_CLIP_LARGE = "hidden_size=768, intermediate_size=3072, num_attention_heads=12, projection_dim=768"


def images_program(recipe: Recipe) -> str:
    """examples/text_to_image and examples/dreambooth for Stable Diffusion 1 and 2: the UNet alone is trained."""
    batch, size = recipe.batch_size, recipe.shape.get("height", 512)
    second = "stable-diffusion-2" in recipe.model
    encoder = (
        "hidden_size=1024, intermediate_size=4096, num_attention_heads=16, num_hidden_layers=23, hidden_act='gelu'"
        if second
        else _CLIP_LARGE
    )
    beside = _beside(recipe)
    placed = f".to('cuda', dtype={beside})" if recipe.adapters is not None else ".to('cuda')"
    lines = [
        *_IMPORTS,
        "from diffusers import AutoencoderKL, UNet2DConditionModel",
        f"text = CLIPTextModel(CLIPTextConfig({encoder})).requires_grad_(False).eval()",
        "images = AutoencoderKL.from_pretrained('stabilityai/sd-vae-ft-mse').requires_grad_(False)",
        f"model = UNet2DConditionModel.from_pretrained({recipe.model!r}, subfolder='unet')",
        f"model = model{placed}",
        *_trained(recipe),
        f"text.to('cuda', dtype={beside})",
        f"images.to('cuda', dtype={beside})",
    ]
    lines += _step(recipe, [
        f"pixels = torch.randn({batch}, 3, {size}, {size}, device='cuda', dtype={beside})",
        "with torch.no_grad():",
        "    latents = images.encode(pixels).latent_dist.sample() * 0.18215",
        f"    words = text(torch.randint(0, 1000, ({batch}, 77), device='cuda')).last_hidden_state",
        "noise = torch.randn_like(latents)",
        f"moments = torch.randint(0, 1000, ({batch},), device='cuda')",
        "predicted = predict(latents + noise, moments, words)",
        "loss = F.mse_loss(predicted.float(), noise.float(), reduction='mean')",
    ])  # fmt: skip
    return "\n".join(lines) + "\n"
