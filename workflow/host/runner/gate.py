"""A gate cell in the runner: what its worker starts from, and how what it wrote is compared with the reference."""

from pathlib import Path

import numpy

from host import graph
from host.gate import bundle as bundles
from host.gate import compare, locate
from host.planning import axes


def bundle(request):
    """Return the bundle of the cell's network; made under the host's own Python if it is not cached."""
    return bundles.load(request.cell["network"], request.cell["framework"], request.cache)


def job(made):
    """Return what a gate job holds besides what every job has."""
    return {"arrays": made.paths["start"], "batches": made.paths["batches"], "gate": made.settings}


def judge(made, messages, scratch):
    """Return the record's `gate`: errors and tolerances, tensor by tensor. Nothing is concluded from them here.

    made      the bundle
    messages  the worker's, with `built` and `result`
    scratch   folder that the worker wrote its arrays into
    """
    found = {name: numpy.load(Path(scratch, file)) for name, file in messages["result"]["arrays"].items()}
    return {
        "seed": made.facts["seed"],
        "graph_sha256": graph.sha256(made.graph),
        "forms": made.settings["forms"],
        "checks": compare.compare(made.graph, messages["built"], found, made),
        "layers": compare.layers(made.graph, found, made),
        "start": {name: made.facts[name] for name in ("tries", "smallest_gap", "fit")},
        "settings": {name: value for name, value in made.settings.items() if name not in ("seed", "forms")},
    }


def tell(judged, cell, say):
    """Say what a gate cell disagrees in, from where on, if it does; `judged` is the record's `gate`."""
    place = locate.first(judged)
    if place:
        say("{}: not equivalent: {}".format(axes.describe(cell), locate.text(place)))
