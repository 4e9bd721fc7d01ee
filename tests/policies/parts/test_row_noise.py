"""Random numbers of a row depend on its place and on nothing else of the batch."""

import numpy as np
import pytest
import torch

from phaser.core.streams import Streams
from phaser.policies.parts.flow_head import FlowNoise
from phaser.policies.parts.row_noise import RowDropout, row_generators

STREAM = Streams(0).named("noise")
CPU = torch.device("cpu")


def drawn(places, stream=STREAM):
    return FlowNoise.drawn(stream, np.array(places), repeats=3, shape=(4, 2), device=CPU)


def test_a_rows_noise_is_its_places_at_any_batch_size():
    whole, part = drawn(range(6)), drawn([4, 1])
    for name in ("start", "time", "keys"):
        assert torch.equal(getattr(part, name), getattr(whole, name)[[4, 1]])
    assert not torch.equal(whole.start[0], whole.start[1])
    assert not torch.equal(drawn([0], Streams(1).named("noise")).start, whole.start[:1])


def test_times_prefer_noisy_actions_and_stay_below_one():
    times = drawn(range(3000)).time
    assert times.min() >= 0
    assert times.max() < 1
    # The mean of Beta(1.5, 1) is 0.6, of which the time is the rest.
    assert times.mean().item() == pytest.approx(0.4, abs=0.01)


def keys(count, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 2**32, (count, 2)))


def test_dropout_keeps_the_share_and_the_mean_and_is_the_rows_own():
    layer = RowDropout(0.2, number=3).train()
    x, found = torch.ones(8, 50, 40), keys(8)
    dropped = layer(x, found)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.2, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    assert torch.equal(layer(x[5:6], found[5:6]), dropped[5:6])
    shares = (dropped == 0).float().mean((1, 2))
    assert shares.min() > 0.17
    assert shares.max() < 0.23


def test_masks_of_two_rows_and_of_two_layers_have_nothing_in_common():
    x, found = torch.ones(2, 10_000), keys(2)
    one, two = (RowDropout(0.5, number).train()(x, found) > 0 for number in (0, 1))
    for first, second in ((one[0], one[1]), (one[0], two[0])):
        assert (first == second).float().mean().item() == pytest.approx(0.5, abs=0.03)
    # Neighbours agree as often as not.
    assert (one[0, 1:] == one[0, :-1]).float().mean().item() == pytest.approx(0.5, abs=0.03)


def test_dropout_rests_when_it_has_no_keys_no_rate_or_no_training():
    x = torch.ones(2, 10)
    assert RowDropout(0.5, 0).train()(x, None) is x
    assert RowDropout(0.0, 0).train()(x, keys(2)) is x
    assert RowDropout(0.5, 0).eval()(x, keys(2)) is x


def test_generators_repeat():
    one, two = (row_generators(STREAM, np.array([2]))[0].random(3) for _ in range(2))
    assert one.tolist() == two.tolist()
