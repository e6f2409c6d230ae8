"""Make or complete `.venv`, the host environment, from its lock file. Standard library only: it runs before all else.

Usage: python3 workflow/host/bootstrap.py requirements.txt
Repeated, it does nothing unless the lock file has changed. What is installed is exactly what the lock file pins.
"""

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
OLDEST = (3, 11)


def main(lock_name):
    """Bring .venv to the state of the lock file; return the exit status."""
    if sys.version_info < OLDEST:
        say("Python {}.{} is too old: {}.{} or newer is needed.".format(*sys.version_info[:2], *OLDEST))
        say("Name one: make PYTHON=/path/to/python3.11")
        return 2
    lock = ROOT / lock_name
    stamp = VENV / (lock.stem + ".installed")
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    moved = stamp.is_file() and not runs(VENV / "bin" / "snakemake", "--version")
    if stamp.is_file() and stamp.read_text() == digest and not moved:
        return 0
    start = time.monotonic()
    say("making the host environment in .venv from {}".format(lock_name))
    python = VENV / "bin" / "python"
    if moved or not runs(python, "-c", ""):
        run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    pinned = re.search(r"^uv==\S+", lock.read_text(), re.MULTILINE).group()
    run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pinned])
    uv = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--compile-bytecode"]
    uv += ["--python", str(python), "-r", str(lock)]
    # the system's certificates, as pip does: a site's own authority is known there and not to uv
    defaults = {"UV_SYSTEM_CERTS": "1", "UV_CACHE_DIR": str(ROOT / ".environments" / "cache")}
    run(uv, env=dict(defaults, **os.environ))
    stamp.write_text(digest)
    say("host environment ready after {:.0f} s".format(time.monotonic() - start))
    return 0


def runs(program, *arguments):
    """Return whether a program of .venv exists and starts: one that was moved from elsewhere has those that do not."""
    try:
        return subprocess.run([str(program), *arguments], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def run(command, env=None):
    """Run a command; stop with its exit status and its own words if it fails."""
    status = subprocess.run(command, env=env, check=False).returncode
    if status:
        say("this command failed with exit status {}: {}".format(status, " ".join(command)))
        raise SystemExit(status)


def say(text):
    """Write one line to the terminal."""
    sys.stderr.write("levelfield: {}\n".format(text))
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
