"""The caption of a figure: everything that a reader must know to judge it, as facts and as text.

A figure that leaves one of these out can mislead: number of repeats, interval and its level, estimator, hardware,
threads and devices, batch, precision, versions and dates, mode and feeding, what did not end ok, what is doubtful, how
many repeats were replaced, and the file that holds the numbers.
"""

import json
import math

from host.results import plugins
from host.results.panels import framework_version, names
from host.results.words import EQUIVALENT, FLAGS, listed, readable


def facts(module, repeats_drawn, cells, data_file, commit, drawn=None):
    """Return {what: text} of everything that the caption states; no value is empty.

    module         the figure's plug-in, which states its ESTIMATOR; its facts(drawn), if it has any, are added and win
    repeats_drawn  the repeats that it is about, from host.results.panels.repeat_table
    cells          the cells' DataFrame
    data_file      name of the CSV of the numbers drawn
    commit         what the sources' state is called, or None
    drawn          the rows that it draws, where they are others than the repeats
    """
    measured = cells.assign(name=names(cells))[cells["mode"] != "gate"]
    known = measured[measured["mode"] != ""]
    stated = {
        "repeats": repeats(measured),
        "interval": interval(measured),
        "estimator": module.ESTIMATOR,
        "hardware": hardware(measured),
        "devices": spread(known, "devices"),
        "threads": spread(known, "threads"),
        "batch": spread(known, "batch"),
        "precision": precision(known),
        "execution": execution(known),
        "data and optimiser": "; ".join(
            "{} {}".format(readable(name), spread(known, name))
            for name in ("data", "optimizer", "learning_rate", "momentum", "weight_decay")
        ),
        "mode": spread(known, "mode"),
        "feeding": spread(known, "feeding"),
        "protocol": protocol(measured),
        "versions": versions(measured),
        "dates": dates(measured),
        "did not end ok": ends(repeats_drawn),
        "not shown to be the same computation": doubts(measured),
        "doubtful": flags(measured),
        "block pass more than 5 % faster": pipelined(measured),
        "replaced attempts": "{} of {}".format(measured.n_superseded.sum(), measured.n_expected.sum()),
        "claim": claim(measured),
        "numbers": numbers(data_file, commit),
    }
    return stated | (module.facts(drawn) if hasattr(module, "facts") else {})


def text(module, stated, name):
    """Return the caption as Markdown: the question, how to read the figure, and every fact."""
    body = module.__doc__.strip().split("\n", 1)
    lines = ["# {}".format(name), "", "**{}**".format(plugins.question(module))]
    lines += ["", " ".join(body[1].split())] if len(body) > 1 else []
    return "\n".join(
        lines + [""] + ["- {}: {}.".format(key, value.rstrip(".")) for key, value in stated.items()] + [""]
    )


def numbers(data_file, commit):
    """Return which file holds the numbers drawn, and of which state of the sources they are."""
    return "{}{}".format(data_file, ", sources {}".format(commit) if commit else ", sources not named")


def repeats(cells):
    """Return how many repeats (fresh processes) the cells with a number have."""
    counts = cells.loc[cells.n_ok > 0, "n_ok"]
    if counts.empty:
        return "no repeat ended ok"
    low, high = counts.min(), counts.max()
    return "n = {} fresh processes a cell".format(low if low == high else "{} to {}".format(low, high))


def interval(cells):
    """Return the interval's type and the levels that occur."""
    levels = sorted(set(cells.loc[cells.interval_level.notna(), "interval_level"]))
    if not levels:
        return "none: no cell has five repeats; every repeat is shown"
    found = ["{:.2f} % (n = {})".format(100 * level, counts(cells, level)) for level in levels]
    return "exact order-statistic interval for the median over repeats, level {}; none below n = 5".format(
        listed(found)
    )


def counts(cells, level):
    """Return the numbers of repeats that have this interval level, as text."""
    return ", ".join(str(count) for count in sorted(set(cells.loc[cells.interval_level == level, "n_ok"])))


def hardware(cells):
    """Return every hardware key with the machine that its records describe."""
    found = {}
    for key, machine in zip(cells["hardware"], cells["machine"], strict=True):
        known = json.loads(machine) if machine else {}
        parts = [known.get("cpu_model"), known.get("cores_granted") and "{} cores".format(known["cores_granted"])]
        parts += ["GPU {}".format(gpu.get("model")) for gpu in known.get("gpus") or []]
        found[key] = found.get(key) or ", ".join(part for part in parts if part)
    texts = ["{} ({})".format(key, found[key] or "no record describes it") for key in sorted(found)]
    return "; ".join(texts) or "none"


def spread(cells, name):
    """Return the values of an axis that occur, as text."""
    values = sorted(set(cells[name].dropna()))
    return listed("{:g}".format(value) if isinstance(value, float) else str(value) for value in values) or "none"


def precision(cells):
    """Return the precisions, and what the frameworks say of TF32 where a GPU could use it."""
    stated = set()
    for machine, knobs in zip(cells["machine"], cells["knobs"], strict=True):
        if not machine:
            continue
        if not json.loads(machine).get("gpus"):
            stated.add("no GPU, so no TF32")
            continue
        found = {key: value for key, value in json.loads(knobs or "{}").items() if "tf32" in key.lower()}
        stated.add(", ".join("{} {}".format(*item) for item in sorted(found.items())) or "TF32 state not reported")
    return "; ".join([spread(cells, "precision")] + sorted(stated))


def execution(cells):
    """Return which framework ran in which execution."""
    pairs = sorted(set(zip(cells["framework"], cells["execution"], strict=True)))
    return ", ".join("{} {}".format(*pair) for pair in pairs) or "none"


def protocol(cells):
    """Return the lengths that the records state."""
    texts = []
    for stated in sorted(set(cells["protocol_values"]) - {""}):
        values = json.loads(stated)
        parts = [
            "{} {}".format(readable(key), value) for key, value in values.items() if key not in ("name", "exploratory")
        ]
        texts.append("{} ({})".format(values["name"], ", ".join(parts)))
    return "; ".join(texts) or "no record states one"


def versions(cells):
    """Return every framework with its version."""
    found = {}
    for framework, stated in zip(cells["framework"], cells["versions"], strict=True):
        found.setdefault(framework, set()).add(framework_version(framework, stated))
    texts = []
    for framework in sorted(found):
        known = sorted(version for version in found[framework] if version)
        texts.append("{} {}".format(framework, listed(known) if known else "(version not known)"))
    return ", ".join(texts) or "none"


def dates(cells):
    """Return the days between which the records were measured, in UTC."""
    days = sorted(date[:10] for column in ("started_utc", "ended_utc") for date in cells[column] if date)
    return "measured {}".format(days[0] if days[0] == days[-1] else days[0] + " to " + days[-1]) if days else "unknown"


def ends(table):
    """Return every repeat without a time, by cell."""
    found = {}
    for row in table.assign(name=names(table))[table["step_seconds"].isna()].to_dict("records"):
        found.setdefault(row["name"], row["status_text"])
    return "; ".join("{} ({})".format(*item) for item in found.items()) or "none"


def doubts(cells):
    """Return the cells with a number that are not equivalent or unverified, with the reason."""
    rows = cells[(cells.n_ok > 0) & (cells.equivalence != EQUIVALENT)].to_dict("records")
    return (
        "; ".join("{}: {} ({})".format(row["name"], row["equivalence"], row["equivalence_reason"]) for row in rows)
        or "none"
    )


def flags(cells):
    """Return the cells that carry the mark †, why, and what the words mean."""
    rows = cells[cells["flags"] != ""].to_dict("records")
    if not rows:
        return "none"
    texts = ["{}: {}".format(row["name"], row["flags"].replace("; ", ", ")) for row in rows]
    used = [name for name in FLAGS if any(name in row["flags"] for row in rows)]
    return "marked †: {} (meaning: {})".format("; ".join(texts), "; ".join("{}: {}".format(n, FLAGS[n]) for n in used))


def pipelined(cells):
    """Return the cells whose steps are faster when not synchronised one by one, with the ratio."""
    rows = cells[cells["pipelining"] > 1.05].to_dict("records")
    return "; ".join("{} ({:.2f} ×)".format(row["name"], row["pipelining"]) for row in rows) or "none"


def claim(cells):
    """Return what may be concluded from the figure."""
    if bool(cells["exploratory"].any()) or not (cells.n_ok > 0).any():
        return "exploratory: no ranking is claimed"
    return "intervals of single cells; a comparison of two needs the interval of their ratio"


def drawn_rows(table):
    """Return the rows as they go into JSON: null for what is not there, the text `inf` for what is infinite."""
    rows = table.astype("object").where(table.notna(), None).to_dict("records")
    return [{name: "inf" if value == math.inf else value for name, value in row.items()} for row in rows]
