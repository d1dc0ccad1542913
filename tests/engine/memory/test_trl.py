"""TRL's trainers in Python programs: what each holds beside the trained model."""

from engine.estimate import estimate
from engine.findings import Memory
from engine.project import Project

PREFERENCES = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM
from peft import LoraConfig
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer
data = load_dataset("some/preferences", split="train")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype="bfloat16")
arguments = {config}(output_dir="out", per_device_train_batch_size=1, max_length=256)
trainer = {trainer}(model=model, args=arguments, train_dataset=data, {peft})
trainer.train()
"""
WEIGHTS = 494_032_768 * 2


def held(trainer: str, peft: str = "") -> Memory:
    text = PREFERENCES.format(config=trainer.replace("Trainer", "Config"), trainer=trainer, peft=peft)
    memory = estimate(Project.from_mapping({"t.py": text}), "t.py", gpus=["a100-80gb"], savings=False).memory
    assert memory is not None
    return memory


def test_preferences_need_a_second_model_unless_adapters_are_trained() -> None:
    supervised, preferences = held("SFTTrainer"), held("DPOTrainer")
    assert abs(preferences.breakdown.parameters - 2 * supervised.breakdown.parameters) < 0.02 * WEIGHTS
    adapted = held("DPOTrainer", "peft_config=LoraConfig(r=8, target_modules=['q_proj'])")
    assert adapted.breakdown.parameters < 1.05 * WEIGHTS
    assert adapted.breakdown.optimizer < 0.01 * WEIGHTS
