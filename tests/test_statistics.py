"""The interval has the level it prints, and the warm-up rule finds what is there and flags what never settles."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from host.results import statistics

positive = st.floats(min_value=1e-6, max_value=1e6)


@pytest.mark.parametrize(
    ("count", "low", "high", "level"),
    [
        (5, 1, 5, 1 - 2 / 32),  # 93.75 %: does not reach 95 % and is printed as what it is
        (6, 1, 6, 1 - 2 / 64),  # 96.9 %
        (10, 2, 9, 1 - 2 * 11 / 1024),  # 97.9 %
        (15, 4, 12, 1 - 2 * (1 + 15 + 105 + 455) / 2**15),  # 96.5 %
        (20, 6, 15, 1 - 2 * (1 + 20 + 190 + 1140 + 4845 + 15504) / 2**20),  # 95.9 %
    ],
)
def test_median_interval_has_the_closed_form_level(count, low, high, level):
    interval = statistics.median_interval(np.arange(1, count + 1))
    assert (interval.low_rank, interval.high_rank) == (low, high) == (interval.low, interval.high)
    assert interval.level == pytest.approx(level, abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_below_five_repeats_there_is_no_interval(count):
    assert statistics.median_interval(np.ones(count)) is None


@pytest.mark.parametrize("count", range(6, 60))
def test_pair_is_the_narrowest_that_covers(count):
    low, high, level = statistics.median_ranks(count)
    assert level >= 0.95
    narrower = 1 - 2 * stats.binom.cdf(low, count, 0.5)
    assert narrower < 0.95 or low == high


@pytest.mark.parametrize("count", [6, 9, 10, 13, 20, 31])
def test_interval_is_scipys(count):
    values = np.random.RandomState(count).normal(size=count)
    theirs = stats.quantile_test(values, q=0.0, p=0.5).confidence_interval(0.95)
    ours = statistics.median_interval(values)
    assert (ours.low, ours.high) == (theirs.low, theirs.high)


def test_interval_covers_a_skewed_median_as_often_as_it_says():
    random = np.random.RandomState(0)
    draws = np.exp(random.exponential(0.05, size=(4000, 5)))
    truth = math.exp(0.05 * math.log(2))
    covered = np.mean([interval.low <= truth <= interval.high for interval in map(statistics.median_interval, draws)])
    assert abs(covered - 0.9375) < 0.015  # four standard errors


@given(st.lists(positive, min_size=5, max_size=40), st.randoms(use_true_random=False))
def test_interval_does_not_depend_on_order_and_holds_the_median(values, random):
    shuffled = values[:]
    random.shuffle(shuffled)
    interval = statistics.median_interval(values)
    assert interval == statistics.median_interval(shuffled)
    assert interval.low in values and interval.high in values
    assert interval.low <= statistics.log_median(values) * (1 + 1e-12)
    assert interval.high >= statistics.log_median(values) * (1 - 1e-12)


@given(st.lists(positive, min_size=1, max_size=30))
def test_log_median_of_rates_is_one_over_that_of_times(values):
    rate = statistics.log_median([1 / value for value in values])
    assert rate * statistics.log_median(values) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("wrong", [[], [1.0, 0.0], [1.0, math.nan], [math.inf], [-1.0]])
def test_log_median_refuses_what_has_no_logarithm(wrong):
    with pytest.raises(ValueError, match="positive"):
        statistics.log_median(wrong)


def test_interval_refuses_a_value_that_is_not_finite():
    with pytest.raises(ValueError, match="finite"):
        statistics.median_interval([1, 2, 3, 4, math.nan])


# The shapes on which the rule was chosen: 200 steps, noise 0.7 %, one step in fifty a spike of 20 % on average.
def series(seed, shape, noise=0.007, steps=200):
    random = np.random.RandomState(seed)
    spikes = np.where(random.uniform(size=steps) < 0.02, random.exponential(0.2, size=steps), 0)
    return 1e7 * shape(np.arange(steps)) * (1 + noise * random.normal(size=steps)) * (1 + spikes)


def outcomes(shape, noise=0.007, seeds=40):
    return [statistics.steady_state(series(seed, shape, noise)) for seed in range(seeds)]


def share(found, kind):
    return sum(steady.kind == kind for steady in found) / len(found)


@pytest.mark.parametrize("noise", [0.007, 0.03, 0.1])
def test_flat_series_is_not_accused(noise):
    found = outcomes(lambda step: np.ones(len(step)), noise)
    assert share(found, "no_steady_state") <= 0.05
    assert np.median([steady.start for steady in found]) == 1


def test_first_step_is_never_steady_and_a_spike_there_costs_nothing_more():
    found = outcomes(lambda step: np.where(step == 0, 50.0, 1.0))
    assert min(steady.start for steady in found) == 1
    assert np.median([steady.start for steady in found]) == 1


@pytest.mark.parametrize("noise", [0.007, 0.03])
def test_step_change_is_found_where_it_is(noise):
    found = outcomes(lambda step: np.where(step <= 30, 1.08, 1.0), noise)
    assert np.median([steady.start for steady in found]) == 31
    assert share(found, "warmup") >= 0.9


def test_exponential_warm_up_ends_after_its_length():
    found = outcomes(lambda step: 1 + 0.3 * np.exp(-step / 10))
    assert 30 <= np.median([steady.start for steady in found]) <= 51


def test_getting_slower_is_told_from_warming_up():
    assert share(outcomes(lambda step: np.where(step <= 40, 0.9, 1.0)), "slowdown") >= 0.9


def test_drift_is_flagged():
    found = outcomes(lambda step: 1 + 0.05 * step / 200, seeds=200)
    assert share(found, "no_steady_state") >= 0.85
    assert all(steady.start > 100 for steady in found if steady.kind == "no_steady_state")


def test_square_wave_is_flagged():
    assert share(outcomes(lambda step: np.where(step // 25 % 2, 1.04, 1.0)), "no_steady_state") >= 0.9


def test_tolerance_tells_what_the_noise_hides():
    quiet, noisy = outcomes(np.ones_like, 0.007), outcomes(np.ones_like, 0.1)
    assert not any(steady.tolerance_is_wide for steady in quiet)
    assert all(steady.tolerance_is_wide for steady in noisy)


def test_windows_grow_until_the_tolerance_is_two_percent():
    long = statistics.steady_state(series(0, np.ones_like, 0.03, steps=2000))
    assert long.window > statistics.WINDOW and not long.tolerance_is_wide


def test_few_steps_decide_nothing():
    steady = statistics.steady_state([5.0] + [1.0] * 19)
    assert (steady.start, steady.kind, steady.tolerance_is_wide) == (1, "undetermined", True)


@settings(max_examples=50)
@given(st.lists(positive, min_size=1, max_size=120), positive)
def test_steady_start_does_not_depend_on_the_unit_and_stays_in_the_series(values, unit):
    steady = statistics.steady_state(values)
    assert 1 <= steady.start <= max(1, len(values))
    powers = 2.0 ** round(math.log2(unit))  # exact scaling: rounding must not decide the test
    assert statistics.steady_state([value * powers for value in values]).start == steady.start
