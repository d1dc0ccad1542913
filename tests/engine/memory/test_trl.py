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


GROUPS = """
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer
arguments = GRPOConfig(output_dir="out", per_device_train_batch_size=4, max_prompt_length=128,
                       max_completion_length={completion}, beta={beta})
data = load_dataset("some/prompts", split="train")
GRPOTrainer(model="Qwen/Qwen2.5-0.5B", reward_funcs=len, args=arguments, train_dataset=data).train()
"""


def test_groups_have_a_reference_only_for_their_divergence() -> None:
    def memory(**values: object) -> Memory:
        files = {"t.py": GROUPS.format(**values)}
        found = estimate(Project.from_mapping(files), "t.py", gpus=["a100-80gb"], savings=False).memory
        assert found is not None
        return found

    alone, told = memory(completion=64, beta=0.0), memory(completion=64, beta=0.04)
    assert abs(told.breakdown.parameters - 2 * alone.breakdown.parameters) < 0.02 * WEIGHTS
    # Logits are taken of what was generated alone.
    longer = memory(completion=512, beta=0.0)
    assert longer.allocated.expected - alone.allocated.expected > 4 * 448 * 151_936 * 4
