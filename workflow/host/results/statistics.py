"""Statistics of repeats and steps: the interval for a median, and where a series of step times becomes steady.

Everything here is computed from raw records, after the run, so that anybody can do it again. Intervals are over
repeats (fresh processes), never over steps: the steps of one process share its memory layout, kernel choices and
clocks, and an interval over them is several times too narrow.

Sources: David and Nagaraja 2003, "Order Statistics", section 7.1 (the interval); Le Boudec 2010, "Performance
Evaluation of Computer and Communication Systems" (its use for benchmarks); Kalibera and Jones 2013, "Rigorous
benchmarking in reasonable time" (repeats as the unit); Barrett et al. 2017, "Virtual machine warmup blows hot and
cold" (the names of the warm-up classes).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

MIN_REPEATS = 5  # below this [min, max] has at most 87.5 %: all points are shown and no interval is claimed
WINDOW = 10  # steps a window of the warm-up rule
MIN_TOLERANCE = 0.01
WIDE_TOLERANCE = 0.02  # a wider tolerance could hide a warm-up that matters
# A median of w values has standard error 1.2533 sigma / sqrt(w) (normal noise); four of those are the tolerance.
TOLERANCE_FACTOR = 4 * math.sqrt(math.pi / 2)


@dataclass(frozen=True)
class Interval:
    """An interval for a median: two of the sorted values, their ranks counted from 1, and the exact level in [0, 1]."""

    low: float
    high: float
    level: float
    low_rank: int
    high_rank: int


def median_ranks(count, level=0.95):
    """Return (low rank, high rank, exact level) of the narrowest symmetric pair of order statistics that has the level.

    count    number of independent values, at least 1
    level    wanted coverage in (0, 1)
    returns  ranks from 1 and the binomial coverage P(low < median < high) = 1 - 2 P(X < low rank), X ~ B(count, 1/2);
             where even [min, max] does not reach the level, [min, max] with the level that it has
    raises   ValueError for a count below 1 or a level outside (0, 1)
    """
    if count < 1 or not 0 < level < 1:
        raise ValueError("count {!r} must be at least 1 and level {!r} between 0 and 1".format(count, level))
    binomial = stats.binom(count, 0.5)
    low = max(1, int(binomial.ppf((1 - level) / 2)))
    # ppf is the first k with P(X <= k) >= (1 - level) / 2, so P(X < k) stays below: k is the rank, unless equality
    while low < (count + 1) // 2 and binomial.cdf(low) <= (1 - level) / 2:
        low += 1
    return low, count + 1 - low, float(1 - 2 * binomial.cdf(low - 1))


def median_interval(values, level=0.95):
    """Return the exact order-statistic Interval for the median of what the values are drawn from, or None below five.

    values   finite numbers, one a repeat (independent processes)
    level    wanted coverage; the one that is reached stands in the result (5 values: [min, max], 93.75 %)
    raises   ValueError if a value is not finite: it must have been sorted out, with its reason, before
    """
    values = np.sort(np.asarray(values, dtype=float))
    if not np.isfinite(values).all():
        raise ValueError("values {} must all be finite".format(values.tolist()))
    if len(values) < MIN_REPEATS:
        return None
    low, high, exact = median_ranks(len(values), level)
    return Interval(float(values[low - 1]), float(values[high - 1]), exact, low, high)


def t_limits(values, level=0.95):
    """Return (low, high) of the t-interval for the mean along the last axis, of at least two values each.

    For step times give their logarithms: the interval is then one for the geometric mean. Of a single cell it is for
    planning, never alone: one slow process in ten spoils it (its coverage falls to 0.6); docs/statistics.md.
    """
    values = np.asarray(values, dtype=float)
    count = values.shape[-1]
    center = values.mean(-1)
    half = stats.t.ppf((1 + level) / 2, count - 1) * values.std(-1, ddof=1) / math.sqrt(count)
    return center - half, center + half


def log_median(values):
    """Return the median of positive values, the midpoint of an even number taken on the log scale.

    Effects are ratios, so that the median of A/B must be one over the median of B/A.
    raises   ValueError for no values, or one that is not positive and finite
    """
    values = np.asarray(values, dtype=float)
    if not len(values) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError("values {} must be positive, finite and at least one".format(values.tolist()))
    middle = np.sort(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]
    return float(middle[0] * math.sqrt(middle[-1] / middle[0]))  # exact where the two are one value


@dataclass(frozen=True)
class Steady:
    """Where a series becomes steady.

    start      index of the first steady step, counted in the series as given; its length if it never becomes steady
    kind       flat, warmup (slower before), slowdown (faster before), no_steady_state (later than half way, or never),
               undetermined (fewer than two windows)
    tolerance  relative band within which windows count as the same; NaN if undetermined
    window     steps a window
    """

    start: int
    kind: str
    tolerance: float
    window: int

    @property
    def tolerance_is_wide(self):
        """True where the noise is such that a warm-up of more than 2 % could hide in it, or nothing could be said."""
        return not self.tolerance <= WIDE_TOLERANCE


def steady_state(step_times):
    """Return the Steady of one process's step times by the window rule.

    step_times  step times from step 0, any one unit, positive; step 0 (compilation, autotuning, first allocations) is
                never steady and is not looked at

    Medians of consecutive windows of 10 steps are compared with the median of those of the last half; the steady state
    begins with the first window from which all windows lie within the tolerance. The tolerance is 1 %, or more where
    the noise from step to step needs it: a fixed 1 % would call every noisy flat series unsteady. Where it exceeds 2 %
    the windows grow as long as at least six remain.
    """
    series = np.asarray(step_times, dtype=float)
    if series.ndim != 1 or not (np.isfinite(series) & (series > 0)).all():
        raise ValueError("step times must be one list of positive finite numbers")
    series = series[1:]
    if len(series) < 2 * WINDOW:
        return Steady(1, "undetermined", math.nan, WINDOW)
    noise = local_noise(series)
    window = WINDOW
    if TOLERANCE_FACTOR * noise / math.sqrt(window) > WIDE_TOLERANCE:
        wanted = math.ceil((TOLERANCE_FACTOR * noise / WIDE_TOLERANCE) ** 2)
        window = wanted if len(series) >= 6 * wanted else window
    tolerance = max(MIN_TOLERANCE, TOLERANCE_FACTOR * noise / math.sqrt(window))
    medians = window_medians(series, window)
    reference = np.median(medians[len(medians) // 2 :])
    deviations = medians / reference - 1
    outside = np.flatnonzero(np.abs(deviations) > tolerance)
    if not len(outside):
        return Steady(1, "flat", tolerance, window)
    first = outside[-1] + 1
    start = 1 + int(first * window) if first < len(medians) else len(series) + 1
    if start > (len(series) + 1) / 2:
        kind = "no_steady_state"
    else:
        kind = "slowdown" if (deviations[:first] < -tolerance).any() else "warmup"
    return Steady(start, kind, tolerance, window)


def local_noise(series):
    """Return the noise from step to step relative to the median: the robust spread of the differences.

    Differences do not see a slow trend; their median absolute value does not see single spikes. The difference of two
    values of deviation sigma has sqrt(2) sigma, and the median of |normal| is 0.6745 of its deviation.
    """
    return float(np.median(np.abs(np.diff(series))) / (0.6745 * math.sqrt(2)) / np.median(series))


def window_medians(series, window):
    """Return the medians of consecutive windows: every step is looked at.

    A remainder of at least three quarters is a window of its own, a shorter one joins the last: alone it would be too
    noisy for the tolerance, and a long one would pull the end of a drift back towards the middle.
    """
    starts = list(range(0, len(series), window))
    if len(series) - starts[-1] < 0.75 * window:
        starts.pop()
    stops = starts[1:] + [len(series)]
    return np.array([np.median(series[start:stop]) for start, stop in zip(starts, stops, strict=True)])
