"""What one call of the runner is asked for, with every place that tests may set otherwise."""

from dataclasses import dataclass, field
from pathlib import Path

from host import catalogue

LOCK = Path("/tmp/levelfield-measure.lock")  # one place for all, whatever TMPDIR says


@dataclass
class Request:
    """One cell to run. Paths may be relative to the current folder."""

    cell: dict
    protocol: dict
    record: Path
    environment: dict  # status of the framework's environment: status, reason, prefix, deployment
    environment_path: str | None = None  # the status file, for the command that repeats the cell
    accelerator: str = "cpu"
    here: str | None = None  # the hardware key of this machine; None: not to be checked
    study: str | None = None
    block: dict | None = None
    progress: str | None = None
    log: Path | None = None
    memory_limit_bytes: int | None = None
    started_by: int | None = None  # process id of the Snakemake whose end ends this cell too
    cache: Path = field(default_factory=lambda: catalogue.ROOT / ".environments" / "cache")
    lock: Path | None = LOCK  # None: beside whatever else is measured; for tests
    grace_seconds: float = 10.0  # between SIGTERM and SIGKILL, and for a worker that does not end after its result
    adapter: str | None = None  # another module than worker.frameworks.<adapter>; for tests
    adapter_path: Path | None = None  # its file
    python_path: tuple = ()  # further folders that the worker imports from; for tests

    def __post_init__(self):
        if self.adapter_path is None:
            name = catalogue.adapter_name(self.cell["framework"])
            self.adapter_path = catalogue.FOLDERS["adapter"][0] / (name + ".py")

    @property
    def environment_file(self):
        """Return the file that lists what the framework's environment must hold."""
        return catalogue.ROOT / "envs" / self.accelerator / (self.cell["framework"] + ".yaml")

    @property
    def task(self):
        """Return the worker's task: gate cells are compared, all others measured."""
        return "gate" if self.cell["mode"] == "gate" else "measure"


class Refused(Exception):
    """This cell ends here, with a status and a reason; not an error of the runner."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Recorded(Exception):
    """The cell has got its record from another call: there is nothing to run."""


class Interrupted(BaseException):
    """The runner was told to stop, or its parent is gone: no record is written, the next call runs the cell again."""

    def __init__(self, reason, exit_status):
        super().__init__(reason)
        self.exit_status = exit_status
