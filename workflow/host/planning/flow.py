"""Make the plan of one call from the configuration: check it, load the study, order its cells, list its records.

Planning lists the record folders once and opens no record.
"""

import random
import re
from pathlib import Path

from host import catalogue
from host.catalogue import Mistake, mistake
from host.planning import axes, hardware, study
from host.planning.plan import Plan

DEFAULTS = catalogue.ROOT / "config" / "config.yaml"
TYPES = {"offline": bool, "pythons": list}


def plan(given, where="config/config.yaml"):
    """Return the Plan for a configuration; raise a Mistake for anything wrong in it.

    given  the workflow's configuration: config.yaml with what the command line changes
    """
    check_place(catalogue.ROOT)
    config = check_config(given, where)
    here = hardware.load()
    if config["records"]:
        here = replay_hardware(here, Path(config["records"]))
    wanted = study.load(config["study"], here, where + ": study")
    blocks, ordered = arrange(wanted)
    result = Plan(config, wanted, here, ordered, set(), blocks)
    result.note_present(list_records)
    if not result.reachable and not result.present:
        keys = sorted({cell["hardware"] for cell in ordered.values()})
        raise Mistake(
            "config/studies/{}.yaml: hardware: {}: this machine is {!r} and there are no records of the others: "
            "nothing to run and nothing to draw.".format(wanted.name, ", ".join(map(repr, keys)), here.here)
        )
    return result


def check_place(folder):
    """Raise a Mistake for a checkout that Snakemake cannot work in."""
    if set("{}") & set(str(folder)):
        raise Mistake("{}: Snakemake takes braces in a path for wildcards: move the checkout.".format(folder))


def check_config(given, where):
    """Return the configuration with every key known and of its type; relative paths stay relative."""
    defaults = study.read_yaml(DEFAULTS)
    config = dict(defaults)
    for key, value in given.items():
        if key not in defaults:
            raise mistake(where, key, "is not a key of the configuration", defaults)
        config[key] = value
    for key, value in config.items():
        kind = TYPES.get(key, str)
        if not isinstance(value, kind) and not (key == "records" and value is None):
            raise Mistake(
                "{}: {}: {!r}: must be {}.".format(
                    where, key, value, {bool: "true or false", list: "a list", str: "text"}[kind]
                )
            )
    if config["deployment"] != "venv":
        problem = "is not a deployment (for conda: snakemake --sdm conda)"
        raise mistake(where + ": deployment", config["deployment"], problem, ["venv"])
    if config["records"] and not Path(config["records"]).is_dir():
        raise Mistake("{}: records: {!r}: there is no such folder.".format(where, config["records"]))
    return config


def replay_hardware(here, folder):
    """Return the Hardware for drawing from a folder of records: `here` is the machine that they were measured on."""
    keys = sorted({path.split("/")[0] for path in list_records(folder)})
    if not keys:
        raise Mistake(
            "records: {!r}: holds no record at <hardware>/<framework>/<network>/<record>.json.".format(str(folder))
        )
    if len(keys) != 1:
        raise Mistake("records: {!r}: must hold the records of one machine, holds {}.".format(str(folder), keys))
    return hardware.Hardware(here.entries, keys[0], True)


def arrange(wanted):
    """Return ({record path: block}, {record path: cell} in running order) of a study.

    A block is one repeat of all measured cells of one hardware, in a random order seeded by the study; the block stands
    in each of its records. Gate cells come first and belong to no block.
    """
    gates = {axes.record_path(cell): cell for cell in wanted.cells if cell["mode"] == "gate"}
    groups = {}
    for cell in wanted.cells:
        if cell["mode"] != "gate":
            groups.setdefault((cell["repeat"], cell["hardware"]), []).append(axes.record_path(cell))
    cells = {axes.record_path(cell): cell for cell in wanted.cells}
    blocks, ordered = {}, dict(gates)
    for (repeat, key), paths in sorted(groups.items()):
        random.Random("{} {} {}".format(wanted.seed, key, repeat)).shuffle(paths)
        for position, path in enumerate(paths):
            blocks[path] = {"seed": wanted.seed, "repeat": repeat, "position": position, "size": len(paths)}
            ordered[path] = cells[path]
    for path in gates:
        blocks[path] = {"seed": wanted.seed, "repeat": gates[path]["repeat"], "position": None, "size": len(gates)}
    return blocks, ordered


def list_records(folder):
    """Return the paths below the folder of all records in it, relative; no file is opened."""
    return [path.relative_to(folder).as_posix() for path in folder.glob("*/*/*/*.json")] if folder.is_dir() else []


def is_dry_run(arguments):
    """Return whether this command line of Snakemake's asks for a dry run: it is not told before the rules are read."""
    return any(re.fullmatch(r"--dry-?run|-[a-mo-zA-Z]*n[a-zA-Z]*", argument) for argument in arguments[1:])


def without_chatter(record):
    """Return whether a record of Snakemake's logger is for a reader: a filter for its handlers.

    Two of its lines come with every cell, say nothing, and cannot be turned off without turning errors off.
    """
    return not re.match(r"Select jobs to execute|Execute \d+ jobs", str(record.msg))
