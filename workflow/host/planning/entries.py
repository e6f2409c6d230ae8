"""The entries of a study: check every value, and expand each entry into its cells.

An entry gives an axis one value or a list; its cells are the product. `all` stands for every framework, network or
execution that there is, found when the study is loaded, so that one that is added later is in the study by itself.
"""

import itertools
import math

from host import catalogue
from host.catalogue import Mistake, mistake
from host.planning import axes

ALL = "all"
GATE_BATCH = 16  # samples in a gate batch; docs/gate.md


def expand(entry, protocol_name, hardware, where, gates_only=False):
    """Return the cells of one entry: the product of its axes, one cell for each repeat.

    gates_only  the entry only says which gate cells there are: it may leave out `batch` and `repeats`, which they do
                not take from it
    """
    entry = dict(entry)
    for key in entry:
        if key not in axes.BY_NAME and key != "repeats":
            raise mistake(where, key, "is not an axis", list(axes.BY_NAME) + ["repeats"])
    if gates_only:
        entry = {"batch": GATE_BATCH, "repeats": 1} | entry
    for key in [axis.name for axis in axes.AXES if axis.default is axes.REQUIRED] + ["repeats"]:
        if key not in entry:
            raise Mistake("{}: {!r} is missing: every entry says it.".format(where, key))
    repeats = entry.pop("repeats")
    values = {name: axis_values(axes.BY_NAME[name], entry, where) for name in axes.BY_NAME}
    cells = []
    for combination in itertools.product(*values.values()):
        for cell in every(dict(zip(values, combination, strict=True)), hardware, where):
            resolve(cell, hardware, where)
            cells += [dict(cell, protocol=protocol_name, repeat=repeat, attempt=0) for repeat in range(1, repeats + 1)]
    return cells


def axis_values(axis, entry, where):
    """Return the checked list of values that an entry gives an axis, or its default."""
    if axis.name not in entry:
        return [axis.default]
    given = entry[axis.name]
    given = given if isinstance(given, list) else [given]
    if not given:
        raise Mistake("{}: {}: [] is an empty matrix: give at least one value.".format(where, axis.name))
    return [axis_value(axis, value, "{}: {}".format(where, axis.name)) for value in given]


def axis_value(axis, value, where):
    """Return one value of an axis in its type; raise a Mistake for a wrong type, choice or range."""
    if value == ALL and axis.name in EVERY:
        return value
    if axis.type is float and type(value) is int:
        value = float(value)
    if type(value) is not axis.type:
        kind = {str: "text", int: "a whole number", float: "a number"}[axis.type]
        hint = (
            ""
            if axis.type is str or not is_number(value)
            else " In YAML this is text: write {:g}.".format(float(value))
        )
        raise Mistake("{}: {}: must be {}.{}".format(where, "empty" if value is None else repr(value), kind, hint))
    if axis.type is float and not math.isfinite(value):
        raise Mistake("{}: {!r}: must be a finite number.".format(where, value))
    if axis.choices and value not in axis.choices:
        raise mistake(where, value, "is not a value of this axis", axis.choices)
    if axis.minimum is not None and value < axis.minimum:
        raise Mistake("{}: {!r}: must be at least {}.".format(where, value, axis.minimum))
    return value


def is_number(value):
    """Return whether a value is a text that reads as a number: YAML takes 1e-3 for a text, 1.0e-3 for a number."""
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def every(cell, hardware, where):
    """Return the cells that a cell with `all` in it stands for: a list of one where there is none."""
    cells = [cell]
    for name, values in EVERY.items():  # frameworks before executions, which are the framework's
        cells = [
            dict(one, **{name: value})
            for one in cells
            for value in (values(one, hardware, where) if one[name] == ALL else [one[name]])
        ]
    return cells


def every_framework(cell, hardware, where):
    """Return the frameworks with an environment file for the cell's hardware, but not the judge of all others."""
    accelerator = hardware.accelerator(hardware.resolve(cell["hardware"], where + ": hardware"))
    there = catalogue.frameworks(accelerator)
    for framework in there:
        catalogue.environment_file(framework, accelerator, where + ": framework: all")
    return [framework for framework in there if not catalogue.adapter_literals(framework).get("JUDGE")]


def every_execution(cell, hardware, where):
    """Return the executions that the adapter of the cell's framework has."""
    accelerator = hardware.accelerator(hardware.resolve(cell["hardware"], where + ": hardware"))
    catalogue.environment_file(cell["framework"], accelerator, where + ": framework")
    return list(catalogue.adapter_literals(cell["framework"])["EXECUTIONS"])


EVERY = {
    "framework": every_framework,
    "network": lambda cell, hardware, where: catalogue.names("network"),
    "execution": every_execution,
}


def resolve(cell, hardware, where):
    """Replace `here` and the adapter's declared execution by what they stand for; raise a Mistake for unknown names."""
    cell["hardware"] = hardware.resolve(cell["hardware"], where + ": hardware")
    catalogue.find("network", cell["network"], where + ": network")
    catalogue.find("data", cell["data"], where + ": data")
    accelerator = hardware.accelerator(cell["hardware"])
    catalogue.environment_file(cell["framework"], accelerator, where + ": framework")
    if cell["mode"] == "gate":
        raise Mistake("{}: mode: 'gate': gate cells are made by `gate: true`, not listed.".format(where))
    if cell["execution"] is axes.DECLARED:
        cell["execution"] = catalogue.adapter_literals(cell["framework"])["EXECUTIONS"][0]


def check_unrepeated(cells, at):
    """Raise a Mistake if two entries make the same cell."""
    seen = set()
    for cell in cells:
        path = axes.record_path(cell)
        if path in seen:
            raise Mistake(
                "{}: cells: {!r}: this cell is repeated. Make its entries differ in an axis, or raise `repeats` "
                "of one of them.".format(at, axes.describe(cell))
            )
        seen.add(path)


def gate_cells(measured):
    """Return one gate cell for each framework, network, hardware, feeding, precision, threads, devices, execution."""
    gates = {}
    for cell in measured:
        gate = {name: axes.BY_NAME[name].default for name in axes.BY_NAME}
        kept = ("framework", "network", "hardware", "feeding", "devices", "threads", "precision", "execution")
        gate.update({name: cell[name] for name in kept})
        gate.update(mode="gate", batch=GATE_BATCH, protocol=axes.GATE_PROTOCOL, repeat=1, attempt=0)
        gates[axes.record_path(gate)] = gate
    return list(gates.values())
