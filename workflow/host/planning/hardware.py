"""Which platform this is, which others the catalogue knows, and which of them can be reached from here.

`config/hardware.yaml` is the catalogue. A machine that no entry fits gets a key of its own, a slug of its processor
and granted cores, kept in the ignored `config/here.yaml`; a second machine with the same slug gets another one, so that
two machines never share records.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from host import catalogue, machine
from host.catalogue import mistake
from host.planning import study

CATALOGUE = catalogue.ROOT / "config" / "hardware.yaml"
HERE = catalogue.ROOT / "config" / "here.yaml"


@dataclass(frozen=True)
class Hardware:
    """The catalogue and the key of this machine. entries: {key: entry}; here: this machine's key."""

    entries: dict
    here: str
    known: bool  # False: `here` is a slug that no catalogue entry gave and that is not yet written down

    def resolve(self, name, where):
        """Return the key that a study's hardware name stands for; raise a Mistake for an unknown one."""
        if name == "here":
            return self.here
        if name not in self.entries and name != self.here:
            problem = "is not in config/hardware.yaml"
            raise mistake(where, name, problem, ["here", self.here] + list(self.entries))
        return name

    def accelerator(self, key):
        """Return the folder of envs/ that holds this hardware's environment files."""
        return self.entries[key]["accelerator"] if key in self.entries else "cpu"

    def reachable(self, key):
        """Return whether cells of this hardware can run from here."""
        return key == self.here


def load(path=CATALOGUE, here_path=HERE):
    """Return the Hardware of this checkout on this machine; raise a Mistake for a malformed catalogue."""
    entries = study.read_yaml(path) or {}
    study.check_schema(entries, "hardware", path)
    for key, entry in entries.items():
        check_entry(key, entry, path)
    found = {
        "cpu_model": machine.cpu_model(),
        "cores": machine.cores_granted(),
        "gpu_models": machine.gpu_models(),
    }
    for key, entry in entries.items():
        if fits(entry["find"], found):
            return Hardware(entries, key, True)
    key, known = slug_here(found, here_path)
    return Hardware(entries, key, known)


def check_entry(key, entry, path):
    """Raise a Mistake for an accelerator without environment files or a pattern that is no regular expression."""
    where = "{}: {}".format(catalogue.relative(path), key)
    if entry["accelerator"] not in catalogue.accelerators():
        problem = "there is no folder envs/{}".format(entry["accelerator"])
        raise mistake(where + ": accelerator", entry["accelerator"], problem, catalogue.accelerators())
    for name in ("cpu_model", "gpu_model"):
        try:
            re.compile(entry["find"].get(name, ""))
        except re.error as error:
            problem = "is not a regular expression ({})".format(error)
            raise mistake("{}: find: {}".format(where, name), entry["find"][name], problem) from None


def fits(wanted, found):
    """Return whether a machine (cpu_model, cores, gpu_models) is what a catalogue entry's `find` describes."""
    gpus = found["gpu_models"]
    return (
        re.search(wanted.get("cpu_model", ""), found["cpu_model"] or "") is not None
        and wanted.get("cores", found["cores"]) == found["cores"]
        and wanted.get("gpus", len(gpus)) == len(gpus)
        and all(re.search(wanted.get("gpu_model", ""), model) for model in gpus)
        and (bool(gpus) or not ({"gpu_model", "gpus"} & set(wanted)))
    )


def slug(found):
    """Return a readable key for a machine: `amd-epyc-2c`, `amd-epyc-9654-16c-2x-nvidia-h200`."""
    words = re.sub(r"\((r|tm)\)|cpu|processor|@.*|\b\d+-core\b", " ", (found["cpu_model"] or "unknown").lower())
    parts = [re.sub(r"[^a-z0-9]+", "-", words).strip("-"), "{}c".format(found["cores"])]
    for model in sorted(set(found["gpu_models"])):
        count = found["gpu_models"].count(model)
        parts.append("{}x-{}".format(count, re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")))
    return "-".join(parts)


def identity():
    """Return a hash that tells this machine from another of the same model, without naming it."""
    try:
        text = Path("/etc/machine-id").read_text(encoding="ascii").strip() or os.uname().nodename
    except OSError:
        text = os.uname().nodename
    return hashlib.sha256(("levelfield " + text).encode()).hexdigest()[:16]


def slug_here(found, here_path):
    """Return (this machine's key, whether it is written down): from here.yaml, or a free slug."""
    written = study.read_yaml(here_path) if here_path.exists() else {}
    written = written if isinstance(written, dict) else {}
    base = slug(found)
    for key, machine_identity in written.items():
        if machine_identity == identity() and (key == base or key.startswith(base + "-no")):
            return key, True
    number = 2
    key = base
    while key in written:
        key, number = "{}-no{}".format(base, number), number + 1
    return key, False


def write_here(hardware, here_path=HERE):
    """Fix this machine's key in here.yaml, at the first real run; a key that is there is left as it is."""
    if hardware.known:
        return
    written = study.read_yaml(here_path) if here_path.exists() else {}
    written = dict(written or {}, **{hardware.here: identity()})
    text = "# Keys of machines that no entry of hardware.yaml describes; written at the first run there.\n"
    temporary = here_path.with_suffix(".tmp{}".format(os.getpid()))
    temporary.write_text(text + yaml.safe_dump(written), encoding="utf-8")
    os.replace(temporary, here_path)
