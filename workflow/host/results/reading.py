"""Read record files that anything may have happened to: each comes back as a record or as a reason, never an error."""

import json
import math

import jsonschema

from host import records

LARGEST = 2**53  # what a column of numbers holds exactly


def read_record(path, expected_cell=None):
    """Return (record, "") or, where the file is no valid record of the expected cell, (None, why).

    path           Path of an existing file
    expected_cell  dict of axes that must be the record's own, or None
    """
    try:
        text = path.read_bytes().decode("utf-8")
        record = json.loads(text, parse_constant=refuse_constant, parse_int=whole, parse_float=fraction)
    except OSError as error:
        return None, "cannot be read: {}".format(error.strerror or error)
    except UnicodeDecodeError as error:
        return None, "is not UTF-8 text (byte {})".format(error.start)
    except (ValueError, RecursionError) as error:
        return None, "is not JSON: {}".format(shortened(str(error)))
    try:
        error = jsonschema.exceptions.best_match(records.validator("record").iter_errors(record))
    except RecursionError:
        return None, "is nested too deeply"
    if error is not None:
        where = ".".join(str(key) for key in error.absolute_path) or "record"
        return None, "does not fit the record schema: {}: {}".format(where, shortened(error.message))
    problem = contradiction(record)
    if problem:
        return None, "contradicts itself: " + problem
    for name, value in (expected_cell or {}).items():
        if record["cell"].get(name) != value:
            return None, "is of another cell: {} is {!r}, expected {!r}".format(name, record["cell"].get(name), value)
    return record, ""


def refuse_constant(name):
    """Refuse NaN and the infinities, which JSON does not have: in a record they are texts."""
    raise ValueError("it holds the literal {}".format(name))


def whole(digits):
    """Return a JSON integer; refuse one of more than 64 bits, which no clock or counter writes."""
    if len(digits) > 19:
        raise ValueError("it holds a number of {} digits".format(len(digits)))
    return int(digits)


def fraction(digits):
    """Return a JSON number with a point or exponent; refuse one that is beyond all numbers, as 1e999."""
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("it holds the number {}, which is infinite here".format(digits))
    return value


def shortened(text, limit=300):
    """Return the text cut in the middle: a schema message can hold a whole list of step times."""
    return text if len(text) <= limit else text[: limit - 100] + " ... " + text[-95:]


def contradiction(record):
    """Return what in a schema-valid record cannot be true, or "": statuses need a reason, an ok cell its numbers."""
    if not is_cell(record["cell"]):
        return "an axis above 2^53"
    if record["status"] != "ok":
        return "" if record.get("reason") else "status {!r} without a reason".format(record["status"])
    if record["cell"]["mode"] == "gate":
        return "" if record.get("gate") else "an ok gate cell without its checks"
    steps = record.get("step_ns")
    if not steps or len(steps) < 2:
        return "an ok cell without step times after the first"
    if not all(step > 0 for step in steps):
        return "a step time that is not positive"
    losses = [float(value) for _, value in record.get("losses") or []]  # "nan" and "inf" travel as strings
    if not all(math.isfinite(loss) for loss in losses):
        return "an ok cell with a loss that is not finite"
    return ""


def is_cell(cell):
    """Return whether a value is a cell by the schema, with numbers that a table can hold."""
    fits = isinstance(cell, dict) and records.validator("cell").is_valid(cell)
    return fits and all(value <= LARGEST for value in cell.values() if isinstance(value, (int, float)))
