"""Worked numbers of the paper about capacity."""

from phaser.memory.allocation import allocate


def test_the_baseline_holds_278_frames_in_each_of_four_phases():
    assert allocate(278 * 4, [5000] * 4) == [278, 278, 278, 278]


def test_the_zero_budget_control_keeps_372_370_370():
    # 278 * 4 = 1112; 1112 // 3 = 370, remainder 2, absorbed by the first sibling: 372.
    assert allocate(278 * 4, [5000] * 4, zero=0) == [0, 372, 370, 370]


def test_equal_shares_are_the_max_min_point():
    # Appendix J.2: no split of B over P phases has a smallest share above B / P.
    assert min(allocate(180, [1000] * 4)) == 180 // 4
