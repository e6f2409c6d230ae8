"""Tables and figures are files in workflow/tables and workflow/figures: found by listing, loaded by their path."""

import importlib.util

from host import catalogue


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


def question(module):
    """Return the first line of a plug-in's docstring: the question that it answers."""
    return module.__doc__.strip().splitlines()[0]
