"""Do the intervals cover, and do the verdicts hold, as often as the method says? Simulated with the project's own code.

    PYTHONPATH=workflow .venv/bin/python benchmarks/coverage.py [--sets 40000] [--seed 2016]

Prints tables in Markdown: what was found, its Monte-Carlo standard error, and the value that the method was chosen by
(its simulation had another seed and, where `published` says so, fewer sets). A value that differs by more than three
standard errors of both is marked; then, or where a gate is missed, the exit status is 1.

Noise is on the logarithm of a process's step time: normal, skewed (exponential), bimodal (30 % of processes 5 %
slower), outliers (10 % of processes 15 % slower).
"""

import argparse
import math
import sys

import numpy as np
from scipy import optimize, stats

from host.results import statistics
from host.results.comparison import ranking, ratio

CHUNK = 4000  # data sets at once, so that memory stays small
FRAMEWORKS = 7
PAIRS = math.comb(FRAMEWORKS, 2)
GATE = {5: 0.92, 10: 0.95}  # order statistics must cover this often, whatever the shape
# name: (share of slow processes, how much slower, sigma of the rest); exponential noise has a scale only
MIXTURES = {"normal": (0.0, 0.0, 0.02), "bimodal": (0.3, 0.05, 0.005), "outliers": (0.1, 0.15, 0.01)}
SHAPES = ("normal", "skewed", "bimodal", "outliers")

# (shape, n): coverage of t for the mean, of order statistics for the median; 1,000 sets, order statistics from n = 10
# on 40,000. None where nothing was published.
PUBLISHED_CELL = {
    ("normal", 3): (0.934, 0.738), ("normal", 5): (0.933, 0.931), ("normal", 10): (0.953, 0.979),
    ("normal", 20): (0.953, 0.959), ("skewed", 3): (None, None), ("skewed", 5): (0.898, 0.928),
    ("skewed", 10): (0.894, 0.979), ("skewed", 20): (0.938, 0.959), ("bimodal", 3): (None, None),
    ("bimodal", 5): (0.824, 0.932), ("bimodal", 10): (0.936, 0.978), ("bimodal", 20): (0.929, 0.959),
    ("outliers", 3): (None, None), ("outliers", 5): (0.600, 0.933), ("outliers", 10): (0.665, 0.979),
    ("outliers", 20): (0.872, 0.959),
}  # fmt: skip
# (shape, n, sd of a block): coverage and half width of paired t, coverage and half width of Welch; 40,000 sets
PUBLISHED_RATIO = {
    ("normal", 5, 0.03): (0.951, 0.032, 0.995, 0.050),
    ("normal", 10, 0.03): (0.950, 0.0195, 0.997, 0.033),
    ("normal", 10, 0.0): (0.951, 0.0195, 0.952, 0.019),
    ("skewed", 5, 0.03): (0.966, 0.029, 0.997, 0.050),
    ("skewed", 10, 0.03): (0.959, 0.018, 0.999, 0.033),
    ("outliers", 5, 0.03): (0.980, 0.080, 0.997, 0.083),
    ("outliers", 10, 0.03): (0.981, 0.045, 0.993, 0.052),
}
# (shape and scale of A, n): coverage of paired t, of order statistics; B is normal, sigma 1 %; 40,000 sets
PUBLISHED_UNLIKE = {
    ("skewed", 0.02, 10): (0.929, 0.978),
    ("skewed", 0.02, 20): (0.935, 0.959),
    ("skewed", 0.05, 10): (0.906, 0.978),
    ("skewed", 0.05, 20): (0.921, 0.958),
    ("outliers", 0.01, 10): (0.704, 0.979),
    ("outliers", 0.01, 20): (0.878, 0.959),
}
# n: any of 21 pairs of identical frameworks called different (no correction, Holm, margin alone, both); sets not stated
PUBLISHED_FALSE = {5: (0.52, 0.046, 0.024, None), 10: (0.48, 0.044, 0.002, None)}
# (sigma, n): power for 5 % without and with the margin, for 8 % with it, equal called equal; 40,000 sets
PUBLISHED_POWER = {
    (0.01, 5): (0.73, 0.27, 0.88, 0.67),
    (0.01, 10): (1.00, 0.97, 1.00, 0.99),
    (0.02, 5): (0.17, 0.04, 0.26, 0.09),
    (0.02, 10): (0.86, 0.31, 0.97, 0.35),
    (0.02, 20): (1.00, 0.87, 1.00, 0.84),
}
FEW, MANY = 1_000, 40_000


def noise(shape, size, random, scale=None):
    """Return log step times of this shape; scale replaces the shape's own sigma."""
    if shape == "skewed":
        return random.exponential(scale or 0.02, size)
    share, shift, sigma = MIXTURES[shape]
    return random.normal(0, scale or sigma, size) + shift * (random.random(size) < share)


def truths(shape, scale=None, other=0.0):
    """Return (mean, median) of a shape; other is the sigma of normal noise that is subtracted from it."""
    if shape == "skewed":
        scale = scale or 0.02
        below = stats.exponnorm(scale / other, scale=other).cdf if other else stats.expon(scale=scale).cdf
        return scale, optimize.brentq(lambda x: below(x) - 0.5, -1, 1)
    share, shift, sigma = MIXTURES[shape]
    sigma = math.hypot(scale or sigma, other)
    return share * shift, optimize.brentq(
        lambda x: (1 - share) * stats.norm.cdf(x / sigma) + share * stats.norm.cdf((x - shift) / sigma) - 0.5, -1, 1
    )


def chunks(sets):
    """Yield the sizes of the chunks that make so many data sets."""
    for start in range(0, sets, CHUNK):
        yield min(CHUNK, sets - start)


def share(found):
    """Return (share of True, its Monte-Carlo standard error), never 0: a share of 0 of n is known to about 1 / n."""
    found = np.concatenate([np.atleast_1d(part) for part in found])
    mean = float(found.mean())
    return mean, max(math.sqrt(mean * (1 - mean) / len(found)), 1 / len(found))


def middle(widths):
    """Return (median, its standard error) of half widths."""
    widths = np.concatenate(widths)
    return float(np.median(widths)), 1.2533 * float(widths.std()) / math.sqrt(len(widths))


def covers(limits, truth):
    """Return whether each interval holds the truth."""
    return (limits[0] <= truth) & (truth <= limits[1])


def of_cells(sets, random):
    """Return {(shape, n): (coverage of t, coverage of order statistics)}, each with its standard error."""
    found = {}
    for shape, count in PUBLISHED_CELL:
        mean, median = truths(shape)
        by_t, by_order = [], []
        for size in chunks(sets):
            values = noise(shape, (size, count), random)
            by_t.append(covers(statistics.t_limits(values), mean))
            by_order.append(covers(ratio.order_limits(values), median))
        found[shape, count] = share(by_t), share(by_order)
    return found


def of_ratios(sets, random):
    """Return {(shape, n, block sd): (t coverage, t half width, Welch coverage, Welch half width, order coverage)}."""
    found = {}
    for shape, count, block in PUBLISHED_RATIO:
        columns = [[] for _ in range(5)]
        for size in chunks(sets):
            shared = random.normal(0, block, (size, count))
            first, second = (shared + noise(shape, (size, count), random) for _ in range(2))
            paired, welch = statistics.t_limits(first - second), ratio.welch_limits(first, second)
            row = [covers(paired, 0), (paired[1] - paired[0]) / 2, covers(welch, 0), (welch[1] - welch[0]) / 2]
            for column, values in zip(columns, [*row, covers(ratio.order_limits(first - second), 0)], strict=True):
                column.append(values)
        summaries = (share, middle, share, middle, share)
        found[shape, count, block] = tuple(of(column) for of, column in zip(summaries, columns, strict=True))
    return found


def of_unlike(sets, random):
    """Return {(shape of A, its scale, n): (t coverage of the mean, order coverage of the median difference)}."""
    found = {}
    for shape, scale, count in PUBLISHED_UNLIKE:
        mean, median = truths(shape, scale, other=0.01)
        by_t, by_order = [], []
        for size in chunks(sets):
            differences = noise(shape, (size, count), random, scale) - random.normal(0, 0.01, (size, count))
            by_t.append(covers(statistics.t_limits(differences), mean))
            by_order.append(covers(ratio.order_limits(differences), median))
        found[shape, scale, count] = share(by_t), share(by_order)
    return found


def of_false_differences(sets, random):
    """Return {n: how often any of 21 pairs of identical frameworks is called different}.

    In columns: by t without correction, with Holm, with the margin alone, and by the rule in force.
    """
    first, second = np.triu_indices(FRAMEWORKS, 1)
    found = {}
    for count in PUBLISHED_FALSE:
        columns = [[] for _ in range(4)]
        for size in chunks(sets):
            times = random.normal(0, 0.02, (size, FRAMEWORKS, count))
            differences = times[:, first] - times[:, second]
            alone, margin = ratio.t_p(differences, 0.0), ratio.t_p(differences)
            for column, p in zip(columns, (alone, ranking.holm(alone), margin, in_force(differences)), strict=True):
                column.append((p <= ratio.ALPHA).any(-1))
        found[count] = tuple(map(share, columns))
    return found


def in_force(differences, pairs=None):
    """Return the adjusted p of what decides each pair: Holm's, or with pairs Bonferroni's for so many."""
    p = ratio.judge(differences).p
    return ranking.holm(p) if pairs is None else np.minimum(1, pairs * p)


def of_power(sets, random):
    """Return {(sigma, n): power for 5 % with null 0, for 5 % and 8 % with the margin, equal called equal}, by t alone.

    The differences are 0.05 and 0.08, the margin 0.02, on the log scale; tests are at Bonferroni's level for 21 pairs.
    """
    found = {}
    for sigma, count in PUBLISHED_POWER:
        columns = [[] for _ in range(4)]
        for size in chunks(sets):
            own = random.normal(0, sigma * math.sqrt(2), (size, count))
            low, high = statistics.t_limits(own, ratio.EQUAL_LEVEL)
            row = [ratio.t_p(own + true, margin) <= ratio.ALPHA / PAIRS for true, margin in
                   ((0.05, 0.0), (0.05, 0.02), (0.08, 0.02))]  # fmt: skip
            for column, values in zip(columns, [*row, (low > -0.02) & (high < 0.02)], strict=True):
                column.append(values)
        found[sigma, count] = tuple(map(share, columns))
    return found


def of_rule(sets, random):
    """Return {(sigma, n): what the rule in force does}: t and order statistics together, the ratios as they are said.

    In columns: a ratio of 1.05 and of 1.08 called slower among 21 pairs, 1 called equal, 1 called different by itself,
    1.02 (the margin's edge) called slower by itself, and how often the order statistics decide at 1.05.
    """
    found = {}
    for sigma, count in PUBLISHED_POWER:
        columns = [[] for _ in range(6)]
        for size in chunks(sets):
            own = random.normal(0, sigma * math.sqrt(2), (size, count))
            none, edge, five = (ratio.judge(own + math.log(true)) for true in (1, 1 + ratio.MARGIN, 1.05))
            slower = [in_force(own + math.log(true), PAIRS) <= ratio.ALPHA for true in (1.05, 1.08)]
            different = np.isin(none.verdict, (ratio.FASTER, ratio.SLOWER))
            row = [*slower, none.verdict == ratio.EQUAL, different, edge.verdict == ratio.SLOWER, five.by_order]
            for column, values in zip(columns, row, strict=True):
                column.append(values)
        found[sigma, count] = tuple(map(share, columns))
    return found


def of_rule_unlike(sets, random):
    """Return {(shape, scale, n): how often a median ratio at the margin's edge is called slower}: should be <= 2.5 %.

    In columns: by t alone, by order statistics alone, by the rule in force. A has the shape, B is normal, sigma 1 %.
    """
    found = {}
    for shape, scale, count in PUBLISHED_UNLIKE:
        _, median = truths(shape, scale, other=0.01)
        columns = [[] for _ in range(3)]
        for size in chunks(sets):
            differences = noise(shape, (size, count), random, scale) - random.normal(0, 0.01, (size, count))
            at_edge = differences - median + ratio.LOG_MARGIN
            judged = ratio.judge(at_edge)
            row = [judged.t_low > ratio.LOG_MARGIN, judged.order_low > ratio.LOG_MARGIN]
            for column, values in zip(columns, [*row, judged.verdict == ratio.SLOWER], strict=True):
                column.append(values)
        found[shape, scale, count] = tuple(map(share, columns))
    return found


def differs(found, published, sets):
    """Return whether a value is more than three standard errors of both, and the rounding, from the published one."""
    value, error = found
    digits = len(repr(published).split(".")[1])
    rounding = 0.5 * 10**-digits if published < 1 else 0.005
    theirs = math.sqrt(max(published * (1 - published), 1 / sets) / sets)
    return abs(value - published) > 3 * math.hypot(error, theirs) + rounding


def table(title, heads, found, published=None, sets=MANY):
    """Return (Markdown lines of one table, number of values that differ from the published ones).

    heads      names of the key's columns, then of the values'
    found      {key: values with their standard errors}; published {key: values or None}
    sets       data sets behind the published values: a number, or a function of the key and the column
    """
    lines = ["", "## " + title, "", "| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    count = 0
    for key in found:
        texts = [text(part) for part in (key if isinstance(key, tuple) else (key,))]
        for column, value in enumerate(found[key]):
            entry = "{:.4f} ± {:.4f}".format(*value)
            theirs = (published or {}).get(key, ())
            if column < len(theirs) and theirs[column] is not None:
                wrong = differs(value, theirs[column], sets(key, column) if callable(sets) else sets)
                entry += " ({:g}{})".format(theirs[column], ", DIFFERS" if wrong else "")
                count += wrong
            texts.append(entry)
        lines.append("| " + " | ".join(texts) + " |")
    return lines, count


def text(part):
    """Return one part of a key for a reader."""
    return "{:g} %".format(100 * part) if isinstance(part, float) else str(part)


def missed(found):
    """Return the (shape, n) at which order statistics cover less than the gate wants, beyond three standard errors."""
    return [key for key, (_, (value, error)) in found.items() if key[1] in GATE and value + 3 * error < GATE[key[1]]]


def report(sets, seed):
    """Return (Markdown text, whether everything agrees and no gate is missed)."""
    random = [np.random.default_rng([seed, number]) for number in range(7)]
    cells = of_cells(sets, random[0])
    shape, unlike = ["shape", "n"], ["shape of A", "scale", "n"]
    edge = ["t alone", "order statistics alone", "rule in force"]
    parts = [
        table("Intervals of one cell: coverage at a nominal 95 %", [*shape, "t, mean", "order statistics, median"],
              cells, PUBLISHED_CELL, lambda key, column: MANY if column and key[1] >= 10 else FEW),
        table("Ratio of two frameworks of one shape: coverage and median half width",
              [*shape, "block sd", "paired t", "half width", "Welch", "half width", "order statistics"],
              of_ratios(sets, random[1]), PUBLISHED_RATIO),
        table("Ratio where only one is ill-shaped: coverage", [*unlike, "paired t", "order statistics"],
              of_unlike(sets, random[2]), PUBLISHED_UNLIKE),
        table("Seven identical frameworks, sigma 2 %: at least one of 21 pairs called different",
              ["n", "no correction", "Holm", "margin alone", "rule in force"],
              of_false_differences(sets, random[3]), PUBLISHED_FALSE, FEW),
        table("Power of paired t among 21 pairs (log differences 0.05 and 0.08, margin 0.02)",
              ["sigma", "n", "5 %, null 0", "5 %, margin", "8 %, margin", "equal called equal"],
              of_power(sets, random[4]), PUBLISHED_POWER),
        table("The rule in force (t, order statistics where they disagree or are skewed; ratios 1.05 and 1.08)",
              ["sigma", "n", "1.05 slower", "1.08 slower", "1 equal", "1 different", "1.02 slower", "by order"],
              of_rule(sets, random[5])),
        table("A median ratio at the margin's edge called slower, only A ill-shaped: at most 0.025 is right",
              [*unlike, *edge], of_rule_unlike(sets, random[6])),
    ]  # fmt: skip
    differing, gates = sum(count for _, count in parts), missed(cells)
    lines = ["# Coverage and power, {} data sets a line, seed {}".format(sets, seed), ""]
    lines.append("Found ± Monte-Carlo standard error (published value, which has an error of its own).")
    lines += [line for part, _ in parts for line in part]
    lines += ["", "{} of the published values differ by more than three standard errors.".format(differing)]
    lines.append("Gate (order statistics {}): {}.".format(
        ", ".join(">= {} at n = {}".format(*pair[::-1]) for pair in GATE.items()), gates or "passed"))  # fmt: skip
    return "\n".join(lines), not differing and not gates


def main(arguments=None):
    """Print the tables; return 1 where something differs or a gate is missed."""
    parser = argparse.ArgumentParser(prog="benchmarks/coverage.py", description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=MANY, metavar="N", help="simulated data sets a line (40000)")
    parser.add_argument("--seed", type=int, default=2016)
    options = parser.parse_args(arguments)
    text_of_tables, agrees = report(options.sets, options.seed)
    print(text_of_tables)
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
