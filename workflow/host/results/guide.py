"""Write guide.md: in plain sentences what was measured, what was not, why, and what to do.

    python -m host.results.guide --study NAME --cells cells.parquet --out DIR [--place WHAT=PATH ...]

The guide describes cells one by one in alphabetical order, then says for each family (everything but framework and
execution is the same) who is faster than whom, who ties, and what is left open. From an exploratory study nothing is
ranked.
"""

import argparse
import json
from pathlib import Path

import pandas as pd

from host.results.caption import hardware, protocol
from host.results.comparison import families, sentences
from host.results.panels import entries, in_order, names, settings
from host.results.tables import digits
from host.results.words import EQUIVALENT, FLAGS, INCOMPLETE, MISSING, NOT_EQUIVALENT, UNVERIFIED, advice, listed


def guide(study, cells, places):
    """Return the guide as Markdown.

    study   the study's name
    cells   DataFrame, a row a cell, as host.results.collect writes it
    places  {what: path} of the files that belong to the study
    """
    cells = cells.assign(name=names(cells))
    measured = cells[cells["mode"] != "gate"]
    gates = cells[cells["mode"] == "gate"]
    if measured.empty and len(gates):
        parts = [nothing_timed(study, gates), same_computation(gates), problems(measured, gates)]
        return "\n".join("\n".join(lines) + "\n" for lines in [*parts, stale(cells), where(places)] if lines)
    found = families.compare(cells)
    parts = [opening(study, measured, found), numbers(measured), sentences.section(found), same_computation(measured)]
    parts += [problems(measured, gates)]
    parts += [stale(cells), doubtful(measured), where(places)]
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def opening(study, cells, found):
    """Return the title, what may be concluded, and how many cells there are."""
    lines = ["# Guide to the study {}".format(study), "", claim(found), ""]
    ok, all_repeats = int(cells.n_ok.sum()), int(cells.n_expected.sum())
    lines.append(
        "{} of {} repeats in {} cells ended ok. Machine: {}. Protocol: {}.".format(
            ok, all_repeats, len(cells), hardware(cells), protocol(cells)
        )
    )
    return lines


def nothing_timed(study, gates):
    """Return the title and what a study of gate cells alone is about."""
    text = "**Nothing was timed.** The study asks only whether the frameworks compute the same. Machine: {}."
    return ["# Guide to the study {}".format(study), "", text.format(hardware(gates))]


def claim(found):
    """Return the sentences that say what may be concluded from a Comparison."""
    known = found.entries["family"].dropna().nunique()
    ranked = found.entries.loc[found.entries["standing"] == families.RANKED, "family"].nunique()
    if not ranked:
        return (
            "**Exploratory: no ranking is claimed.** The protocol is too short, or the repeats are too few, to say "
            "which framework is faster; the numbers show that everything runs and about how long it takes."
        )
    scope = "every comparison" if ranked == known else "{} of {} comparisons".format(ranked, known)
    return (
        "**Ranked: {}.** Frameworks are ranked only over ten complete blocks, each in its declared execution and shown "
        "to compute the same; what else was measured is exploratory or stands for itself.".format(scope)
    )


def numbers(cells):
    """Return, for each network and setting, a sentence for each cell that has a number, and who has none."""
    table = cells.assign(entry=entries(cells), setting=settings(cells))
    lines = ["## What was measured"]
    table = table.sort_values(["network", "setting"], key=in_order, kind="stable")
    for (network, setting), part in table.groupby(["network", "setting"], sort=False):
        lines += ["", "### {}, {}".format(network or "unknown network", setting), ""]
        for cell in part.sort_values("entry", kind="stable").to_dict("records"):
            lines.append("- " + sentence(cell))
    return lines


def sentence(cell):
    """Return one cell's number with its interval and n, or that it has none."""
    who = cell["entry"].replace("\n", ", ")
    if not cell["n_ok"]:
        return "{}: no number; {} (see below).".format(who, cell["status_text"] or "no repeat ended ok")
    repeats = "n = {}{}".format(cell["n_ok"], " of {}".format(cell["n_expected"]) if cell["status"] != "ok" else "")
    if pd.isna(cell["interval_level"]):
        band = "{}: too few for an interval".format(repeats)
    else:
        band = "{} to {} at {:.2f} %, {}".format(
            digits(1e3 * cell["step_seconds_low"]),
            digits(1e3 * cell["step_seconds_high"]),
            100 * cell["interval_level"],
            repeats,
        )
    text = "{}: {} ms a step ({})".format(who, digits(1e3 * cell["step_seconds"]), band)
    if cell["estimator"] == "block":
        text += ", {} ms in blocks without waiting for each".format(digits(1e3 * cell["block_step_seconds"]))
    text += ": {} samples a second".format(digits(cell["samples_per_second"]))
    if cell["equivalence"] != EQUIVALENT:
        text += "; **{}**".format(cell["equivalence"])
    return text + "."


def same_computation(cells):
    """Return who was shown to compute the same, who not, and who was not compared, with reasons.

    cells  measured cells, or gate cells alone
    """
    lines = ["## Is it the same computation?", ""]
    timed = cells[cells.n_ok > 0]
    count = int((timed.equivalence == EQUIVALENT).sum())
    what = "gate cells that ended ok" if len(cells) and (cells["mode"] == "gate").all() else "cells with a number"
    lines.append("{} of {} {} agree with the float64 reference.".format(count, len(timed), what))
    what_to_do = {
        NOT_EQUIVALENT: "Do not compare its time with the others': it computes something else. Repair the adapter.",
        UNVERIFIED: "Do not compare its time with the others' before its gate cell ran.",
    }
    for kind, todo in what_to_do.items():
        for cell in timed[timed.equivalence == kind].to_dict("records"):
            lines.append("- **{}**, {}: {}. {}".format(cell["name"], kind, cell["equivalence_reason"], todo))
    return lines


def problems(measured, gates):
    """Return every cell with a repeat that did not end ok, its reasons and what to do; gate cells included."""
    cells = pd.concat([measured, gates])
    broken = cells[(cells.status != "ok") & (cells.status != MISSING)]
    missing = cells[cells.n_missing > 0]
    lines = ["## What did not end ok", ""]
    lines += ["- **{}**: {}. {}".format(cell["name"], cell["reason"], todo(cell)) for cell in broken.to_dict("records")]
    if broken.empty:
        lines.append("Nothing: every record that is there ended ok.")
    if len(missing):
        total = int(missing.n_missing.sum())
        lines += [
            "",
            "## What is missing",
            "",
            "{} of the study's records are not there. {}".format(total, advice(MISSING)),
        ]
        for cell in missing[missing.status == MISSING].to_dict("records"):
            lines.append("- **{}**: {}.".format(cell["name"], cell["reason"]))
    return lines


def todo(cell):
    """Return what to do about a cell, a sentence for each status that occurs in it."""
    found = [status for status in json.loads(cell["statuses"]) if status not in ("ok", INCOMPLETE)]
    return " ".join(dict.fromkeys(advice(status) for status in found))


def stale(cells):
    """Return the cells that were measured with other sources than the present ones."""
    rows = cells[cells.stale].to_dict("records")
    if not rows:
        return []
    text = (
        "These were measured with other sources than the present ones. To measure them again, set their records aside."
    )
    return ["## What is stale", "", text] + [
        "- {}: {} of {}.".format(r["name"], r["n_stale"], r["n_expected"]) for r in rows
    ]


def doubtful(cells):
    """Return the cells whose numbers telemetry or the series itself puts in doubt, and what the words mean."""
    rows = cells[cells["flags"] != ""].to_dict("records")
    if not rows:
        return []
    lines = ["## What is doubtful", ""]
    lines += ["- {}: {}.".format(row["name"], row["flags"].replace("; ", ", ")) for row in rows]
    used = [name for name in FLAGS if any(name in row["flags"] for row in rows)]
    return lines + ["", "In words: {}.".format(listed("`{}`: {}".format(name, FLAGS[name]) for name in used))]


def where(places):
    """Return where the files are."""
    return ["## Where everything is", ""] + ["- {}: `{}`".format(*place) for place in places.items()] if places else []


def main(arguments=None):
    """Write guide.md."""
    parser = argparse.ArgumentParser(prog="python -m host.results.guide", description=__doc__.splitlines()[0])
    parser.add_argument("--study", required=True)
    parser.add_argument("--cells", required=True, type=Path, metavar="cells.parquet")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    parser.add_argument("--place", action="append", default=[], metavar="WHAT=PATH")
    options = parser.parse_args(arguments)
    places = dict(place.split("=", 1) for place in options.place)
    options.out.mkdir(parents=True, exist_ok=True)
    text = guide(options.study, pd.read_parquet(options.cells), places)
    (options.out / "guide.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
