"""The written-out gradient of the spatial softmax equals autograd's."""

import torch

from phaser.policies.tiny.keypoints import keypoints


def plain(scores: torch.Tensor, height: int, width: int) -> torch.Tensor:
    attention = torch.softmax(scores, dim=2)
    across = torch.linspace(-1, 1, width, dtype=scores.dtype).repeat(height)
    down = torch.linspace(-1, 1, height, dtype=scores.dtype).repeat_interleave(width)
    parts = [(attention * across).sum(2), (attention * down).sum(2), (attention * scores).sum(2)]
    return torch.cat(parts, dim=1)


def test_the_written_out_gradient_is_the_numerical_one() -> None:
    scores = torch.randn(2, 3, 12, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: keypoints(s, height=3, width=4), (scores,))


def test_values_equal_the_plain_formula() -> None:
    scores = torch.randn(4, 5, 30)
    torch.testing.assert_close(keypoints(scores, height=5, width=6), plain(scores, 5, 6))


def test_a_single_bright_place_is_found_where_it_is() -> None:
    scores = torch.full((1, 1, 9), -50.0)
    scores[0, 0, 5] = 50.0
    x, y, strength = keypoints(scores, height=3, width=3)[0]
    assert (round(x.item(), 6), round(y.item(), 6), round(strength.item(), 3)) == (1.0, 0.0, 50.0)
