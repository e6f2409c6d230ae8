"""Read records into records.parquet (a row a record), cells.parquet (a row a cell), index.parquet, and gate.parquet.

    python -m host.results.collect --study NAME --records DIR [DIR ...] --out DIR [--cells CELLS.json]

CELLS.json is a list of {path, cell, note[, fingerprint, protocol]}: what the study expects, paths below a records
folder, the first folder that has the file wins. A `fingerprint` is that of the present sources, `protocol` the study's;
a record with others is stale.
Without --cells every JSON file below the folders counts as expected (drawing from records alone). gate.parquet has a
row for every comparison line of every gate record (host.results.gates).
"""

import argparse
import json
import sys
from pathlib import Path

from host.planning import axes
from host.results.cells import cell_table
from host.results.derive import as_frame, empty_row, fill_from_record, repeat_key
from host.results.equivalence import verdict
from host.results.gates import gate_table
from host.results.reading import is_cell, read_record
from host.results.words import DAMAGED, MISSING

INDEX = [
    "path",
    "status",
    "reason",
    "stale",
    "superseded",
    "exploratory",
    "framework",
    "network",
    "hardware",
    "mode",
    "repeat",
    "attempt",
]


def collect(entries, folders):
    """Return (records, cells, index), three DataFrames, whatever state the files are in; arguments as for read_all."""
    return frames_of(read_all(entries, folders))


def frames_of(pairs):
    """Return (records, cells, index) of what read_all returned."""
    records = as_frame([row for row, _ in pairs])
    return records, cell_table(records), records[INDEX]


def read_all(entries, folders):
    """Return [(row, record or None), ...] of all expected cells: rows of host.results.derive with their verdicts.

    entries  list of {path, cell, note[, fingerprint]} as the module describes; a repeated path is a ValueError
    folders  records folders in order of precedence
    """
    paths = [entry["path"] for entry in entries]
    if len(set(paths)) < len(paths):
        raise ValueError("cells: a path is expected twice: {}".format(next(p for p in paths if paths.count(p) > 1)))
    pairs = [read_entry(entry, folders) for entry in entries]
    mark_superseded([row for row, _ in pairs])
    gates = [pair for pair in pairs if pair[0].get("mode") == "gate"]
    for row, record in pairs:
        if record is not None and row["status"] == "ok":
            fingerprint = record.get("fingerprint")
            row["equivalence"], row["equivalence_reason"] = verdict(row, fingerprint, gates)
        elif record is None or row["status"] != "ok":
            row["equivalence_reason"] = "it did not end ok"
    return pairs


def read_entry(entry, folders):
    """Return (row, record or None) of one expected cell."""
    row = empty_row(entry)
    path = next((Path(folder) / entry["path"] for folder in folders if (Path(folder) / entry["path"]).exists()), None)
    if path is None:
        row.update(status=MISSING, reason=entry.get("note") or "no record yet")
        return row, None
    record, problem = read_record(path, entry["cell"])
    if record is None:
        row.update(status=DAMAGED, reason="{} {}".format(entry["path"], problem))
        return row, None
    fill_from_record(row, record)
    row["stale"] = is_stale(record.get("fingerprint") or {}, entry.get("fingerprint"))
    row["stale"] |= entry.get("protocol") not in (None, record["protocol"])  # the study has other lengths now
    return row, record


def is_stale(then, now):
    """Return whether a record's sources differ from the present ones; False where the present ones are not known."""
    return now is not None and any(then.get(part) != now[part] for part in now)


def mark_superseded(rows):
    """Mark all but the last attempt of each repeat: a further attempt is made when telemetry spoilt the one before.

    The choice looks at the attempt's number, never at a time. An attempt that has no record does not replace one.
    """
    last = {}
    for row in sorted(rows, key=lambda row: (row["status"] not in (MISSING, DAMAGED), row["attempt"] or 0)):
        row["superseded"] = True
        last[repeat_key(row)] = row
    for row in last.values():
        row["superseded"] = False


def found_entries(folders):
    """Return an entry for every JSON file below the folders; its cell is what the record says, if it can be read."""
    entries = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.json")):
            name = path.relative_to(folder).as_posix()
            entries.setdefault(name, {"path": name, "cell": cell_of(path, name), "note": ""})
    return list(entries.values())


def cell_of(path, name):
    """Return the axes that a record file states; of one that states no cell, what its folders state."""
    try:
        cell = json.loads(path.read_text(encoding="utf-8"))["cell"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        cell = None
    if is_cell(cell):
        return cell
    folders = name.split("/")[:-1]
    return dict(zip(axes.FOLDERS, folders[-3:], strict=True)) if len(folders) >= 3 else {}


def main(arguments=None):
    """Write the four files; exit with a sentence where the list of cells itself cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m host.results.collect", description=__doc__.splitlines()[0])
    parser.add_argument("--study", required=True, help="name of the study, kept with the tables")
    parser.add_argument("--records", required=True, nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--cells", type=Path, metavar="CELLS.json")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    entries = json.loads(options.cells.read_text(encoding="utf-8")) if options.cells else found_entries(options.records)
    if not entries:
        sys.exit("{}: there is no record and no expected cell to collect".format(options.cells or options.records[0]))
    pairs = read_all(entries, options.records)
    options.out.mkdir(parents=True, exist_ok=True)
    frames = [*frames_of(pairs), gate_table(pairs)]
    for name, frame in zip(("records", "cells", "index", "gate"), frames, strict=True):
        frame.assign(study=options.study).to_parquet(options.out / (name + ".parquet"), index=False)


if __name__ == "__main__":
    main()
