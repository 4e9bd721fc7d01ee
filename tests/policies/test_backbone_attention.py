"""Which token sees which: all see all in OpenVLA-OFT, only what came before in QwenOFT."""

import torch
from robot_samples import BACKBONES, CONTRACT, WEIGHTS, require_backbones, samples

require_backbones()


def moved(one, two):
    """Largest change of each token's hidden state."""
    return (one - two).abs().amax((0, 2))


@torch.no_grad()
def test_in_openvla_oft_a_last_word_changes_every_token():
    policy = BACKBONES["openvla-oft"].build(CONTRACT, WEIGHTS).eval()
    seen = policy.batch(samples(1)).tensors
    about = {name: seen[name] for name in ("mask", "slots", "pixels")}
    other = seen["ids"].clone()
    other[:, -1] = 5
    change = moved(policy.vlm(seen["ids"], **about), policy.vlm(other, **about))
    assert (change > 1e-4).all()


@torch.no_grad()
def test_in_openvla_oft_the_words_that_fill_the_slots_do_not_matter():
    policy = BACKBONES["openvla-oft"].build(CONTRACT, WEIGHTS).eval()
    seen = policy.batch(samples(1)).tensors
    about = {name: seen[name] for name in ("mask", "slots", "pixels")}
    other = torch.where(seen["slots"], 7, seen["ids"])
    assert not torch.equal(other, seen["ids"])
    assert torch.equal(policy.vlm(seen["ids"], **about), policy.vlm(other, **about))


@torch.no_grad()
def test_openvla_oft_reads_a_slot_one_token_before_it():
    policy = BACKBONES["openvla-oft"].build(CONTRACT, WEIGHTS).eval()
    batch = policy.batch(samples(3))
    seen = batch.tensors
    state = policy.proprio_projector(batch.states)
    about = {name: seen[name] for name in ("mask", "slots", "pixels")}
    hidden = policy.vlm(seen["ids"], **about, state=state)
    for row in range(3):
        first_slot = int(seen["slots"][row].nonzero()[0]) + hidden.shape[1] - seen["ids"].shape[1]
        expected = hidden[row, first_slot - 1 : first_slot - 1 + 16]
        assert torch.equal(policy._read(batch)[row], expected)


@torch.no_grad()
def test_in_qwen_oft_a_word_changes_no_token_before_it():
    policy = BACKBONES["qwen-oft"].build(CONTRACT, WEIGHTS).eval()
    seen = policy.batch(samples(1)).tensors
    place = seen["input_ids"].shape[1] - 4
    other = seen["input_ids"].clone()
    other[:, place] = 5
    change = moved(
        policy.vlm.model(**seen, use_cache=False).last_hidden_state,
        policy.vlm.model(**{**seen, "input_ids": other}, use_cache=False).last_hidden_state,
    )
    assert (change[:place] == 0).all()
    assert (change[place:] > 1e-5).all()
    # So what comes after the last mark does not change an action.
    assert int((seen["input_ids"] == policy._mark_id()).nonzero()[-1, 1]) < place


@torch.no_grad()
def test_qwens_positions_change_when_the_types_of_tokens_are_left_out():
    policy = BACKBONES["qwen-oft"].build(CONTRACT, WEIGHTS).eval()
    seen = policy.batch(samples(2)).tensors
    without = {name: one for name, one in seen.items() if name != "mm_token_type_ids"}
    right = policy.vlm.model(**seen, use_cache=False).last_hidden_state
    wrong = policy.vlm.model(**without, use_cache=False).last_hidden_state
    assert moved(right, wrong).max() > 1e-3
    assert seen["mm_token_type_ids"].sum(1).tolist() == [8, 8]


@torch.no_grad()
def test_qwen_gr00t_attends_to_no_padding():
    policy = BACKBONES["qwen-gr00t"].build(CONTRACT, WEIGHTS).eval()
    batch = policy.batch(samples(2))
    mask = batch.tensors["attention_mask"].bool()
    assert not mask.all()
    hidden, start = policy._hidden(batch), torch.zeros(2, 4, 4)
    noisy = torch.where(mask[..., None], hidden, hidden + 100)
    arguments = {"start": start, "states": None, "num_steps": 2}
    one, two = (policy.action_model.sample(x, mask, **arguments) for x in (hidden, noisy))
    assert torch.equal(one, two)
