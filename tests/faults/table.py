"""The confusion table fault x check, the survivors, and the totals: as text, Markdown and CSV."""

import csv
from collections import Counter, defaultdict

from faults import explained, kinds
from faults.run import CHECKS
from faults.suite import FAULTS

FAMILIES = {
    "graph": "the network",
    "gradient": "gradients",
    "training": "training",
    "own": "the framework's own",
    "dropout": "dropout",
}


def counts(outcomes):
    """Return {kind: (faults, {check: how many of them it catches}, survivors)}, kinds in the table's order."""
    by_kind = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.fault.kind].append(outcome)
    families = (*FAULTS, "honest")
    order = {name: (families.index(kind.family), place) for place, (name, kind) in enumerate(kinds.KINDS.items())}
    counted = {}
    for kind in sorted(by_kind, key=order.get):
        caught = Counter(check for outcome in by_kind[kind] for check in outcome.caught_by)
        counted[kind] = len(by_kind[kind]), caught, sum(not outcome.caught_by for outcome in by_kind[kind])
    return counted


def rows(outcomes):
    """Return the table's rows as texts, the head first; a cell that catches nothing is empty."""
    made = [["fault", "planted", *CHECKS, "survived"]]
    family = None
    for kind, (planted, caught, survived) in counts(outcomes).items():
        if kinds.KINDS[kind].family != family:
            family = kinds.KINDS[kind].family
            made.append(["*{}*".format(FAMILIES[family]), *[""] * (len(CHECKS) + 2)])
        made.append([kind, str(planted), *[str(caught[check] or "") for check in CHECKS], str(survived or "")])
    total = Counter(check for outcome in outcomes for check in outcome.caught_by)
    survived = sum(not outcome.caught_by for outcome in outcomes)
    made.append(["all", str(len(outcomes)), *[str(total[check] or "") for check in CHECKS], str(survived)])
    alone = Counter(outcome.caught_by[0] for outcome in outcomes if len(outcome.caught_by) == 1)
    made.append(["by this check alone", "", *[str(alone[check] or "") for check in CHECKS], ""])
    return made


def markdown(made):
    """Return rows as a Markdown table, columns aligned."""
    widths = [max(len(row[column]) for row in made) for column in range(len(made[0]))]
    lines = []
    for number, row in enumerate(made):
        cells = [
            text.ljust(width) if not place else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("| {} |".format(" | ".join(cells)))
        if number == 0:
            lines.append(
                "|{}|".format(
                    "|".join("-" * (width + 1) + ("-" if not place else ":") for place, width in enumerate(widths))
                )
            )
    return "\n".join(lines)


def summary(result):
    """Return the totals in sentences: planted, caught, survivors with their reasons, honest runs, left out."""
    per = Counter(outcome.framework for outcome in result.outcomes)
    lines = [
        "{} faults planted ({}); {} caught, {:.1%}.".format(
            len(result.outcomes),
            ", ".join("{} in {}".format(count, name) for name, count in per.items()),
            len(result.outcomes) - len(result.survivors),
            result.share_caught,
        )
    ]
    for outcome in result.survivors:
        lines.append("survived: {}: {}".format(described(outcome), explained.why(outcome.fault) or "NOT EXPLAINED"))
    for outcome in [each for each in result.outcomes if "refused" in each.excess]:
        reason = explained.why_refused(outcome.fault) or "NOT EXPECTED: " + outcome.first
        lines.append("refused: {}: {}".format(described(outcome), reason))
    worst = max(result.honest, key=lambda each: max(each.excess.values()), default=None)
    if worst:
        lines.append(
            "{} runs without a fault ({}), {} refused; the worst error is {:.2f} of its tolerance ({}).".format(
                len(result.honest),
                "as they are, and with one unit in the last place of noise on every weight and input",
                len(result.refused_honest),
                max(worst.excess.values()),
                described(worst),
            )
        )
    lines += ["refused without a fault: {}: {}".format(described(each), each.first) for each in result.refused_honest]
    lines.append(
        "{} kinds left out, since they change nothing in float64 wherever they were tried{}{}.".format(
            len(result.unchanged),
            ": " if result.unchanged else "",
            "; ".join("{} ({})".format(*key) if key[1] else key[0] for key in result.unchanged),
        )
    )
    return "\n".join(lines)


def described(outcome):
    """Return one fault in words: framework, network, kind, place, and the largest error / tolerance."""
    fault, worst = outcome.fault, max(outcome.excess, key=outcome.excess.get)
    place = " of {!r}".format(fault.place) if fault.place else ""
    return "{}, {}: {}{} ({} at {:.2g} of its tolerance)".format(
        outcome.framework, fault.network, fault.kind, place, worst, outcome.excess[worst]
    )


def write_csv(outcomes, path):
    """Write one row a fault: what, where, and the worst error / tolerance of each check."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["framework", "execution", "network", "family", "kind", "group", "place", "caught_by", *CHECKS, "first"]
        )
        for outcome in outcomes:
            fault = outcome.fault
            writer.writerow(
                [
                    outcome.framework,
                    outcome.execution,
                    fault.network,
                    kinds.KINDS[fault.kind].family,
                    fault.kind,
                    fault.group,
                    fault.place,
                    " ".join(outcome.caught_by),
                    *["{:.3g}".format(outcome.excess[check]) if check in outcome.excess else "" for check in CHECKS],
                    outcome.first,
                ]
            )
