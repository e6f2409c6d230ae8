"""Judge one pair from the differences of its log step times within blocks: two intervals, a p-value, a verdict.

Differences are log(time of the first) - log(time of the second), one a block (the same repeat, call and machine), so
that a block's own state (temperature, neighbours) cancels. All functions take arrays of shape (..., blocks) and work
along the last axis: benchmarks/coverage.py runs them on many thousand simulated data sets at once.

Sources: Schuirmann 1987 (two one-sided tests for equality); David and Nagaraja 2003, section 7.1, and Dixon and Mood
1946, "The statistical sign test" (order statistics); Kalibera and Jones 2013 (ratios with intervals as effect size).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from host.results.statistics import median_ranks, t_limits

MARGIN = 0.02  # ratios within 1 ± this count as equal in practice
LOG_MARGIN = math.log1p(MARGIN)
LEVEL = 0.95  # of the interval that must lie outside the margin for a difference
EQUAL_LEVEL = 0.90  # of the interval that must lie inside it for equality: two one-sided tests at 5 %
ALPHA = 0.05
MIN_BLOCKS = 5  # below this nothing is said
CLAIM_BLOCKS = 10  # below this what is said is exploratory
MAX_SKEWNESS = 1.0  # beyond it the mean's t-interval is not believed
POWER = 0.8  # with which a difference of the resolvable size would have been found
SMALLEST_SPREAD = 1e-12  # of log times: below it all differences are one number and have no shape

FASTER, EQUAL, SLOWER, UNRESOLVED = -1, 0, 1, 2  # of the first against the second; faster is -slower
VERDICTS = {FASTER: "faster", EQUAL: "equal", SLOWER: "slower", UNRESOLVED: "unresolved"}


@dataclass(frozen=True)
class Judgement:
    """What the differences of pairs say, before any correction for their number; arrays of one shape.

    center, low, high                logarithms of the ratio and of its interval, from the interval that decides
    level                            its level: 0.95 of t, the exact one of the order statistics
    t_low, t_high                    the t-interval of the mean difference
    order_low, order_high            the order-statistic interval of the median difference; order_level its exact level
    skewness                         third moment over second moment to the power 3/2
    by_order                         True where the order statistics decide (and the pair is marked)
    verdict                          FASTER, EQUAL, SLOWER or UNRESOLVED
    p                                of the null hypothesis that the ratio is within the margin, by what decides
    """

    center: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: np.ndarray
    t_low: np.ndarray
    t_high: np.ndarray
    order_low: np.ndarray
    order_high: np.ndarray
    order_level: float
    skewness: np.ndarray
    by_order: np.ndarray
    verdict: np.ndarray
    p: np.ndarray


def judge(differences, margin=LOG_MARGIN):
    """Return the Judgement of differences of shape (..., blocks), at least five blocks.

    The mean's t-interval decides unless the differences are skewed by more than 1 or the two intervals give different
    verdicts: then the order-statistic interval of the median difference does, whose level holds in any shape, and with
    it the p-value is that of the sign test.
    """
    differences = np.asarray(differences, dtype=float)
    blocks = differences.shape[-1]
    if blocks < MIN_BLOCKS:
        raise ValueError("{} blocks: nothing is said below {}".format(blocks, MIN_BLOCKS))
    t_low, t_high = t_limits(differences, LEVEL)
    order_low, order_high, order_level = order_limits(differences, LEVEL)
    by_t = interval_verdict(t_low, t_high, *t_limits(differences, EQUAL_LEVEL), margin)
    order_equal = order_limits(differences, EQUAL_LEVEL)[:2]
    by_ranks = interval_verdict(order_low, order_high, *order_equal, margin)
    skew = skewness(differences)
    by_order = (np.abs(skew) > MAX_SKEWNESS) | (by_t != by_ranks)
    return Judgement(
        center=np.where(by_order, np.median(differences, -1), differences.mean(-1)),
        low=np.where(by_order, order_low, t_low),
        high=np.where(by_order, order_high, t_high),
        level=np.where(by_order, order_level, LEVEL),
        t_low=t_low,
        t_high=t_high,
        order_low=order_low,
        order_high=order_high,
        order_level=order_level,
        skewness=skew,
        by_order=by_order,
        verdict=np.where(by_order, by_ranks, by_t),
        p=np.where(by_order, sign_p(differences, margin), t_p(differences, margin)),
    )


def welch_limits(first, second, level=LEVEL):
    """Return (low, high) of Welch's interval for the difference of two means along the last axis, blocks ignored.

    A supplement: it is too wide where a block moves both alike. Source: Welch 1947.
    """
    errors = [values.var(-1, ddof=1) / values.shape[-1] for values in (first, second)]
    total = errors[0] + errors[1]
    shares = sum(error**2 / (values.shape[-1] - 1) for error, values in zip(errors, (first, second), strict=True))
    freedom = np.where(total > 0, total**2 / np.where(shares > 0, shares, 1.0), 1.0)
    half = stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(total)
    center = first.mean(-1) - second.mean(-1)
    return center - half, center + half


def order_limits(values, level=LEVEL):
    """Return (low, high, exact level): the order-statistic interval of the median of values of shape (..., n).

    The narrowest symmetric pair of order statistics that covers at least `level`; of five values [min, max], 93.75 %.
    """
    low, high, exact = median_ranks(values.shape[-1], level)
    ordered = np.sort(values, -1)
    return ordered[..., low - 1], ordered[..., high - 1], exact


def interval_verdict(low, high, equal_low, equal_high, margin):
    """Return the verdict: (low, high) lies outside the margin, (equal_low, equal_high) inside it, or neither."""
    inside = (equal_low > -margin) & (equal_high < margin)
    verdict = np.where(inside, EQUAL, UNRESOLVED)
    return np.where(low > margin, SLOWER, np.where(high < -margin, FASTER, verdict))


def beyond_margin(low, high):
    """Return whether an interval of ratios lies wholly outside the margin."""
    return low > 1 + MARGIN or high < 1 / (1 + MARGIN)


def skewness(values):
    """Return the moment coefficient of skewness along the last axis; 0 where all values are one number."""
    centered = values - values.mean(-1, keepdims=True)
    second = (centered**2).mean(-1)
    flat = second <= SMALLEST_SPREAD**2
    return np.where(flat, 0.0, (centered**3).mean(-1) / np.where(flat, 1.0, second) ** 1.5)


def t_p(differences, margin=LOG_MARGIN):
    """Return the p-value of the paired t-test against |mean difference| <= margin: one-sided at its edges, twice."""
    blocks = differences.shape[-1]
    mean = differences.mean(-1)
    error = differences.std(-1, ddof=1) / math.sqrt(blocks)
    beyond = np.abs(mean) - margin
    # Without any spread the t value would be a quotient by zero; which side of the margin it is on is what is left.
    spread = error > SMALLEST_SPREAD
    t = np.where(spread, beyond / np.where(spread, error, 1.0), np.where(beyond > SMALLEST_SPREAD, np.inf, -np.inf))
    return np.minimum(1.0, 2 * stats.t.sf(t, blocks - 1))


def sign_p(differences, margin=LOG_MARGIN):
    """Return the p-value of the sign test against |median difference| <= margin: one-sided at its edges, twice."""
    blocks = differences.shape[-1]
    beyond = np.maximum((differences > margin).sum(-1), (differences < -margin).sum(-1))
    return np.minimum(1.0, 2 * stats.binom.sf(beyond - 1, blocks, 0.5))


def resolvable(spread, blocks, pairs):
    """Return the smallest ratio that would have been found with 80 % probability in a family of so many pairs.

    spread   standard deviation of the pair's differences of log time
    blocks   complete blocks, at least 2
    pairs    pairs of the family: the strictest step of Holm's procedure has the level 0.05 / pairs
    returns  the true ratio (above 1.02) whose t-test against the margin has power 0.8 at that step, by the non-central
             t distribution; it holds for pairs that the t-interval decides
    """
    critical = stats.t.isf(ALPHA / (2 * pairs), blocks - 1)
    shift = optimize.brentq(lambda by: stats.nct.sf(critical, blocks - 1, by) - POWER, 0.0, 4 * critical + 10)
    return math.exp(LOG_MARGIN + shift * spread / math.sqrt(blocks))
