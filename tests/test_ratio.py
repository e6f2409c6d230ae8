"""One pair: intervals and p-values in closed form, the verdict's symmetry, and effects of known size."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from host.results import statistics
from host.results.comparison import ratio

differences = st.lists(st.floats(-0.5, 0.5), min_size=5, max_size=25).map(np.array)
FLIPPED = {ratio.FASTER: ratio.SLOWER, ratio.SLOWER: ratio.FASTER}


def normal(count, spread, center=0.0, sets=None, seed=0):
    size = count if sets is None else (sets, count)
    return np.random.RandomState(seed).normal(center, spread, size)


def test_t_interval_of_known_numbers():
    # 1 ... 5: mean 3, standard error sqrt(2.5 / 5), t(0.975, 4) = 2.776445
    low, high = statistics.t_limits(np.array([1.0, 2, 3, 4, 5]))
    assert (low, high) == pytest.approx((3 - 2.776445 * math.sqrt(0.5), 3 + 2.776445 * math.sqrt(0.5)), rel=1e-6)


def test_intervals_and_p_are_scipys():
    first, second = normal(10, 0.02, 0.05), normal(10, 0.02, seed=1)
    paired = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert statistics.t_limits(first - second) == pytest.approx((paired.low, paired.high))
    welch = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert ratio.welch_limits(first, second) == pytest.approx((welch.low, welch.high))
    above = stats.ttest_1samp(first - second, ratio.LOG_MARGIN, alternative="greater").pvalue
    assert ratio.t_p(first - second) == pytest.approx(2 * above)
    assert ratio.skewness(first) == pytest.approx(stats.skew(first))


def test_sign_test_counts_what_is_beyond_the_margin():
    nine_of_ten = np.array([0.05] * 9 + [-0.3])
    assert ratio.sign_p(nine_of_ten) == pytest.approx(2 * 11 / 1024)
    assert ratio.sign_p(-nine_of_ten) == ratio.sign_p(nine_of_ten)
    assert ratio.sign_p(np.full(10, 0.01)) == 1.0, "inside the margin nothing counts"


@given(differences)
def test_p_of_the_t_test_and_its_interval_say_the_same(found):
    low, high = statistics.t_limits(found)
    outside = low > ratio.LOG_MARGIN or high < -ratio.LOG_MARGIN
    p = ratio.t_p(found)
    assert 0 <= p <= 1 and (outside == (p < 0.05) or abs(p - 0.05) < 1e-6)


@given(differences)
def test_p_of_the_sign_test_and_the_order_interval_say_the_same_where_the_level_is_reached(found):
    low, high, level = ratio.order_limits(found)
    if level >= 0.95:
        assert (low > ratio.LOG_MARGIN or high < -ratio.LOG_MARGIN) == (ratio.sign_p(found) <= 0.05)


@given(differences)
def test_the_other_way_round_is_the_inverse_with_the_opposite_verdict(found):
    there, back = ratio.judge(found), ratio.judge(-found)
    for name in ("center", "skewness"):
        assert getattr(back, name) == pytest.approx(-getattr(there, name), abs=1e-9)
    for one, other in (("low", "high"), ("t_low", "t_high"), ("order_low", "order_high")):
        assert getattr(back, one) == pytest.approx(-getattr(there, other), abs=1e-12)
    assert int(back.verdict) == FLIPPED.get(int(there.verdict), int(there.verdict))
    assert back.p == pytest.approx(there.p, abs=1e-12) and back.by_order == there.by_order


@given(differences, st.floats(0.5, 2.0))
def test_a_constant_factor_shifts_the_ratio_by_exactly_it(found, factor):
    before, after = ratio.judge(found), ratio.judge(found + math.log(factor))
    for name in ("t_low", "t_high", "order_low", "order_high"):
        assert getattr(after, name) == pytest.approx(getattr(before, name) + math.log(factor), abs=1e-9)


@settings(max_examples=30)
@given(st.lists(differences.filter(lambda found: len(found) == 10) | st.just(np.zeros(10)), min_size=2, max_size=4))
def test_many_at_once_are_judged_as_one_by_one(sets):
    together = ratio.judge(np.array([found[:10] for found in sets]))
    for place, found in enumerate(sets):
        alone = ratio.judge(found[:10])
        for name in ("low", "high", "p", "verdict", "by_order"):
            assert getattr(together, name)[place] == pytest.approx(getattr(alone, name), abs=1e-12)


def test_below_five_blocks_nothing_is_judged():
    with pytest.raises(ValueError, match="4 blocks"):
        ratio.judge(np.zeros(4))


def test_a_known_effect_is_found_and_none_is_called_different():
    """5 % slower at a deviation of 1 % a side, ten blocks: slower; identical: never different."""
    own = normal(10, 0.01 * math.sqrt(2), sets=2000)
    slower, same = ratio.judge(own + math.log(1.05)), ratio.judge(own)
    assert np.mean(slower.verdict == ratio.SLOWER) > 0.95
    assert not np.isin(same.verdict, (ratio.SLOWER, ratio.FASTER)).any()
    assert np.mean(same.verdict == ratio.EQUAL) > 0.6
    covered = (slower.low <= math.log(1.05)) & (math.log(1.05) <= slower.high)
    assert np.mean(covered) > 0.93


def test_noise_beyond_what_ten_blocks_resolve_is_unresolved_not_equal():
    wide = ratio.judge(normal(10, 0.1, sets=500))
    assert np.mean(wide.verdict == ratio.UNRESOLVED) > 0.95


def test_skewed_differences_are_decided_by_order_statistics():
    """One block in ten is 30 % slower: the mean's interval reaches across 1, the median's does not care."""
    found = np.array([0.050, 0.051, 0.052, 0.049, 0.050, 0.048, 0.051, 0.050, 0.049, 0.350])
    judged = ratio.judge(found)
    assert judged.by_order and judged.skewness > 1
    assert judged.verdict == ratio.SLOWER and judged.t_low < ratio.LOG_MARGIN < judged.order_low
    assert (judged.low, judged.high, judged.level) == (0.049, 0.052, pytest.approx(1 - 22 / 1024))
    assert judged.center == pytest.approx(0.050) and judged.p == pytest.approx(2 / 1024)


def test_where_the_two_intervals_disagree_the_order_statistics_decide():
    # symmetric, so not skewed; the t-interval at 90 % is inside the margin, the second and the ninth are not
    found = np.array([-0.025, -0.024, -0.002, -0.001, 0.0, 0.0, 0.001, 0.002, 0.024, 0.025])
    judged = ratio.judge(found)
    assert abs(judged.skewness) < 1e-9 and judged.by_order and judged.verdict == ratio.UNRESOLVED
    low, high = statistics.t_limits(found, ratio.EQUAL_LEVEL)
    assert -ratio.LOG_MARGIN < low < high < ratio.LOG_MARGIN


def test_equality_needs_the_ninety_percent_interval_inside_the_margin():
    found = 0.0105 + np.array([-0.03] + [0.0] * 8 + [0.03])
    judged = ratio.judge(found)
    assert judged.t_high > ratio.LOG_MARGIN, "at 95 % it is not inside"
    assert judged.verdict == ratio.EQUAL and not judged.by_order


def test_five_blocks_that_order_statistics_decide_can_never_be_significant():
    assert ratio.sign_p(np.full(5, 1.0)) == pytest.approx(0.0625)


def test_the_same_number_in_every_block_is_judged_without_a_spread():
    equal, slower = ratio.judge(np.zeros(10)), ratio.judge(np.full(10, 0.1))
    assert (equal.verdict, equal.p) == (ratio.EQUAL, 1.0)
    assert slower.verdict == ratio.SLOWER and slower.p < 0.05
    assert ratio.t_p(np.full(10, ratio.LOG_MARGIN)) == 1.0, "the margin itself is not beyond the margin"


@pytest.mark.parametrize(("spread", "blocks", "pairs"), [(0.014, 10, 21), (0.028, 20, 21), (0.01, 10, 1)])
def test_a_resolvable_ratio_is_found_in_four_of_five_studies(spread, blocks, pairs):
    true = ratio.resolvable(spread, blocks, pairs)
    found = normal(blocks, spread, math.log(true), sets=8000)
    power = np.mean((ratio.t_p(found) <= ratio.ALPHA / pairs) & (found.mean(-1) > 0))
    assert power == pytest.approx(ratio.POWER, abs=0.018)  # four standard errors


def test_resolvable_ratios_shrink_with_blocks_and_grow_with_spread_and_pairs():
    base = ratio.resolvable(0.02, 10, 6)
    assert ratio.resolvable(0.02, 20, 6) < base < ratio.resolvable(0.03, 10, 6)
    assert base < ratio.resolvable(0.02, 10, 21) and ratio.resolvable(0.0, 10, 6) == pytest.approx(1.02)
