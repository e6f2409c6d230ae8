"""A study file: read it, check every word of it, and expand it into cells.

A study is data: its protocol (lengths), entries of axes whose products are the cells, and the tables and figures it
wants. Everything wrong with it is a `Mistake` naming file, key, value and what would be right, before anything runs.
"""

import json
import math
from dataclasses import dataclass

import jsonschema
import yaml

from host import catalogue
from host.catalogue import Mistake, mistake
from host.planning import axes, entries

WORDS = {"integer": "a whole number", "number": "a number", "string": "text", "array": "a list", "object": "a mapping"}
WORDS["boolean"] = "true or false"
INCREASING = (("min_steps", "max_steps"), ("min_seconds", "max_seconds"), ("max_seconds", "deadline_seconds"))
ONLY = "only"  # `gate: only`: the entries name gate cells, nothing is timed


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
    if error.validator == "enum":
        return "must be {}".format(" or ".join(json.dumps(value).strip('"') for value in error.validator_value))
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
    gates_only = content.get("gate") == ONLY
    protocol = content.get("protocol", axes.NO_PROTOCOL)
    if "protocol" in content:
        check_protocol(protocol, path)
    at = catalogue.relative(path)
    for kind in ("table", "figure"):
        for wanted in content[kind + "s"]:
            check_drawable(kind, wanted, content.get("gate", True), "{}: {}s".format(at, kind))
    measured = []
    for number, entry in enumerate(content["cells"]):
        where = "{}: cells[{}]".format(at, number)
        measured += entries.expand(entry, protocol["name"], hardware, where, gates_only)
    entries.check_unrepeated(measured, at)
    gates = entries.gate_cells(measured) if content.get("gate", True) else []
    return Study(
        name=name,
        title=content["title"],
        question=content["question"],
        seed=content["seed"],
        protocol=protocol,
        cells=tuple(gates if gates_only else gates + measured),
        tables=tuple(content["tables"]),
        figures=tuple(content["figures"]),
    )


def check_drawable(kind, wanted, gate, where):
    """Raise a Mistake for a table or figure that there is not, or one of cells that the study has not."""
    plugin = catalogue.find(kind, wanted, where)
    of_gates = catalogue.literals(plugin).get("READS") == "gate"
    if of_gates and gate is False:
        raise Mistake("{}: {!r}: shows gate cells, and `gate: false` makes none.".format(where, wanted))
    if not of_gates and gate == ONLY:
        raise Mistake("{}: {!r}: shows measured cells, and `gate: only` makes none.".format(where, wanted))


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
