"""A base that was trained whole is a checkpoint folder: LoRA on it begins where training ended."""

from dataclasses import replace

import pytest
import torch
from robot_samples import BACKBONES, CONTRACT, NOISE, WEIGHTS, require_backbones, samples

from phaser.policies.loading.weights import Weights

require_backbones()


@pytest.mark.parametrize("name", BACKBONES)
def test_adapters_on_a_base_trained_here_begin_with_its_losses(name, tmp_path):
    whole = replace(BACKBONES[name], lora=None).build(CONTRACT, WEIGHTS)
    fresh = whole(whole.batch(samples(2)), NOISE)
    with torch.no_grad():
        for one in whole.trained_state().values():
            one.add_(0.01)
    whole.export(tmp_path / "base")
    begun = Weights(checkpoint=str(tmp_path / "base"), head="checkpoint")
    adapted = replace(BACKBONES[name], weights=begun).build(CONTRACT, WEIGHTS)
    losses = whole.eval()(whole.batch(samples(2)), NOISE)
    found = adapted.eval()(adapted.batch(samples(2)), NOISE)
    torch.testing.assert_close(found, losses, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(losses, fresh, atol=1e-3)
    assert len(adapted.trained_state()) < len(list(adapted.parameters()))
