"""Tables and figures are files in workflow/tables and workflow/figures: found by listing, loaded by their path."""

import importlib.util

from host import catalogue

SOURCES = ("cells", "gate")  # what a plug-in may read; figures of cells read their repeats in records.parquet too


def load(kind, name):
    """Return the module of a table or figure; raise a Mistake if there is none, or it lacks what its kind needs.

    kind  "table" (needs a function `table(cells)`) or "figure" (needs `draw(table, axes)`)
    """
    path = catalogue.find(kind, name, "--name")
    specification = importlib.util.spec_from_file_location("{}_plugin_{}".format(kind, name), path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    needed = {"table": "table", "figure": "draw"}[kind]
    if not callable(getattr(module, needed, None)):
        raise catalogue.Mistake("{}: has no function {!r}".format(catalogue.relative(path), needed))
    if not (module.__doc__ or "").strip():
        raise catalogue.Mistake("{}: has no docstring that says which question it answers".format(path.name))
    return module


def reads(kind, name):
    """Return which Parquet file of collecting a table or figure reads: `gate` by its literal READS, else `cells`.

    The plug-in is not imported: a study is checked by it before there is anything to draw.
    """
    path = catalogue.find(kind, name, "--name")
    stated = catalogue.literals(path).get("READS", SOURCES[0])
    if stated not in SOURCES:
        raise catalogue.mistake("{}: READS".format(catalogue.relative(path)), stated, "cannot be read", SOURCES)
    return stated


def question(module):
    """Return the first line of a plug-in's docstring: the question that it answers."""
    return module.__doc__.strip().splitlines()[0]
