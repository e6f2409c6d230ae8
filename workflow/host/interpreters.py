"""Find a Python interpreter of a given version, by running every candidate: a shim can exist and fail."""

import os
import subprocess
import sys
from pathlib import Path


def version(path):
    """Return `3.11.7` for an interpreter that starts, None for one that does not."""
    command = [str(path), "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def candidates(wanted, extra=()):
    """Yield paths where an interpreter of version `wanted` (3.11) may be: config's, PATH, pyenv, conda, our own.

    extra: paths from `config: pythons`
    """
    yield from (Path(path) for path in extra)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for name in ("python" + wanted, "python3", "python"):
            yield Path(folder or ".") / name
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(pyenv.glob(wanted + ".*/bin/python"), reverse=True)
    for variable in ("CONDA_PREFIX", "MAMBA_ROOT_PREFIX"):
        if os.environ.get(variable):
            yield from sorted(Path(os.environ[variable]).glob("envs/*/bin/python" + wanted))
    yield Path(sys._base_executable)


def find(wanted, extra=()):
    """Return the path of an interpreter whose version starts with `wanted`, or None."""
    for path in candidates(wanted, extra):
        if path.is_file() and os.access(path, os.X_OK) and ((version(path) or "") + ".").startswith(wanted + "."):
            return path
    return None
