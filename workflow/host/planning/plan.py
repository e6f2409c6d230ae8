"""The plan of one call: which cells the study has, which records exist, what is missing and in which order it runs.

Snakemake's files ask a Plan and hold no logic of their own.
"""

import json
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from host import catalogue
from host.planning import hardware, study

GATE_PRIORITY = 2_000_000  # gate cells come before measured ones; both count down from here in their order
MEASURE_PRIORITY = 1_000_000
GATE_SECONDS = 1500  # the longest that a gate cell and the making of its bundle may take


@dataclass
class Plan:
    """What one call of Snakemake is about. Paths of records are relative to the records folder."""

    config: dict
    study: study.Study
    hardware: hardware.Hardware
    cells: dict  # {record path: cell}, in the order in which they run
    present: set  # record paths that exist, of this study
    blocks: dict  # {record path: {"seed", "repeat", "position", "size"}}
    started: float = field(default_factory=time.time)

    def __post_init__(self):
        self.order = {path: number for number, path in enumerate(self.cells)}

    def note_present(self, list_records):
        """Take note of the records that exist: here for every cell, imported for hardware that is not reachable.

        list_records  function of a folder that returns the relative paths of the records in it
        """
        away = set(self.cells) - set(self.reachable)
        self.places_of = {}  # {record path: folder that has it}
        for folder in reversed(self.imported):
            self.places_of.update(dict.fromkeys(set(list_records(folder)) & away, folder))
        self.places_of.update(dict.fromkeys(set(list_records(self.records)) & set(self.cells), self.records))
        self.present = set(self.places_of)
        self.turns = {path: number for number, path in enumerate(self.missing, 1)}

    @property
    def records(self):
        """Return the folder of this checkout's records."""
        return Path(self.config["records"] or Path(self.config["results"]) / "records")

    @property
    def imported(self):
        """Return the folders of other sites' records."""
        return sorted(path for path in Path(self.config["results"], "imported").glob("*") if path.is_dir())

    @property
    def files(self):
        """Return the record files that tables are made of, as paths: what exists, and what this call will add."""
        absent = set(self.cells) - self.present if self.config["records"] else set(self.elsewhere)
        return [str(self.places_of.get(path, self.records) / path) for path in self.cells if path not in absent]

    def output(self, *parts):
        """Return a path below the results folder, as text."""
        return str(Path(self.config["results"], *parts))

    @property
    def reachable(self):
        """Return the record paths of the cells that can run here."""
        return [path for path, cell in self.cells.items() if self.hardware.reachable(cell["hardware"])]

    @property
    def missing(self):
        """Return the record paths of reachable cells that have no record, in the order in which they run."""
        return [path for path in self.reachable if path not in self.present]

    @property
    def elsewhere(self):
        """Return the record paths of cells whose hardware is not reachable from here and that have no record."""
        away = set(self.cells) - set(self.reachable)
        return [path for path in self.cells if path in away and path not in self.present]

    def priority(self, path):
        """Return Snakemake's priority of a cell: gate cells first, measured ones block by block in random order."""
        base = GATE_PRIORITY if self.cells[path]["mode"] == "gate" else MEASURE_PRIORITY
        return base - self.order[path]

    def progress(self, path):
        """Return `k/n/start` for a cell that is about to run: its place among the missing ones and when all began."""
        return "{}/{}/{:.0f}".format(self.turns.get(path, 0), len(self.turns), self.started)

    def minutes(self, path):
        """Return the cell's longest run time in minutes: its deadline, rounded up, and two minutes for the rest."""
        gate = self.cells[path]["mode"] == "gate"
        seconds = (
            max(GATE_SECONDS, self.study.protocol["deadline_seconds"])
            if gate
            else self.study.protocol["deadline_seconds"]
        )
        return -int(-seconds // 60) + 2

    def frameworks(self):
        """Return the (accelerator, framework) pairs that reachable cells need."""
        pairs = {
            (self.hardware.accelerator(self.cells[path]["hardware"]), self.cells[path]["framework"])
            for path in self.reachable
        }
        return sorted(pairs)

    def status_files(self):
        """Return the status file of every environment that reachable cells need."""
        return [self.status_file(*pair) for pair in self.frameworks()]

    def status_file(self, accelerator, framework):
        """Return the path of an environment's status file."""
        return str(Path(self.config["environments"], accelerator, framework + ".json"))

    def summary(self):
        """Return what the terminal says first: how many cells there are, recorded, missing and out of reach."""
        missing, elsewhere = self.missing, self.elsewhere
        gates = sum(cell["mode"] == "gate" for cell in self.cells.values())
        lines = [
            "study {}: {} cells ({} of them gate cells) on {}, {} recorded, {} missing".format(
                self.study.name, len(self.cells), gates, self.hardware.here, len(self.present), len(missing)
            )
        ]
        for key in sorted({self.cells[path]["hardware"] for path in elsewhere}):
            count = sum(self.cells[path]["hardware"] == key for path in elsewhere)
            lines.append("  {} cells need {}, which this machine is not: they wait for records".format(count, key))
        return "\n".join(lines)

    def listing(self):
        """Return the missing cells, a line each, in the order in which they will run."""
        return "\n".join("  " + path for path in self.missing)

    @property
    def commit(self):
        """Return the checkout's commit for captions, `-changed` behind it where files differ; `unknown` outside git."""
        command = ["git", "-C", str(catalogue.ROOT), "describe", "--always", "--abbrev=12", "--dirty=-changed"]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return "unknown"
        return answer.stdout.strip()

    @property
    def places(self):
        """Return where everything is: {what: path}."""
        where = {"tables": "tables", "figures": "figures", "guide": "report"}
        return {what: self.output(folder, self.study.name) for what, folder in where.items()} | {
            "records": str(self.records)
        }

    @property
    def places_options(self):
        """Return the places as options of the guide's command, a list of words."""
        return [word for item in self.places.items() for word in ("--place", "{}={}".format(*item))]

    def closing(self):
        """Return what the terminal says last: how the cells ended and where everything is."""
        recorded = sum((self.records / path).exists() for path in self.reachable)
        index = Path(self.output("tables", self.study.name, "index.parquet"))
        if not index.exists() or (recorded < len(self.reachable) and not self.config["records"]):  # asked for a part
            return "study {}: {} of {} cells are recorded".format(self.study.name, recorded, len(self.reachable))
        lines = ["study {} is complete: {}".format(self.study.name, endings(index))]
        return "\n".join(lines + ["  {:<8} {}/".format(*item) for item in self.places.items()])

    # What the rules ask, by wildcards.

    @staticmethod
    def path(wildcards):
        """Return the record path that a job's wildcards mean."""
        return "{}/{}/{}/{}.json".format(wildcards.hardware, wildcards.framework, wildcards.network, wildcards.stem)

    @staticmethod
    def folder(path):
        """Return the folder of an output, for commands that write several files into one."""
        return str(Path(path).parent)

    def texts(self, wildcards):
        """Return the cell, the protocol and the block of a job, as JSON texts."""
        path = self.path(wildcards)
        block = dict(self.blocks[path], invocation=int(self.started))
        parts = {"cell": self.cells[path], "protocol": self.study.protocol, "block": block}
        return {name: json.dumps(part, sort_keys=True) for name, part in parts.items()}

    def accelerator(self, wildcards):
        """Return the folder of envs/ for a job's hardware."""
        return self.hardware.accelerator(wildcards.hardware)

    def environment_file(self, wildcards):
        """Return the absolute path of a job's environment file, for `conda:`."""
        return str(catalogue.ROOT / "envs" / self.accelerator(wildcards) / (wildcards.framework + ".yaml"))

    def environment_of(self, wildcards):
        """Return the status file that a job needs; for a record that is there or is no cell's, what nothing makes.

        With an input that cannot be had, Snakemake takes the record for a file that is simply there. So nothing makes
        it run a recorded cell again: no time stamp, no changed input, no environment that is built anew, not -F.
        """
        path = self.path(wildcards)
        if path not in self.cells:
            return "no cell of study {} has the record {}".format(self.study.name, path)
        if path in self.present:
            return "nothing: {} is recorded".format(path)
        return self.status_file(self.accelerator(wildcards), wildcards.framework)

    def environments(self, name):
        """Return a path below the folder of environments, as text."""
        return str(Path(self.config["environments"], name))

    @property
    def sources(self):
        """Return the files that results depend on besides records: an edit makes results again."""
        paths = {*catalogue.WORKFLOW.rglob("*.py"), *(catalogue.ROOT / "envs").glob("*/*.yaml")}
        paths.add(catalogue.FOLDERS["study"][0] / (self.study.name + ".yaml"))
        return sorted(catalogue.relative(path) for path in paths)

    @property
    def config_text(self):
        """Return the whole configuration as JSON text."""
        return json.dumps(self.config, sort_keys=True)

    @property
    def record_folders(self):
        """Return the folders that records are read from: this checkout's first, then other sites'."""
        return [str(folder) for folder in [self.records, *self.imported]]

    @property
    def environment_config(self):
        """Return what building an environment needs to know of the configuration, as JSON text."""
        return json.dumps({key: self.config[key] for key in ("pythons", "offline", "environments")})

    @staticmethod
    def activated(workflow):
        """Return whether Snakemake builds and activates the environments itself (--sdm conda)."""
        settings = workflow.deployment_settings
        return settings is not None and "conda" in {str(method).lower() for method in settings.deployment_method}


def endings(index):
    """Return how many cells ended how, by the index that collecting wrote: `40 ok, 2 failed`."""
    import pandas  # takes half a second: not at every start

    counts = pandas.read_parquet(index, columns=["status"])["status"].value_counts()
    text = ", ".join("{} {}".format(count, status.replace("_", " ")) for status, count in counts.items())
    return text if set(counts.index) == {"ok"} else text + " (the guide says why)"
