"""The axes of a cell: one table of names, types, defaults and how each is written in a record's name.

An axis at its default is left out of the name, so that an axis added later renames no record that exists.
"""

from dataclasses import dataclass
from typing import Any

REQUIRED = object()  # the study must say it
DECLARED = object()  # the adapter says it: the execution that a user of that framework would choose


@dataclass(frozen=True)
class Axis:
    """One axis: its name, the type and the range of its values, its default, and its prefix in a record's name."""

    name: str
    type: type
    default: Any
    prefix: str = ""
    choices: tuple = ()
    minimum: float | None = None
    always: bool = False  # written in the name even at its default


AXES = (
    Axis("framework", str, REQUIRED),
    Axis("network", str, REQUIRED),
    Axis("hardware", str, "here"),
    Axis("mode", str, "train", choices=("train", "infer", "gate"), always=True),
    Axis("data", str, "digits"),
    Axis("feeding", str, "step", choices=("step", "resident", "e2e")),
    Axis("batch", int, REQUIRED, "b", minimum=1, always=True),
    Axis("devices", int, 1, "d", minimum=1),
    Axis("threads", int, 1, "t", minimum=1, always=True),
    Axis("precision", str, "float32", choices=("float32", "tf32", "bfloat16", "float16")),
    Axis("execution", str, DECLARED, choices=("eager", "compiled", "xla"), always=True),
    Axis("optimizer", str, "sgd", choices=("sgd",)),
    Axis("learning_rate", float, 0.05, "lr", minimum=0.0),
    Axis("momentum", float, 0.9, "m", minimum=0.0),
    Axis("weight_decay", float, 0.0, "wd", minimum=0.0),
)
BY_NAME = {axis.name: axis for axis in AXES}
FOLDERS = ("hardware", "framework", "network")  # these are folders of the record's path, not part of its stem
GATE_PROTOCOL = "gate"  # a gate cell has no lengths; its procedure is fixed
NO_PROTOCOL = {"name": GATE_PROTOCOL, "deadline_seconds": 600, "exploratory": False}


def stem(cell):
    """Return the record's file name without suffix: `train-b64-t1-eager-short-r1`, axes at their default left out."""
    written = []
    for axis in AXES:
        if axis.name in FOLDERS or (cell[axis.name] == axis.default and not axis.always):
            continue
        written.append("{}{}".format(axis.prefix, format_value(cell[axis.name])))
    if cell["protocol"] != GATE_PROTOCOL:
        written.append(cell["protocol"])
    written.append("r{}".format(cell["repeat"]))
    if cell.get("attempt"):
        written.append("a{}".format(cell["attempt"]))
    return "-".join(written)


def format_value(value):
    """Return the shortest exact text of an axis value: 0.05, 1e-05, 64, float32."""
    return "{:.15g}".format(value) if isinstance(value, float) else str(value)


def record_path(cell):
    """Return the record's path below the records folder: <hardware>/<framework>/<network>/<stem>.json."""
    return "/".join([cell[name] for name in FOLDERS] + [stem(cell) + ".json"])


def describe(cell):
    """Return the cell in a few words for a terminal: `torch lenet5 train b64 t1 eager, repeat 2`."""
    return "{} {} {}".format(cell["framework"], cell["network"], stem(cell).replace("-", " "))
