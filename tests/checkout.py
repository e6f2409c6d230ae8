"""A copy of this checkout to change and run Snakemake in, as a newcomer's clone would be."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv" / "bin"


def copy(folder):
    """Copy what git tracks or would track into the folder; its environments are this checkout's."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def environment():
    """Return the variables of a process in a copy: nothing of the tests' own."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def command(*arguments):
    """Return a call of Snakemake with the host environment's interpreter."""
    return [str(BIN / "snakemake"), *arguments]


def call(words, folder, timeout=300, **variables):
    """Run a command in a copy; return its finished process, everything that it printed in stdout."""
    return subprocess.run(
        words,
        cwd=folder,
        env={**environment(), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )


def run(words, folder, **variables):
    """Run a command in a copy; return everything that it printed."""
    return call(words, folder, **variables).stdout


def snakemake(folder, *arguments):
    """Run Snakemake in a copy; return (exit status, everything that it printed)."""
    answer = call(command(*arguments), folder)
    return answer.returncode, answer.stdout


def blocks(page, kind):
    """Return {path: text} of the code blocks of a page that say which file or entry they are."""
    pattern = r"<!-- {}: (\S+) -->\n```\w+\n(.*?)```\n".format(kind)
    return dict(re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"), re.DOTALL))


def study(folder, name, cells, seconds=0.05, **changes):
    """Write a study of a few short cells into a copy."""
    lengths = {"warmup_steps": 2, "min_steps": 5, "min_seconds": seconds, "max_seconds": 2 * seconds, "max_steps": 50}
    lengths.update(block_steps=5, block_seconds=seconds, distinct_batches=2, deadline_seconds=60, exploratory=True)
    content = {"title": name, "question": "Does it work?", "seed": 1, "protocol": {"name": name, **lengths}}
    content.update(cells=cells, tables=["throughput"], figures=["step_time"])
    content.update(changes)
    (folder / "config" / "studies" / (name + ".yaml")).write_text(yaml.safe_dump(content))


def finished(folder, name, cells):
    """Copy the checkout into a folder, run a study of these cells there to its end, and return the folder."""
    study(copy(folder), name, cells)
    status, printed = snakemake(folder, "--config", "study=" + name)
    assert status == 0, printed
    return folder
