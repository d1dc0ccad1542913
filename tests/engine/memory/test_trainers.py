"""Command lines and configuration files of trainers that are not in the repository become estimates."""

import pytest

from engine.estimate import estimate
from engine.findings import EstimateReport
from engine.memory.launch import CannotLaunch, plan
from engine.project import Project


def answer(files: dict[str, str], script: str) -> EstimateReport:
    report = estimate(Project.from_mapping(files), script, savings=False)
    assert report.memory is not None, report.notes
    return report


TUNE = """
model:
  _component_: torchtune.models.llama3_2.lora_llama3_2_1b
  lora_attn_modules: ['q_proj', 'v_proj']
  apply_lora_to_mlp: true
  lora_rank: 16
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: 1024
dataset:
  _component_: torchtune.datasets.text_completion_dataset
  packed: true
batch_size: 2
gradient_accumulation_steps: 8
optimizer:
  _component_: torch.optim.AdamW
  fused: true
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
enable_activation_checkpointing: true
dtype: bf16
"""


def test_torchtune_with_overrides_keeps_the_place_of_every_value() -> None:
    run = (
        "tune run lora_finetune_single_device --config conf/tune.yaml \\\n    batch_size=4 tokenizer.max_seq_len=512\n"
    )
    report = answer({"run.sh": run, "conf/tune.yaml": TUNE}, "run.sh")
    seen = {key: (s.value, s.path, s.line) for key, s in report.configuration.items()}
    assert seen["batch_size"] == (4, "run.sh", 2)
    assert seen["sequence_length"] == (512, "run.sh", 2)
    assert seen["lora_rank"] == (16, "conf/tune.yaml", 6)
    assert seen["accumulation_steps"] == (8, "conf/tune.yaml", 14)
    assert seen["precision"][0] == "pure-bf16"
    assert seen["gradient_checkpointing"][:2] == (True, "conf/tune.yaml")
    assert report.model.parameters is not None and 1.23e9 < report.model.parameters < 1.26e9


def test_a_compiled_loss_holds_nothing_of_the_size_of_its_logits() -> None:
    plain, compiled = (
        answer({"tune.yaml": TUNE + f"compile: {word}\n"}, "tune.yaml").memory for word in ("false", "true")
    )
    assert plain is not None and compiled is not None
    # Two batches of 1024 tokens: the float32 softmax of every piece, and a float32 copy and gradient of the last.
    float32_logits = 4 * 2 * 1024 * 128_256
    assert plain.allocated.expected - compiled.allocated.expected > float32_logits


def test_the_configuration_alone_gives_the_same_as_the_command() -> None:
    files = {"run.sh": "tune run lora_finetune_single_device --config tune.yaml", "tune.yaml": TUNE}
    assert answer(files, "run.sh").memory == answer(files, "tune.yaml").memory


LITGPT = """
checkpoint_dir: checkpoints/EleutherAI/pythia-160m
precision: bf16-true
lora_r: 4
lora_key: true
data: Alpaca
train:
  micro_batch_size: 2
  global_batch_size: 8
"""


def test_litgpt_pads_to_the_longest_sample() -> None:
    report = answer(
        {"train.sh": "litgpt finetune_lora --config lit.yaml --train.max_seq_length 512", "lit.yaml": LITGPT},
        "train.sh",
    )
    assert report.configuration["sequence_length"].value == 512
    assert report.configuration["accumulation_steps"].value == 4
    assert answer({"lit.yaml": LITGPT}, "lit.yaml").configuration["sequence_length"].value == 1044


def test_swift_command() -> None:
    run = "N=256\nCUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2-0.5B --train_type full \\\n --max_length $N\n"
    report = answer({"run.sh": run}, "run.sh")
    assert report.configuration["sequence_length"].model_dump()["line"] == 3
    assert report.model.trainable_parameters == report.model.parameters


def test_swift_without_flash_attention_is_eager() -> None:
    command = "swift sft --model_type yi-6b-chat --max_length 1024 --gradient_checkpointing false --packing true"
    flash, refused = (
        answer({"run.sh": f"{command} --use_flash_attn {word}"}, "run.sh").memory for word in ("true", "false")
    )
    assert flash is not None and refused is not None
    # 32 layers of 32 heads keep their weights of attention, once in float32 and once in half precision.
    weights_of_attention = 32 * 32 * 1024 * 1024 * 6
    assert refused.allocated.expected - flash.allocated.expected > 0.9 * weights_of_attention


AXOLOTL = """
base_model: Qwen/Qwen2-0.5B
adapter: qlora
load_in_4bit: true
lora_r: 32
lora_target_linear: true
sequence_len: 512
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: paged_adamw_8bit
bf16: auto
gradient_checkpointing: true
flash_attention: true
datasets:
  - path: mhenrichsen/alpaca_2k_test
    type: alpaca
"""
FACTORY = """
model_name_or_path: Qwen/Qwen2-0.5B
stage: sft
finetuning_type: lora
lora_rank: 8
lora_target: q_proj,v_proj
cutoff_len: 768
dataset: my_data
per_device_train_batch_size: 2
bf16: true
"""


def values(report: EstimateReport) -> dict[str, tuple[object, str | None, int | None]]:
    return {key: (s.value, s.path, s.line) for key, s in report.configuration.items()}


def test_axolotl() -> None:
    files = {"c/lora.yml": AXOLOTL, "run.sh": "accelerate launch -m axolotl.cli.train c/lora.yml --micro_batch_size 1"}
    seen = values(answer(files, "c/lora.yml"))
    assert seen["batch_size"] == (2, "c/lora.yml", 9)
    assert seen["quantization"] == ("nf4-double", "c/lora.yml", 4)
    assert seen["lora_rank"] == (32, "c/lora.yml", 5)
    assert values(answer(files, "run.sh"))["batch_size"] == (1, "run.sh", 1)


def test_llama_factory() -> None:
    files = {
        "sft.yaml": FACTORY,
        "run.sh": "llamafactory-cli train sft.yaml cutoff_len=256 per_device_train_batch_size=4",
    }
    seen = values(answer(files, "run.sh"))
    assert (seen["batch_size"][0], seen["sequence_length"][0], seen["precision"]) == (
        4,
        256,
        ("amp-bf16", "sft.yaml", 10),
    )
    report = answer(files, "sft.yaml")
    assert report.configuration["gradient_checkpointing"].value is True
    assert report.model.trainable_parameters == 24 * 8 * ((896 + 896) + (896 + 128))


def test_trl_command() -> None:
    run = "trl sft --model_name_or_path Qwen/Qwen2-0.5B --dtype bfloat16 --use_peft --lora_r 8 --max_length 128 \\\n"
    seen = values(answer({"run.sh": run + "  --per_device_train_batch_size 2"}, "run.sh"))
    assert seen["batch_size"] == (2, "run.sh", 2)
    assert seen["lora_rank"] == (8, "run.sh", 1)


EXAMPLES = (
    ("python run_clm.py --model_name_or_path gpt2 --block_size 256 --per_device_train_batch_size 4 --fp16", 4, 256),
    ("torchrun --nproc_per_node 2 examples/run_glue.py --model_name_or_path bert-base-uncased", 8, 128),
    ("accelerate launch --mixed_precision bf16 run_mlm_no_trainer.py --model_name_or_path roberta-base", 8, 512),
    ("python run_summarization.py --model_name_or_path t5-small --max_source_length 200", 8, 200),
)


@pytest.mark.parametrize(("command", "batch", "length"), EXAMPLES)
def test_examples_of_transformers(command: str, batch: int, length: int) -> None:
    report = answer({"run.sh": command}, "run.sh")
    assert (report.configuration["batch_size"].value, report.configuration["sequence_length"].value) == (batch, length)


def test_a_script_of_the_repository_stands_before_an_example_of_the_same_name() -> None:
    project = Project.from_mapping({"run_clm.py": "print()", "run.sh": "python run_clm.py --model_name_or_path gpt2"})
    assert plan(project, "run.sh").script == "run_clm.py"


def test_cogvideox() -> None:
    run = "accelerate launch train/cogvideox_text_to_video_lora.py \\\n --load_tensors"
    run += " --pretrained_model_name_or_path THUDM/CogVideoX-2b --height_buckets 256 480 --width_buckets 720"
    run += " --frame_buckets 17 --train_batch_size 1"
    run += " --mixed_precision bf16 --rank 16 --gradient_checkpointing"
    report = answer({"run.sh": run}, "run.sh")
    assert report.configuration["batch_size"].value == 1
    with pytest.raises(CannotLaunch, match="load_tensors"):
        plan(Project.from_mapping({"run.sh": run.replace("--load_tensors", "")}), "run.sh")


@pytest.mark.parametrize(
    ("files", "script", "reason"),
    [
        ({"run.sh": "tune run full_finetune --config gone.yaml"}, "run.sh", "gone.yaml is not in the repository"),
        ({"run.sh": "swift sft --max_length 512"}, "run.sh", "is not given"),
        ({"c.yaml": "a: 1\nb: 2\n"}, "c.yaml", "not the configuration of a trainer"),
        ({"c.yaml": "- 1\n- 2\n"}, "c.yaml", "holds no settings"),
        ({"c.yaml": "a: &a\n  b: *a\n"}, "c.yaml", "could not be read"),
        ({"c.yaml": "base_model: gpt2\nsequence_len: 64\nrl: dpo\n"}, "c.yaml", "rl: dpo is not played"),
        ({"c.yaml": "base_model: gpt2\nsequence_len: 64\nmicro_batch_size: [1, 2]\n"}, "c.yaml", "is not a number"),
    ],
)
def test_what_is_missing_is_said(files: dict[str, str], script: str, reason: str) -> None:
    with pytest.raises(CannotLaunch, match=reason):
        plan(Project.from_mapping(files), script)


def test_diffusers_scripts_hold_the_frozen_networks_beside_the_trained_one() -> None:
    words = "accelerate launch train_{}.py --pretrained_model_name_or_path {} --resolution {} --train_batch_size 2 \\\n"
    rest = "  --mixed_precision fp16 --gradient_checkpointing {}\n"
    stable = words.format("text_to_image", "stable-diffusion-v1-5/stable-diffusion-v1-5", 512)
    full = answer({"run.sh": stable + rest.format("")}, "run.sh")
    small = answer({"run.sh": stable + rest.format("--use_8bit_adam")}, "run.sh")
    assert full.memory is not None and small.memory is not None
    # 860 million weights: six bytes less each for two states, and none of the four of a foreach step.
    assert 7.5e9 < full.memory.allocated.expected - small.memory.allocated.expected < 9.0e9
    tokens = answer({"run.sh": words.format("amused", "amused/amused-256", 256) + rest.format("--use_lora")}, "run.sh")
    assert tokens.memory is not None
    # The tokenizer and the text encoder stay on the device, and only adapters have states.
    assert 2.4e9 + 0.3e9 < tokens.memory.breakdown.parameters < 3.5e9
    assert tokens.memory.breakdown.optimizer < 0.1e9


def test_cogvideox_trains_float32_weights_under_a_scaler() -> None:
    run = "accelerate launch training/cogvideox/cogvideox_text_to_video_sft.py --load_tensors --train_batch_size 1 \\\n"
    run += "  --pretrained_model_name_or_path THUDM/CogVideoX-2b --gradient_checkpointing --mixed_precision {}\n"
    half, brain = (answer({"run.sh": run.format(word)}, "run.sh").memory for word in ("fp16", "bf16"))
    assert half is not None and brain is not None
    # cast_training_params: 1.69 billion weights of four bytes; the published table starts 3.45 GiB above LoRA's.
    assert 6.7e9 < half.breakdown.parameters < 6.9e9
    assert 3.3e9 < brain.breakdown.parameters < 3.6e9
    # Published: 33.934 GiB reserved with AdamW at batch 1 (finetrainers, full finetuning).
    assert abs(half.reserved.expected / (33.934 * 2**30) - 1) < 0.02


def test_checkpointing_of_amused_changes_nothing() -> None:
    # UVit2DModel's switch is an empty method: 22 layers of 256 tokens are kept. Measured with it on (examples/amused,
    # LoRA at 256 pixels): 6.5, 10.1 and 14.1 GB for 1, 8 and 16 images, so half a gigabyte an image.
    words = "accelerate launch train_amused.py --pretrained_model_name_or_path amused/amused-256 --resolution 256 \\\n"
    words += "  --mixed_precision fp16 --use_lora --train_batch_size {} {}\n"
    cases = ((4, "--gradient_checkpointing"), (4, ""), (8, "--gradient_checkpointing"))
    reports = [answer({"run.sh": words.format(*case)}, "run.sh") for case in cases]
    few, kept, many = (report.memory.allocated.expected for report in reports if report.memory is not None)
    assert few == kept
    assert 0.35e9 < (many - few) / 4 < 0.55e9
    assert any("checkpointing does nothing" in note for note in reports[0].notes)
    assert not any("checkpointing does nothing" in note for note in reports[1].notes)


SWIFT = "swift sft --model_type yi-6b-chat --dataset d --max_length 1024 --lora_rank 8 --packing {}\n"


def test_batches_of_many_lengths_reserve_more_than_they_hold() -> None:
    varied, packed = (answer({"run.sh": SWIFT.format(word)}, "run.sh") for word in ("false", "true"))
    assert varied.memory is not None and packed.memory is not None
    assert varied.configuration["sequence_length"].value == packed.configuration["sequence_length"].value == 1024
    live, same = varied.memory.allocated.expected, packed.memory.allocated.expected
    assert abs(live / same - 1) < 0.01
    assert varied.memory.breakdown.allocator_slack > 2 * packed.memory.breakdown.allocator_slack
    assert varied.memory.reserved.high / live > packed.memory.reserved.high / same
