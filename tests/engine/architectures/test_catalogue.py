"""The catalogue's tables, and how names are found in them."""

import ast

import pytest

from engine import architectures


def test_tables_hold_many_families_and_checkpoints() -> None:
    assert len(architectures.families()) >= 88
    assert len(architectures.checkpoints()) >= 490


def test_every_checkpoint_names_a_class_that_exists() -> None:
    for checkpoint in architectures.checkpoints():
        family = architectures.family(checkpoint.model_type)
        assert family is not None, checkpoint.name
        assert checkpoint.library == family.library
        if checkpoint.library == "transformers":
            assert architectures.find_class(checkpoint.architecture) is not None, checkpoint.name
        else:
            head = "base" if checkpoint.library == "diffusers" else "image_classification"
            assert architectures.class_for(checkpoint.model_type, head) is not None, checkpoint.name


def test_every_checkpoint_says_where_it_comes_from() -> None:
    for checkpoint in architectures.checkpoints():
        assert checkpoint.source, checkpoint.name
        assert checkpoint.parameters, checkpoint.name


def test_checkpoints_set_only_what_their_configuration_knows() -> None:
    """A key that no default has is a slip of the pen, unless the model file asks for it with getattr."""
    for checkpoint in architectures.checkpoints():
        family = architectures.family(checkpoint.model_type)
        assert family is not None
        known = set(architectures.defaults(checkpoint.model_type)) | set(family.aliases)
        text = architectures.source(family.module) + architectures.source("decoder")
        for key in checkpoint.config:
            assert key in known or key in text, (checkpoint.name, key)


def test_model_files_import_only_torch_math_and_each_other() -> None:
    allowed = ("torch", "math", "engine.architectures.models.")
    for module in sorted({family.module for family in architectures.families().values()}):
        for node in ast.walk(ast.parse(architectures.source(module))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.startswith(allowed), (module, name)


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("gpt2", "openai-community/gpt2"),
        ("GPT2", "openai-community/gpt2"),
        ("NousResearch/Llama-2-7b-hf", "meta-llama/Llama-2-7b-hf"),
        ("unsloth/Meta-Llama-3.1-8B-bnb-4bit", "meta-llama/Llama-3.1-8B"),
        ("bert-base-uncased", "google-bert/bert-base-uncased"),
        ("Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B"),
    ],
)
def test_names_are_found_as_people_write_them(spelled: str, name: str) -> None:
    found = architectures.lookup(spelled)
    assert found is not None
    assert found.name == name


def test_timm_names_may_carry_a_hub_prefix_and_a_tag() -> None:
    found = architectures.lookup("timm/vit_giant_patch14_dinov2.lvd142m", library="timm")
    assert found is not None
    assert found.name == "vit_giant_patch14_dinov2"


@pytest.mark.parametrize("name", ["./out/checkpoint-500", "/models/gpt2", "~/gpt2", "", "my-org/my-own-model"])
def test_folders_and_unknown_names_are_not_guessed(name: str) -> None:
    assert architectures.lookup(name) is None


def test_close_names_are_suggested() -> None:
    assert "Qwen/Qwen2.5-7B" in architectures.suggestions("Qwen/Qwen2.5-7b-bas")


def test_libraries_do_not_answer_for_each_other() -> None:
    timm, torchvision = (architectures.lookup("resnet50", library=library) for library in ("timm", "torchvision"))  # type: ignore[arg-type]
    assert timm is not None and torchvision is not None
    assert (timm.model_type, torchvision.model_type) == ("timm_resnet", "torchvision_resnet")


def test_derived_values_follow_what_was_given() -> None:
    values = architectures.configuration("llama", {"hidden_size": 1024, "num_attention_heads": 8})
    assert (values["num_key_value_heads"], values["head_dim"]) == (8, 128)
    assert architectures.configuration("t5", {"num_layers": 2})["num_decoder_layers"] == 2


def test_aliases_reach_the_attribute_they_stand_for() -> None:
    assert architectures.configuration("gpt2", {"num_hidden_layers": 3})["n_layer"] == 3


def test_nested_configurations_are_merged() -> None:
    found = architectures.lookup("openai/clip-vit-base-patch16")
    assert found is not None
    vision = found.configuration()["vision_config"]
    assert (vision["patch_size"], vision["hidden_size"]) == (16, 768)


def test_heads_and_classes() -> None:
    chosen = architectures.class_for("gpt2", "AutoModelForCausalLM")
    assert chosen is not None
    assert (chosen.module, chosen.name) == ("gpt2", "GPT2LMHeadModel")
    assert architectures.class_for("gpt2", "AutoModelForMaskedLM") is None
    assert architectures.class_for("no-such-type", "AutoModel") is None
    assert architectures.config_class("LlamaConfig") == "llama"
