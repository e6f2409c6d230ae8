"""Write the list of records that a study expects, for collecting: path, cell, note, and the present fingerprint.

Usage: python -m host.planning.expected --config JSON --out CELLS.json
"""

import argparse
import json
from functools import lru_cache
from pathlib import Path

from host import fingerprint
from host.planning import flow


def expected(plan):
    """Return [{"path", "cell", "note", "fingerprint"}, ...] of all the study's cells, in their running order.

    A cell whose hardware is not reachable from here carries that as its note. When records are only drawn, there is no
    fingerprint: what was measured elsewhere is not compared with this checkout's sources.
    """

    @lru_cache(maxsize=None)
    def of(framework, network, data, is_gate, accelerator):
        cell = {"framework": framework, "network": network, "data": data, "mode": "gate" if is_gate else "train"}
        return fingerprint.of_cell(cell, accelerator)

    entries = []
    for path, cell in plan.cells.items():
        entry = {"path": path, "cell": cell, "note": ""}
        if cell["mode"] != "gate":
            entry["protocol"] = plan.study.protocol
        if not plan.hardware.reachable(cell["hardware"]):
            entry["note"] = "{} is not reachable from this machine".format(cell["hardware"])
        if not plan.config["records"]:
            accelerator = plan.hardware.accelerator(cell["hardware"])
            same = (cell["framework"], cell["network"], cell["data"], cell["mode"] == "gate", accelerator)
            entry["fingerprint"] = of(*same)
        entries.append(entry)
    return entries


def main(arguments=None):
    """Write the list that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m host.planning.expected", description=__doc__.splitlines()[0])
    parser.add_argument("--config", required=True, type=json.loads, help="the workflow's configuration, JSON")
    parser.add_argument("--out", required=True, type=Path)
    options = parser.parse_args(arguments)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(expected(flow.plan(options.config)), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
