"""Build a framework's environment from its YAML as a virtual environment, and always leave a status file.

One conda YAML, envs/<accelerator>/<framework>.yaml, is the only list of a framework's dependencies. This module reads
the part of it that needs no conda (`python=X`, `pip:` pins) and builds it with uv. What cannot be built gives a status
file with the reason: its cells become `unsupported` and nothing else stops.

Status file: {"status": "ready" | "failed", "reason", "deployment", "prefix", "python", "digest", "seconds", "pins"}.
Usage: python -m host.environments --framework torch --status .environments/cpu/torch.json [--activated]
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml

from host import catalogue, fingerprint, interpreters
from host.catalogue import Mistake

TAIL = 1500  # characters of the installer's last words kept in the reason
PROBE = "from worker.frameworks import load; load({!r})"


class Unbuildable(Exception):
    """This environment cannot be built here; the text says why and what to do."""


def specification(path):
    """Return {"python": "3.11", "pins": ["torch==2.13.0", ...], "conda": [other packages]} of an environment file."""
    where = catalogue.relative(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        dependencies = content["dependencies"]
    except yaml.YAMLError as error:
        raise Mistake("{}: not YAML: {}".format(where, " ".join(str(error).split()))) from None
    except (KeyError, TypeError):
        raise Mistake("{}: dependencies: there is no such list.".format(where)) from None
    result = {"python": None, "pins": [], "conda": []}
    for entry in dependencies if isinstance(dependencies, list) else []:
        if isinstance(entry, dict):
            result["pins"] += entry.get("pip", [])
        elif re.match(r"python\s*=", str(entry)):
            result["python"] = re.sub(r"^python\s*=+\s*", "", entry)
        elif entry != "pip":
            result["conda"].append(str(entry))
    if result["python"] is None:
        raise Mistake("{}: dependencies: there is no `python=X.Y` entry.".format(where))
    return result


def find_links():
    """Return the folders of wheels that the user's pip looks in, for uv: it does not read pip's configuration."""
    answer = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    folders = re.findall(r"^[^=\n]*find-links=(.*)$", answer, re.MULTILINE)
    words = " ".join([text.strip("'\"").replace("\\n", " ") for text in folders]).split()
    return list(dict.fromkeys(words + os.environ.get("UV_FIND_LINKS", "").replace(",", " ").split()))


def build(framework, accelerator, prefix, config, log):
    """Build one environment into prefix; raise Unbuildable with the reason.

    config  the workflow's configuration: pythons, offline, environments
    log     an open text file for everything that the installers print
    """
    path = catalogue.ROOT / "envs" / accelerator / (framework + ".yaml")
    wanted = specification(path)
    if wanted["conda"]:
        raise Unbuildable(
            "{} lists conda packages ({}), which a virtual environment cannot have: use --sdm conda".format(
                catalogue.relative(path), ", ".join(wanted["conda"])
            )
        )
    python = interpreters.find(wanted["python"], config["pythons"])
    if python is None:
        raise Unbuildable(
            "it needs Python {0} and none was found on PATH, in PYENV_ROOT/versions, in conda or in `pythons` of "
            "config/config.yaml: install one, or name one there (missing interpreter)".format(wanted["python"])
        )
    uv = shutil.which("uv", path=os.path.dirname(sys.executable)) or shutil.which("uv")
    if uv is None:
        raise Unbuildable("there is no `uv` beside {} or on PATH: run `make host`".format(sys.executable))
    cache = str(Path(config["environments"]).resolve() / "cache")
    environment = dict(os.environ, UV_CACHE_DIR=cache, UV_NO_PROGRESS="1")
    environment.setdefault("UV_SYSTEM_CERTS", "1")  # as pip does: a site's own authority is known there and not to uv
    if find_links():
        environment["UV_FIND_LINKS"] = ",".join(find_links())
    offline = ["--offline"] if config["offline"] else []
    target = ["--python", str(prefix / "bin" / "python")]
    call([uv, "venv", "--quiet", "--clear", *offline, "--python", str(python), str(prefix)], environment, log)
    if wanted["pins"]:
        # compiled here, or each worker may compile it again: where nothing may be written, or a variable forbids it
        call(
            [uv, "pip", "install", "--quiet", "--compile-bytecode", *offline, *target, *wanted["pins"]],
            environment,
            log,
        )
    probe(framework, prefix, log)
    return wanted


def probe(framework, prefix, log):
    """Import the framework through its adapter, once: what fails here would fail in every cell."""
    environment = dict(os.environ, PYTHONPATH=str(catalogue.WORKFLOW), PYTHONNOUSERSITE="1")
    environment.update(catalogue.adapter_literals(framework).get("ENVIRONMENT", {}))
    call([str(prefix / "bin" / "python"), "-c", PROBE.format(framework)], environment, log)


def call(command, environment, log):
    """Run one installer command into the log; raise Unbuildable with its last words if it fails."""
    log.write("$ {}\n".format(" ".join(command)))
    answer = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd="/"
    )
    log.write(answer.stdout)
    log.flush()
    if answer.returncode:
        words = answer.stdout.strip()[-TAIL:] or "it printed nothing"
        raise Unbuildable("`{}` failed: {}".format(" ".join(command[:3]), words))


def make(framework, accelerator, status_path, config, activated, log):
    """Build the environment as `make_alone` does, but never while another call builds the same one."""
    status_path = Path(status_path)
    status_path.parent.mkdir(parents=True, exist_ok=True)
    with status_path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with this process
        return make_alone(framework, accelerator, status_path, config, activated, log)


def make_alone(framework, accelerator, status_path, config, activated, log):
    """Build the environment unless it is there with the same content, and write its status file.

    activated  Snakemake builds and activates the environments itself (--sdm conda): only say so
    returns    the status, also written to status_path
    """
    try:
        digest = fingerprint.environment(framework, accelerator)
    except (OSError, yaml.YAMLError):
        digest = None  # building says what is wrong with the file
    before = read_status(status_path)
    deployment = "conda" if activated else "venv"
    if before and is_current(before, digest, deployment):
        write_status(status_path, before)
        return before
    status = {"status": "ready", "reason": None, "deployment": deployment, "digest": digest, "prefix": None}
    status.update(python=None, pins=None, seconds=0.0)
    start = time.monotonic()
    if not activated:
        prefix = Path(config["environments"]).resolve() / accelerator / framework
        try:
            wanted = build(framework, accelerator, prefix, config, log)
            status.update(
                prefix=str(prefix), pins=wanted["pins"], python=interpreters.version(prefix / "bin" / "python")
            )
        except (Unbuildable, Mistake, OSError) as error:
            status.update(status="failed", reason="the environment {} cannot be built: {}".format(framework, error))
    status["seconds"] = round(time.monotonic() - start, 2)
    write_status(status_path, status)
    return status


def is_current(status, digest, deployment):
    """Return whether an environment is ready, has this content, and its interpreter still starts."""
    if (status["status"], status["digest"], status["deployment"]) != ("ready", digest, deployment):
        return False
    return status["prefix"] is None or interpreters.version(interpreter(status["prefix"])) == status["python"]


def interpreter(prefix):
    """Return the path of an environment's Python."""
    return Path(prefix) / "bin" / "python"


def read_status(path):
    """Return a status file's content, or None if it is not there or damaged."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_status(path, status):
    """Write a status file in one step: a reader never sees half of it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp{}".format(os.getpid()))
    temporary.write_text(json.dumps(status, indent=1), encoding="utf-8")
    os.replace(temporary, path)


def main(arguments=None):
    """Build one environment as the command line says; exit 0 whatever came of it."""
    parser = argparse.ArgumentParser(prog="python -m host.environments", description=__doc__.splitlines()[0])
    parser.add_argument("--framework", required=True)
    parser.add_argument("--accelerator", default="cpu")
    parser.add_argument("--status", required=True, type=Path)
    parser.add_argument("--config", type=json.loads, default={}, help="JSON: pythons, offline, environments")
    parser.add_argument("--activated", action="store_true", help="Snakemake builds it itself (--sdm conda)")
    parser.add_argument("--log", type=Path, default=Path(os.devnull))
    options = parser.parse_args(arguments)
    config = dict({"pythons": [], "offline": False, "environments": catalogue.ROOT / ".environments"}, **options.config)
    name = "{}/{}".format(options.accelerator, options.framework)
    sys.stderr.write("environment {}: being built\n".format(name))
    options.log.parent.mkdir(parents=True, exist_ok=True)
    with options.log.open("w", encoding="utf-8") as log:
        status = make(options.framework, options.accelerator, options.status, config, options.activated, log)
    result = (
        "ready" if status["status"] == "ready" else "cannot be built; its cells are unsupported: " + status["reason"]
    )
    sys.stderr.write("environment {}: {} ({:.0f} s)\n".format(name, result, status["seconds"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
