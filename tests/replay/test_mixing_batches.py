"""A mixed batch has the size, form and order of the one that came; what does not fit is named."""

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import default_collate

from phaser.core.errors import BadInput
from phaser.replay.mixing import batch_size, mixed, num_rehearsed

Pair = namedtuple("Pair", ["left", "right"])


def samples(values: Any) -> list[dict[str, Any]]:
    return [
        {
            "image": torch.full((2, 3), float(one)),
            "mask": np.array([one % 2 == 0, True]),
            "task": f"task {one}",
            "nested": {"pair": (torch.tensor(one), float(one)), "words": [str(one), "same"]},
            "index": int(one),
        }
        for one in values
    ]


def mix(batch: Any, rehearsed: Any, size: int, count: int) -> Any:
    return mixed(batch, rehearsed, size=size, count=count)


@given(st.integers(2, 9), st.floats(0, 0.99))
def test_mixing_collated_batches_is_collating_mixed_samples(size: int, share: float) -> None:
    current, old = samples(range(size)), samples(range(100, 100 + size))
    count = num_rehearsed(size, share)
    assert 0 <= count < size
    if not count:
        return
    found = mix(default_collate(current), default_collate(old[:count]), size, count)
    expected = default_collate(current[: size - count] + old[:count])
    torch.testing.assert_close(found["image"], expected["image"], rtol=0, atol=0)
    torch.testing.assert_close(found["index"], expected["index"], rtol=0, atol=0)
    assert found["task"] == expected["task"]
    assert found["nested"]["words"] == expected["nested"]["words"]
    assert torch.equal(found["nested"]["pair"][0], expected["nested"]["pair"][0])
    assert found.keys() == expected.keys()


def test_half_of_four_makes_way() -> None:
    assert num_rehearsed(4, 0.5) == 2
    assert num_rehearsed(2, 0.99) == 1
    assert num_rehearsed(1, 0.5) == 0


def lists(samples_: list[Any]) -> dict[str, Any]:
    return {"pairs": [(one, one) for one in samples_], "fps": 20}


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize(
    ("collate", "made"),
    [
        (default_collate, samples),
        (list, samples),
        (default_collate, lambda values: [(torch.zeros(3), {"x": one}) for one in values]),
        (default_collate, lambda values: [torch.zeros(7) for _ in values]),
        (default_collate, lambda values: [{"task": str(one)} for one in values]),
        (lists, list),
        (tuple, lambda values: [str(one) for one in values]),
    ],
)
def test_the_size_of_a_batch_is_found_in_every_form(size: int, collate: Any, made: Any) -> None:
    assert batch_size(collate(made(range(size))), collate(made([9]))) == size


@pytest.mark.parametrize("batch", [{}, [], "text", 3, torch.tensor(1.0)])
def test_a_batch_without_a_size_is_refused(batch: Any) -> None:
    with pytest.raises(BadInput, match="mix the batch as the loader gives it"):
        batch_size(batch, {"x": torch.zeros(1)})


def test_a_list_of_samples_keeps_its_samples() -> None:
    current, old = samples(range(4)), samples([100])
    assert mix(current, old, 4, 1) == [*current[:3], *old]


def test_a_list_as_long_as_the_batch_is_told_from_one_of_the_form() -> None:
    """Four tensors side by side are not four samples, although the batch has four."""
    batch = [torch.zeros(4) for _ in range(4)]
    found = mix(batch, [torch.ones(2) for _ in range(4)], 4, 2)
    assert [one.tolist() for one in found] == [[0, 0, 1, 1]] * 4


def test_containers_keep_their_class() -> None:
    found = mix(Pair(torch.zeros(2), ["a", "b"]), Pair(torch.ones(1), ["c"]), 2, 1)
    assert isinstance(found, Pair)
    assert found.right == ["a", "c"]
    ordered = mix(OrderedDict(x=torch.zeros(2)), OrderedDict(x=torch.ones(1)), 2, 1)
    assert isinstance(ordered, OrderedDict)


def test_what_is_the_same_for_all_samples_stays() -> None:
    assert mix({"x": torch.zeros(2), "fps": 20}, {"x": torch.ones(1), "fps": 20}, 2, 1)["fps"] == 20


@pytest.mark.parametrize(
    ("batch", "rehearsed", "message"),
    [
        (torch.zeros(2, 5), torch.zeros(1, 6), "expected one type and, after the first"),
        (torch.zeros(2), torch.zeros(1, dtype=torch.int64), "int64 of shape"),
        (torch.zeros(3), torch.zeros(1), "in a batch of 2"),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}, r"differ in \['b', 'c'\]"),
        ({"a": {"b": torch.zeros(2)}}, {"a": {"b": [1]}}, r"batch\['a'\]\['b'\] is torch.float32"),
        (["a", "b"], ["a", "b", "c"], "a list of 2 in the batch and a list of 3"),
        (20, 30, "pass the loader's collate function"),
    ],
)
def test_what_does_not_fit_is_named(batch: Any, rehearsed: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        mix(batch, rehearsed, 2, 1)


def test_rehearsed_tensors_follow_the_batch_to_its_device() -> None:
    found = mix({"x": torch.zeros(4, 2, device="meta")}, {"x": torch.ones(2, 2)}, 4, 2)
    assert found["x"].device.type == "meta"
    assert found["x"].shape == (4, 2)
