"""What a long run of batches of many lengths reserves beyond the few that a shadow run plays."""

from engine.estimate import estimate
from engine.memory.long_run import Batches
from engine.project import Project
from hardware_catalog.allocator import CATEGORY_INDEX, Allocator

MIB = 1 << 20
PARTS = (0.4, 0.7, 0.55, 0.9, 1.0)


def run(parts: tuple[float, ...], *sizes: tuple[float, int]) -> Batches:
    """Batches that hold all blocks at once; a size is (MiB of the longest batch, power of the length)."""
    allocator = Allocator(record=True)
    assert allocator.events is not None
    batches = Batches(allocator.events, parts)
    for part in parts:
        batches.on_call()
        held = [
            allocator.allocate(int(size * part**power) * MIB, CATEGORY_INDEX["activations"]) for size, power in sizes
        ]
        for block in held:
            allocator.release(block)
        batches.on_backward("end")
    return batches


def test_many_lengths_leave_many_segments() -> None:
    # Logits in half precision and in float32, and their gradient.
    growth = run(PARTS, (640, 1), (1280, 1), (1280, 1)).growth()
    assert 640 * MIB < growth < 10 * 1280 * MIB


def test_equal_batches_leave_none() -> None:
    assert run((1.0,) * 5, (640, 1), (1280, 1)).growth() == 0
    assert run(PARTS, (640, 0), (1280, 0)).growth() == 0


def test_attention_that_is_eager_grows_with_the_square() -> None:
    assert run(PARTS, (640, 2), (1280, 2)).growth() > 640 * MIB


def test_blocks_that_follow_no_length_tell_nothing() -> None:
    assert run(PARTS, (640, 1), (1280, 5)).growth() == 0


SWIFT = "swift sft --model Qwen/Qwen2-0.5B --train_type lora --max_length 1024 --packing {}\n"


def test_an_estimate_of_padded_batches_is_that_of_a_long_run() -> None:
    padded, packed = (
        estimate(Project.from_mapping({"run.sh": SWIFT.format(word)}), "run.sh", savings=False).memory
        for word in ("false", "true")
    )
    assert padded is not None and packed is not None
    float32_logits = 4 * 1024 * 151_936
    assert padded.allocated.expected < 1.05 * packed.allocated.expected
    assert padded.reserved.expected - packed.reserved.expected > 4 * float32_logits
