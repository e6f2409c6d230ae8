"""A study file: read it, check every word of it, and expand it into cells.

A study is data: its protocol (lengths), entries of axes whose products are the cells, and the tables and figures it
wants. Everything wrong with it is a `Mistake` naming file, key, value and what would be right, before anything runs.
"""

import itertools
import json
import math
from dataclasses import dataclass

import jsonschema
import yaml

from host import catalogue
from host.catalogue import Mistake, mistake
from host.planning import axes

WORDS = {"integer": "a whole number", "number": "a number", "string": "text", "array": "a list", "object": "a mapping"}
WORDS["boolean"] = "true or false"
INCREASING = (("min_steps", "max_steps"), ("min_seconds", "max_seconds"), ("max_seconds", "deadline_seconds"))
GATE_BATCH = 16  # samples in a gate batch; docs/gate.md


@dataclass(frozen=True)
class Study:
    """A study that passed every check. cells: list of cell dicts, gate cells included, hardware names resolved."""

    name: str
    title: str
    question: str
    seed: int
    protocol: dict
    cells: tuple
    tables: tuple
    figures: tuple


class Strict(yaml.SafeLoader):
    """YAML without what it forbids and PyYAML lets pass: a key that is given twice, of which the last would win."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if name in seen:
                raise yaml.MarkedYAMLError(
                    problem="the key {!r} is given twice".format(name), problem_mark=key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep)


def read_yaml(path):
    """Return the YAML file's content; raise a Mistake with line and column where it cannot be read."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=Strict)
    except UnicodeDecodeError as error:
        raise Mistake("{}: not UTF-8 text (byte {}).".format(catalogue.relative(path), error.start)) from None
    except yaml.YAMLError as error:
        at = getattr(error, "problem_mark", None)
        where = "{}:{}:{}".format(catalogue.relative(path), at.line + 1, at.column + 1) if at else path.name
        raise Mistake("{}: not YAML: {}".format(where, getattr(error, "problem", error))) from None


def check_schema(content, schema_name, path):
    """Raise a Mistake for the first place where the content does not fit workflow/schemas/<schema_name>.schema.json."""
    schema = json.loads((catalogue.WORKFLOW / "schemas" / (schema_name + ".schema.json")).read_text(encoding="utf-8"))
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(content))
    if error is None:
        return
    where = ": ".join([catalogue.relative(path)] + [str(key) for key in error.absolute_path])
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = sorted(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in known)
        raise mistake(where, unknown, "is not a key here", known)
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        raise Mistake("{}: {!r} is missing. Needed: {}.".format(where, missing, ", ".join(error.validator_value)))
    raise Mistake("{}: {!r}: {}.".format(where, error.instance, expected(error)))


def expected(error):
    """Return what would be right, for one jsonschema error."""
    if error.validator == "type":
        return "must be {}".format(WORDS.get(error.validator_value, error.validator_value))
    if error.validator == "pattern":
        return "must be lower-case letters and digits, a letter first"
    if error.validator in ("minimum", "exclusiveMinimum"):
        return "must be {} {}".format(
            "above" if error.validator.startswith("ex") else "at least", error.validator_value
        )
    if error.validator == "minItems":
        return "is an empty matrix: give at least {} entry".format(error.validator_value)
    return error.message.replace(repr(error.instance), "this value")


def load(name, hardware, where="config/config.yaml: study"):
    """Return the Study `name` with every cell expanded.

    name      a file name in config/studies without its suffix
    hardware  host.planning.hardware.Hardware: which keys there are and what `here` is
    raises    Mistake
    """
    path = catalogue.find("study", name, where)
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise Mistake(
            "{}: must be a mapping with title, question, protocol, cells ...".format(catalogue.relative(path))
        )
    check_schema(content, "study", path)
    check_protocol(content["protocol"], path)
    at = catalogue.relative(path)
    for kind in ("table", "figure"):
        for wanted in content[kind + "s"]:
            catalogue.find(kind, wanted, "{}: {}s".format(at, kind))
    measured = []
    for number, entry in enumerate(content["cells"]):
        where = "{}: cells[{}]".format(at, number)
        measured += expand(entry, content["protocol"]["name"], hardware, where)
    check_unrepeated(measured, at)
    gates = gate_cells(measured) if content.get("gate", True) else []
    return Study(
        name=name,
        title=content["title"],
        question=content["question"],
        seed=content["seed"],
        protocol=content["protocol"],
        cells=tuple(gates + measured),
        tables=tuple(content["tables"]),
        figures=tuple(content["figures"]),
    )


def check_protocol(protocol, path):
    """Raise a Mistake if another study gives the same protocol name other lengths: records would be mixed up."""
    if protocol["name"] == axes.GATE_PROTOCOL:
        raise Mistake("{}: protocol: name: 'gate' is taken by gate cells.".format(catalogue.relative(path)))
    for shorter, longer in (
        ("min_steps", "max_steps"),
        ("min_seconds", "max_seconds"),
        ("max_seconds", "deadline_seconds"),
    ):
        if not protocol[shorter] <= protocol[longer] < math.inf:
            raise Mistake(
                "{}: protocol: {}: {!r}: must be at most {}, which is {!r}.".format(
                    catalogue.relative(path), shorter, protocol[shorter], longer, protocol[longer]
                )
            )
    for other in sorted(path.parent.glob("*.yaml")):
        if other == path:
            continue
        content = read_yaml(other)
        theirs = content.get("protocol") if isinstance(content, dict) else None
        if isinstance(theirs, dict) and theirs.get("name") == protocol["name"] and theirs != protocol:
            key = next(key for key in sorted(set(theirs) | set(protocol)) if theirs.get(key) != protocol.get(key))
            raise Mistake(
                "{}: protocol: {}: {!r}: {} calls its protocol {!r} too and has {!r}. "
                "Give this one another name.".format(
                    catalogue.relative(path),
                    key,
                    protocol.get(key),
                    catalogue.relative(other),
                    protocol["name"],
                    theirs.get(key),
                )
            )


def expand(entry, protocol_name, hardware, where):
    """Return the cells of one entry: the product of its axes, one cell for each repeat."""
    entry = dict(entry)
    for key in entry:
        if key not in axes.BY_NAME and key != "repeats":
            raise mistake(where, key, "is not an axis", list(axes.BY_NAME) + ["repeats"])
    for key in [axis.name for axis in axes.AXES if axis.default is axes.REQUIRED] + ["repeats"]:
        if key not in entry:
            raise Mistake("{}: {!r} is missing: every entry says it.".format(where, key))
    repeats = entry.pop("repeats")
    values = {name: axis_values(axes.BY_NAME[name], entry, where) for name in axes.BY_NAME}
    cells = []
    for combination in itertools.product(*values.values()):
        cell = dict(zip(values, combination, strict=True))
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
