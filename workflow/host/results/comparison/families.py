"""Find in the cells what may be compared, judge every pair of it, and rank what may be ranked.

A family is everything but framework and execution: network, hardware, devices, precision, batch, threads, mode,
feeding, data, optimiser settings, protocol. Compared are its cells that have repeats which ended ok, are equivalent and
not stale; of each framework the execution that its adapter declares first may be ranked, its others are shown beside.
"""

import json
import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from host import catalogue
from host.results.comparison import ranking, ratio
from host.results.derive import CELL_AXES
from host.results.statistics import log_median
from host.results.words import EQUIVALENT, listed

FAMILY_AXES = [name for name in CELL_AXES if name not in ("framework", "execution")]
RANKED, SHOWN, EXPLORATORY, NOT_COMPARED = "ranked", "shown", "exploratory", "not compared"
NO_CLAIM = "no claim"  # the verdict of fewer than five complete blocks

CARRIED = ["path", "status_text", "reason", "n_ok", "n_expected", "exploratory", "equivalence", "flags", "versions"]
OF_ENTRY = {"family": "Int64", "standing": "str", "why": "str", "seconds": "float64", "estimator": "str"}
OF_ENTRY |= {"speed_class": "Int64", "letters": "str", "rank": "float64"}
OF_PAIR = {"family": "Int64", "first": "int64", "second": "int64", "blocks": "int64", "dropped": "str"}
OF_PAIR |= dict.fromkeys(("ratio", "low", "high", "level", "t_low", "t_high", "order_low", "order_high"), "float64")
OF_PAIR |= dict.fromkeys(("unpaired_low", "unpaired_high"), "float64")
OF_PAIR |= dict.fromkeys(("order_level", "skewness", "spread", "p", "p_holm", "resolvable"), "float64")
OF_PAIR |= {"verdict": "str", "marked": "bool", "exploratory": "bool", "ranked": "bool", "pairs": "int64"}


@dataclass(frozen=True)
class Comparison:
    """What compare found.

    entries  a row a measured cell, in the order given: CELL_AXES and CARRIED; family (null where nothing is known of
             the cell); standing (ranked, shown, exploratory, not compared) and why; seconds (step time, by the family's
             estimator: step or block); speed_class (from 1), letters and rank of what is ranked
    pairs    a row a pair of compared cells of one family: first and second (rows of entries), blocks (complete ones),
             dropped (which were not, counted), ratio of step times (first / second) with the interval that decides
             (low, high, level), all three intervals, skewness and spread of the log differences, p and Holm's p_holm,
             verdict of the first against the second, marked (the order statistics decided), exploratory, ranked (both
             are), resolvable (ratio), pairs (of its family)
    """

    entries: pd.DataFrame
    pairs: pd.DataFrame


def compare(cells):
    """Return the Comparison of a study's cells, as host.results.collect writes them; gate cells are left out."""
    measured = cells[cells["mode"] != "gate"].reset_index(drop=True)
    rows = measured.astype(object).where(measured.notna(), None).to_dict("records")
    families = {}
    for index, row in enumerate(rows):
        row.update(
            index=index,
            family=None,
            estimator_of_cell=row["estimator"],
            seconds=math.nan,
            estimator="",
            speed_class=None,
            letters="",
            rank=math.nan,
        )
        if row["mode"]:
            families.setdefault(tuple(row[name] for name in FAMILY_AXES), []).append(row)
        else:
            row.update(standing=NOT_COMPARED, why=row["reason"] or "its record says nothing")
    pairs = []
    for number, members in enumerate(families.values(), 1):
        pairs += compare_family(number, sorted(members, key=lambda row: (row["framework"], row["execution"])))
    entries = pd.DataFrame(rows, columns=[*CELL_AXES, *CARRIED, *OF_ENTRY])
    entries[CELL_AXES] = measured[CELL_AXES]  # in their own types
    return Comparison(entries.astype(OF_ENTRY), pd.DataFrame(pairs, columns=list(OF_PAIR)).astype(OF_PAIR))


def compare_family(number, members):
    """Judge one family: complete its members' rows and return the rows of its pairs."""
    for row in members:
        row.update(family=number, repeats=json.loads(row["repeats"]), why=hindrance(row))
    able = [row for row in members if not row["why"]]
    estimator = "block" if any(row["estimator_of_cell"] == "block" for row in able) else "step"
    for row in members:
        times = [repeat[estimator] for repeat in row["repeats"]]
        if row in able and None in times:
            row["why"] = "a repeat has no block pass, by which this family is compared"
        row["standing"] = NOT_COMPARED if row["why"] else ""
        if times and None not in times:
            row.update(seconds=log_median(times), estimator=estimator)
    able = [row for row in members if not row["why"]]
    pairs = [compare_pair(*two, estimator) for two in combinations(able, 2)]
    correct(pairs)
    rank(able, pairs)
    return pairs


def hindrance(row):
    """Return why a cell may not be compared, or ""."""
    if not row["n_ok"]:
        return row["reason"] or "no repeat ended ok"
    if row["equivalence"] != EQUIVALENT:
        return "{}: {}".format(row["equivalence"], row["equivalence_reason"])
    if row["n_stale"]:
        return "stale: {} of {} repeats are of other sources than the present".format(row["n_stale"], row["n_expected"])
    return ""


def compare_pair(first, second, estimator):
    """Return the row of one pair: its complete blocks, and from five on the judgement of their differences."""
    here, there = blocks_of(first, estimator), blocks_of(second, estimator)
    complete = sorted(set(here) & set(there))
    found = dict.fromkeys(OF_PAIR, math.nan)
    found |= {"family": first["family"], "first": first["index"], "second": second["index"]}
    found |= {"blocks": len(complete), "dropped": dropped(first, second, set(complete)), "verdict": NO_CLAIM}
    found |= {"marked": False, "ranked": False}
    found["exploratory"] = len(complete) < ratio.CLAIM_BLOCKS or first["exploratory"] or second["exploratory"]
    differences = np.array([math.log(here[block] / there[block]) for block in complete])
    if len(differences) < ratio.MIN_BLOCKS:
        return found | ({"ratio": math.exp(float(np.median(differences)))} if len(differences) else {})
    judged = ratio.judge(differences)
    unpaired = ratio.welch_limits(
        *(np.log([repeat[estimator] for repeat in row["repeats"]]) for row in (first, second))
    )
    logarithms = {"ratio": judged.center, "low": judged.low, "high": judged.high}
    logarithms |= {"t_low": judged.t_low, "t_high": judged.t_high}
    logarithms |= {"unpaired_low": unpaired[0], "unpaired_high": unpaired[1]}
    logarithms |= {"order_low": judged.order_low, "order_high": judged.order_high}
    found |= {name: math.exp(float(value)) for name, value in logarithms.items()}
    found |= {"level": float(judged.level), "order_level": judged.order_level, "skewness": float(judged.skewness)}
    found |= {"spread": float(differences.std(ddof=1)), "p": float(judged.p), "marked": bool(judged.by_order)}
    return found | {"verdict": ratio.VERDICTS[int(judged.verdict)]}


def blocks_of(row, estimator):
    """Return {(repeat, call, machine): step time in s} of the repeats that ran in a block."""
    return {
        (repeat["repeat"], repeat["call"], repeat["node"]): repeat[estimator]
        for repeat in row["repeats"]
        if repeat["repeat"] is not None
    }


def dropped(first, second, complete):
    """Return how many repeats of either cell found no partner and why, in words; "" if all did."""
    here, there = (
        {repeat["repeat"]: repeat for repeat in row["repeats"] if repeat["repeat"] is not None}
        for row in (first, second)
    )
    causes = Counter()
    for number in set(here) | set(there):
        one, other = here.get(number), there.get(number)
        if not one or not other:
            causes["without a partner that ended ok"] += 1
        elif one["call"] != other["call"]:
            causes["measured in different calls"] += 1
        elif (number, one["call"], one["node"]) not in complete or one["node"] != other["node"]:
            causes["on different machines"] += 1
    causes["not measured in a block"] = sum(
        repeat["repeat"] is None for row in (first, second) for repeat in row["repeats"]
    )
    return listed("{} {}".format(count, cause) for cause, count in sorted(causes.items()) if count)


def correct(pairs):
    """Correct a family's pairs for their number: a difference stands only where Holm's adjusted p is at most 5 %."""
    judged = [pair for pair in pairs if pair["verdict"] != NO_CLAIM]
    adjusted = ranking.holm([pair["p"] for pair in judged]) if judged else []
    for pair, p in zip(judged, adjusted, strict=True):
        pair.update(p_holm=float(p), resolvable=ratio.resolvable(pair["spread"], pair["blocks"], len(judged)))
        if pair["verdict"] in ("faster", "slower") and p > ratio.ALPHA:
            pair["verdict"] = "unresolved"
    for pair in pairs:
        pair["pairs"] = len(judged)


def rank(able, pairs):
    """Say of every compared cell whether it is ranked, and if not why; give class, letters and rank to those that are.

    Ranked is the declared execution of each framework, if its protocol is not exploratory and each pair of ranked cells
    has ten complete blocks. Where a pair has fewer, the cell with the fewest of its repeats is left out.
    """
    for row in able:
        row["standing"], row["why"] = standing(row)
    ranked = {row["index"]: row for row in able if row["standing"] == RANKED}
    while True:
        short = [p for p in pairs if {p["first"], p["second"]} <= set(ranked) and p["blocks"] < ratio.CLAIM_BLOCKS]
        if not short:
            break
        candidates = [ranked[pair[side]] for pair in short for side in ("first", "second")]
        out = min(candidates, key=lambda row: (len(row["repeats"]), row["index"]))
        fewest = min(pair["blocks"] for pair in short if out["index"] in (pair["first"], pair["second"]))
        why = "{} complete blocks: a rank needs {}".format(fewest, ratio.CLAIM_BLOCKS)
        ranked.pop(out["index"]).update(standing=EXPLORATORY, why=why)
    if len(ranked) == 1:
        for row in ranked.values():
            row.update(standing=EXPLORATORY, why="nothing that may be ranked stands beside it")
        return
    order(list(ranked.values()), pairs)


def order(ranked, pairs):
    """Give the ranked cells of a family their classes, letters and ranks."""
    place = {row["index"]: number for number, row in enumerate(ranked)}
    slower = np.zeros((len(ranked), len(ranked)), dtype=bool)
    for pair in pairs:
        if pair["first"] in place and pair["second"] in place:
            pair["ranked"] = True
            first, second = place[pair["first"]], place[pair["second"]]
            slower[first, second] |= pair["verdict"] == "slower"
            slower[second, first] |= pair["verdict"] == "faster"
    seconds = [row["seconds"] for row in ranked]
    classes = ranking.speed_classes(seconds, slower)
    names = ranking.letters(seconds, slower | slower.T)
    for row, *found in zip(ranked, classes, names, ranking.tied_ranks(classes), strict=True):
        row.update(zip(("speed_class", "letters", "rank"), found, strict=True))


def standing(row):
    """Return (standing, why) of a compared cell by itself."""
    declared = declared_execution(row["framework"])
    if declared is None:
        return SHOWN, "there is no adapter here that says which execution is ranked"
    if row["execution"] != declared:
        return SHOWN, "ranked is {}'s declared execution, {}".format(row["framework"], declared)
    if row["exploratory"]:
        return EXPLORATORY, "its protocol is exploratory"
    if len(row["repeats"]) < ratio.CLAIM_BLOCKS:
        return EXPLORATORY, "{} repeats: a rank needs {}".format(len(row["repeats"]), ratio.CLAIM_BLOCKS)
    return RANKED, ""


def declared_execution(framework):
    """Return the first of an adapter's EXECUTIONS, which a user of the framework would choose; None without adapter."""
    if catalogue.adapter_name(framework) not in catalogue.names("adapter"):
        return None
    return catalogue.adapter_literals(framework)["EXECUTIONS"][0]


def leaders(found):
    """Return the rows of the fastest ranked cell of each family that has a ranking."""
    ranked = found.entries[found.entries["standing"] == RANKED]
    return list(ranked.sort_values("seconds", kind="stable").drop_duplicates("family").sort_values("family").index)


def against(found, leader):
    """Return {row: (ratio, low, high)} of the step times of all cells compared with the leader, over the leader's."""
    ratios = {leader: (1.0, 1.0, 1.0)}
    for pair in found.pairs.to_dict("records"):
        if pair["second"] == leader:
            ratios[pair["first"]] = (pair["ratio"], pair["low"], pair["high"])
        elif pair["first"] == leader:
            ratios[pair["second"]] = (1 / pair["ratio"], 1 / pair["high"], 1 / pair["low"])
    return ratios
