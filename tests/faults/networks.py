"""The gate networks of the suite, those of the contract suite among them: graphs, bundles, and how a job has them."""

import json
from unittest import mock

from host import catalogue, graph
from host.gate import bundle

OWN = catalogue.ROOT / "tests" / "contract" / "networks"
CACHE = catalogue.ROOT / ".environments" / "cache"  # where the runner has its bundles too


def names():
    """Return {network: its folder}, the study's and the contract suite's."""
    return {
        path.stem: folder for folder in (catalogue.FOLDERS["network"][0], OWN) for path in sorted(folder.glob("*.py"))
    }


def placed(network):
    """Return the context in which `host.graph` finds a network of either folder."""
    return mock.patch.dict(catalogue.FOLDERS, {"network": (names()[network], ".py")})


def lowered(network, initialisation):
    """Return a network's graph at its gate size."""
    with placed(network):
        return graph.lower(network, "gate", initialisation)


def bundled(network, framework, cache=CACHE, seed=None):
    """Return a network's bundle for the forms that a framework's adapter declares; the search begins at `seed`."""
    settings = bundle.SETTINGS if seed is None else dict(bundle.SETTINGS, seed=seed)
    with placed(network), mock.patch.object(bundle, "SETTINGS", settings):
        return bundle.load(network, framework, cache)


def describe(network, made, folder):
    """Return a network as the contract suite's Subject reads it; its graphs are written into the folder."""
    described = {"start": made.paths["start"], "batches": made.paths["batches"], "settings": made.settings}
    for name, content in (("gate_graph", made.graph), ("training_graph", lowered(network, "training"))):
        path = folder / "{}-{}.json".format(network, name)
        path.write_text(json.dumps(content), encoding="utf-8")
        described[name] = str(path)
    return described
