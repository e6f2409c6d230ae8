"""What a comparison found, in plain sentences: who is faster than whom, who ties, what is left open."""

import pandas as pd

from host.results import panels
from host.results.comparison import families, ratio
from host.results.comparison.families import EXPLORATORY, NO_CLAIM, RANKED
from host.results.words import listed


def section(found):
    """Return the guide's lines on a Comparison: a sentence or two a family, ranked or not; [] without any family."""
    entries = found.entries.assign(setting=panels.settings(found.entries), label=labels(found.entries))
    lines = []
    for (network, setting, _), part in in_order(entries):
        pairs = found.pairs[found.pairs["family"] == part["family"].iloc[0]]
        said = ranked(part, pairs, found) if (part["standing"] == RANKED).any() else unranked(part, pairs)
        if said:
            lines.append("- {}, {}: {}".format(network, setting, " ".join(said)))
    return ["## Who is faster?", "", preface(found), "", *lines] if lines else []


def preface(found):
    """Return how the sentences are to be read."""
    return (
        "Ratios of step times over the blocks in which both ended ok, with their intervals. Within {:.0f} % counts as "
        "equal; differences are corrected for the number of pairs that are compared with each other. What is resolved "
        "neither way is said to be unresolved, not equal.".format(100 * ratio.MARGIN)
    )


def in_order(entries):
    """Return ((network, setting, family), rows) of each family, networks and settings in the order of the guide."""
    known = entries[entries["family"].notna()]
    table = known.sort_values(["network", "setting"], key=panels.in_order, kind="stable")
    return table.groupby(["network", "setting", "family"], sort=False)


def labels(entries):
    """Return each cell's name within its family, on one line."""
    if entries.empty:
        return pd.Series(dtype="object")
    return panels.entries(entries).str.replace(r"\n(.*)", r" (\1)", regex=True)


def ranked(part, pairs, found):
    """Return the sentences of a family with a ranking: the leader against every other, then the classes."""
    place = part[part["standing"] == RANKED].sort_values("seconds", kind="stable")
    name, leader = place["label"], place.index[0]
    ratios = families.against(found, leader)
    by_verdict = {"faster": [], "equal": [], "unresolved": []}
    for other in place.index[1:]:
        by_verdict[verdict_of(pairs, leader, other)].append(other)
    faster = [
        "{:.2f}× faster than {} {}".format(ratios[o][0], name[o], limits(ratios[o])) for o in by_verdict["faster"]
    ]
    parts = [", ".join(["**{}**".format(name[leader]), *([listed(faster)] if faster else [])])]
    parts += ["{} ties with it {}".format(name[o], limits(ratios[o])) for o in by_verdict["equal"]]
    parts += ["{} is unresolved against it {}".format(name[o], limits(ratios[o])) for o in by_verdict["unresolved"]]
    classes = place.groupby("speed_class")["label"].apply(listed)
    listing = "; ".join("{} {}".format(number, who) for number, who in classes.items())
    said = ["; ".join(parts) + "."] + (["Speed classes: {}.".format(listing)] if len(classes) > 1 else [])
    return said + aside(part) + [resolvable(pairs)]


def limits(numbers):
    """Return an interval as text."""
    return "[{:.2f}, {:.2f}]".format(*numbers[1:])


def verdict_of(pairs, first, second):
    """Return the verdict of the first against the second, whichever way round the pair stands."""
    for pair in pairs.to_dict("records"):
        if (pair["first"], pair["second"]) == (first, second):
            return pair["verdict"]
        if (pair["second"], pair["first"]) == (first, second):
            return {"faster": "slower", "slower": "faster"}.get(pair["verdict"], pair["verdict"])
    return NO_CLAIM


def unranked(part, pairs):
    """Return the sentences of a family without a ranking: every pair of declared executions, for what it is worth."""
    declared = part.index[part["standing"] == EXPLORATORY]
    chosen = pairs[pairs["first"].isin(declared) & pairs["second"].isin(declared)]
    if chosen.empty:
        return []
    judged = chosen[chosen["verdict"] != NO_CLAIM]
    if judged.empty:
        return ["nothing can be said: fewer than {} complete blocks.".format(ratio.MIN_BLOCKS)]
    return ["; ".join(in_words(pair, part["label"]) for pair in judged.to_dict("records")) + ".", resolvable(judged)]


def in_words(pair, name):
    """Return what one pair that is not ranked shows."""
    numbers = "{:.2f} {}".format(pair["ratio"], limits((pair["ratio"], pair["low"], pair["high"])))
    words = {"faster": "{} takes less time than {}, {}", "slower": "{} takes more time than {}, {}"}
    words |= {"equal": "{} takes as long as {}, {}", "unresolved": "{} against {} is unresolved, {}"}
    text = words[pair["verdict"]].format(name[pair["first"]], name[pair["second"]], numbers)
    if pair["verdict"] == "unresolved" and ratio.beyond_margin(pair["low"], pair["high"]):
        text += " (beyond the margin by itself, not as one of {} pairs)".format(pair["pairs"])
    return text


def aside(part):
    """Return why compared cells are not ranked, a sentence each."""
    rows = part[part["standing"].isin((families.SHOWN, EXPLORATORY))]
    return ["{} is not ranked: {}.".format(row["label"], row["why"]) for row in rows.to_dict("records")]


def resolvable(pairs):
    """Return which differences these pairs could have resolved."""
    known = pairs["resolvable"].dropna()
    low, high = "{:.2f}".format(known.min()), "{:.2f}".format(known.max())
    text = low if low == high else "{} to {} (by the pair)".format(low, high)
    return "With this spread and n a ratio of {} would have been found with 80 % probability.".format(text)
