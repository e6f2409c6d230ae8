"""What the worker is started with: an allow-listed environment, its command line, its limits."""

import os
import resource

from host import catalogue
from host.runner.hunt import TOKEN
from host.runner.request import Refused

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
# Passed through: some machines set OPENBLAS_CORETYPE because old builds compute wrong results on new processors.
PASSED = ("OPENBLAS_CORETYPE", "TZ")
PRIVATE = {"PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "PYTHONPATH", TOKEN, "LEVELFIELD_PADDING"}
ENVIRONMENT_BYTES = 8192  # padded to this: the size of the environment shifts the stack and with it step times


def variables(request, prefix, scratch, token):
    """Return the worker's whole environment.

    Source of the padding: Mytkowicz et al. 2009, "Producing wrong data without doing anything obviously wrong!"
    """
    found = {
        "PATH": os.pathsep.join([os.path.join(prefix, "bin"), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "XDG_CACHE_HOME": os.path.join(scratch, "cache"),
        "USER": "levelfield",  # some frameworks ask who runs them, and fail where nobody is known
        "LOGNAME": "levelfield",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join([str(catalogue.WORKFLOW), *map(str, request.python_path)]),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONFAULTHANDLER": "1",
        TOKEN: token,
    }
    found.update({name: str(request.cell["threads"]) for name in THREADS})
    found.update({name: os.environ[name] for name in PASSED if name in os.environ})
    found.update(devices(request))
    found.update(adapter_variables(request))
    size = sum(len(name) + len(value) + 2 for name, value in found.items())
    found["LEVELFIELD_PADDING"] = "x" * max(0, ENVIRONMENT_BYTES - size)
    return found


def devices(request):
    """Return the variables that decide which GPUs the worker sees: none on a CPU, else the first of those granted."""
    if request.accelerator == "cpu":
        return {"CUDA_VISIBLE_DEVICES": ""}
    granted = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = request.cell["devices"]
    names = granted.split(",") if granted else [str(number) for number in range(count)]
    if len(names) < count:
        raise Refused(
            "wrong_hardware",
            "the cell asks for {} devices, this job was granted {} (CUDA_VISIBLE_DEVICES={})".format(
                count, len(names), granted
            ),
        )
    return {"CUDA_VISIBLE_DEVICES": ",".join(names[:count]), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def adapter_variables(request):
    """Return what the adapter must have set before its framework is imported: its literal ENVIRONMENT.

    `{threads}` and `{devices}` in a value stand for the cell's.
    """
    declared = catalogue.literals(request.adapter_path).get("ENVIRONMENT", {})
    replaced = {}
    for name, value in declared.items():
        for axis in ("threads", "devices"):
            value = str(value).replace("{" + axis + "}", str(request.cell[axis]))
        replaced[name] = value
    return replaced


def recorded(found):
    """Return the variables that stand in the record: all but those that name this machine's folders."""
    return {name: value for name, value in sorted(found.items()) if name not in PRIVATE and "/" not in value}


def limits(request):
    """Return [(resource, bytes), ...] to set in the worker: no core dumps, and its data where there is a limit."""
    chosen = [(resource.RLIMIT_CORE, 0)]
    if request.memory_limit_bytes:
        chosen.append((resource.RLIMIT_DATA, request.memory_limit_bytes))
    return chosen
