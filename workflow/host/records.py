"""Records: check, write once and in one step, read.

A record appears under its name whole or not at all, and never in another's place: it is written to a temporary file in
the same folder, brought to the disk, and linked to its name, which fails where the name is taken.
"""

import functools
import json
import os
from pathlib import Path

import jsonschema
import referencing

from host import catalogue

SCHEMA = "levelfield/record/1"
NAMES = ("record", "cell", "message")


class Invalid(ValueError):
    """A record or message that does not fit its schema: where, and what would be right."""


@functools.cache
def validator(name):
    """Return the validator of workflow/schemas/<name>.schema.json, with the schemas that it refers to."""
    contents = {}
    for other in NAMES:
        path = catalogue.WORKFLOW / "schemas" / (other + ".schema.json")
        contents[other] = json.loads(path.read_text(encoding="utf-8"))
    registry = referencing.Registry().with_resources(
        (content["$id"], referencing.Resource.from_contents(content)) for content in contents.values()
    )
    return jsonschema.Draft202012Validator(contents[name], registry=registry)


def check(content, name="record"):
    """Raise Invalid for the first place where content does not fit the schema `name` (record, cell or message)."""
    error = jsonschema.exceptions.best_match(validator(name).iter_errors(content))
    if error is not None:
        where = ".".join(str(key) for key in error.absolute_path) or "as a whole"
        raise Invalid("{}: {}: {}".format(name, where, error.message[:500]))


def text(record):
    """Return a record as it is written: checked, a line a field; raise Invalid, also for a NaN."""
    check(record)
    try:
        lines = ["{}: {}".format(json.dumps(key), json.dumps(value, allow_nan=False)) for key, value in record.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"
    except ValueError as error:
        raise Invalid("record: it holds a number that JSON has not (nan or inf): {}".format(error)) from None


def read(path):
    """Return a record; raise Invalid if the file is not there, not JSON or not a record, with its path."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        check(record)
    except (OSError, ValueError) as error:
        raise Invalid("{}: {}".format(path, error)) from None
    return record


def is_valid(path):
    """Return whether a whole record stands at this path."""
    try:
        read(path)
    except Invalid:
        return False
    return True


def write(record, path):
    """Write a new record in one step; its folder is made.

    raises  Invalid if it does not fit the schema (nothing is written), FileExistsError if the name is taken
    """
    path = Path(path)
    content = text(record).encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(".{}.{}.tmp".format(path.name, os.getpid()))
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        give_name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def give_name(temporary, path):
    """Give a finished file its name, which must be free; a file system without links gets a rename after a look."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists():
            raise FileExistsError("{} is there already".format(path)) from None
        os.rename(temporary, path)


def sync_folder(folder):
    """Bring a folder's entries to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(path):
    """Remove what killed runners left beside a record: temporary files of it whose process is gone."""
    path = Path(path)
    for leftover in path.parent.glob(".{}.*.tmp".format(glob_escape(path.name))):
        owner = leftover.name.split(".")[-2]
        if not (owner.isdigit() and Path("/proc", owner).exists()):
            leftover.unlink(missing_ok=True)


def glob_escape(name):
    """Return a file name as a pattern that matches only itself."""
    return "".join("[{}]".format(letter) if letter in "*?[" else letter for letter in name)


def set_aside(path):
    """Rename a file that is in a record's place and is none, so that nothing is lost; return its new path."""
    path = Path(path)
    number = 1
    while (aside := path.with_name("{}.damaged-{}".format(path.name, number))).exists():
        number += 1
    os.rename(path, aside)
    return aside
