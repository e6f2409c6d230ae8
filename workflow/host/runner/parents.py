"""The processes whose death ends the runner: its parent and, above a shell between them, Snakemake."""

import os
from pathlib import Path

from host.runner.request import Interrupted

GENERATIONS = 6  # how far up Snakemake is looked for: it starts a shell, which may start another


class Parents:
    """Holds a descriptor of each watched process that becomes readable when it ends (Linux 5.3; older: looks)."""

    def __init__(self, started_by=None):
        """Begin to watch.

        started_by  process id of Snakemake where it is known: it may end before this process can look for it
        """
        self.direct = os.getppid()
        processes = chain(self.direct) + ([] if started_by is None else [started_by])
        self.watched = {process: start_time(process) for process in processes}
        self.descriptors = []
        for process in self.watched:
            try:
                self.descriptors.append(os.pidfd_open(process))
            except (AttributeError, OSError):
                continue

    @property
    def must_look(self):
        """Return whether some process has no descriptor, so that only looking now and then tells its end."""
        return len(self.descriptors) < len(self.watched)

    def check(self):
        """Raise Interrupted if a watched process has ended."""
        gone = os.getppid() != self.direct
        if gone or any(start is None or start_time(process) != start for process, start in self.watched.items()):
            raise Interrupted("the process that started this runner has ended: no record is written", 1)

    def close(self):
        """Close the descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []


def chain(parent):
    """Return the process ids to watch: the parent, and those above it up to the nearest Snakemake if there is one."""
    above = []
    process = parent
    while process > 1 and len(above) < GENERATIONS:
        above.append(process)
        if is_snakemake(process):
            return above
        process = parent_of(process)
    return above[:1]


def is_snakemake(process):
    """Return whether a process's command line names Snakemake as its program or module."""
    try:
        words = Path("/proc", str(process), "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(os.path.basename(word) in (b"snakemake", b"snakemake.exe") for word in words[:4])


def fields(process):
    """Return the fields of /proc/<process>/stat after the name, [] if it is gone. The name may hold spaces."""
    try:
        text = Path("/proc", str(process), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def parent_of(process):
    """Return the id of a process's parent, 0 if the process is gone."""
    found = fields(process)
    return int(found[1]) if found else 0


def start_time(process):
    """Return when a process started (clock ticks since boot), None if it is gone or only waits to be collected."""
    found = fields(process)
    return None if not found or found[0] in "ZX" else int(found[19])
