"""Which faults are planted: every kind on every kind of op or tensor that it fits, once each.

A fault that changes nothing is no fault. The float64 reference decides: it is an adapter too, gets the same fault, and
what moves no array of its trajectory by more than rounding is left out and counted.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

from faults import kinds, load
from faults.fault import DoesNotApply
from host import catalogue

LEAST_CHANGE = 1e-11  # relative, in float64: less is rounding
OFFERS_NOTHING = {"OFFERS": (), "OWN": {}, "VARIABLES": {}}
LARGE = 28  # ops; larger networks are taken only where no smaller one has the place


@dataclass(frozen=True)
class Planned:
    """One fault to be planted: kind, the group it stands for ("conv2d", "dense.bias", ""), where, in which network."""

    kind: str
    group: str
    network: str
    place: str

    @property
    def id(self):
        """Return a name for its files."""
        return "{:08x}".format(zlib.crc32("|".join((self.kind, self.network, self.place)).encode()))


def tools(framework):
    """Return {"OFFERS", "OWN", "VARIABLES"} of a framework's own file, read without importing it."""
    path = Path(__file__).parent / "frameworks" / (catalogue.adapter_name(framework) + ".py")
    return {**OFFERS_NOTHING, **(catalogue.literals(path) if path.exists() else {})}


def candidates(graphs, families):
    """Return {(kind, group): [Planned]} of all places in all networks, the better ones first.

    graphs  {network: (gate graph, training graph)}
    """
    found = {}
    for kind in [each for each in kinds.KINDS.values() if each.family in families]:
        for network, pair in graphs.items():
            graph = pair[kind.family == "dropout"]
            for group, place in kind.places(graph):
                try:
                    fault = kinds.plant(kind.name, place, graph)
                except DoesNotApply:
                    continue
                planned = Planned(kind.name, group, network, place)
                last = any(back is None for _, back in fault.tensors.values())  # other shapes: the count tells
                last = last, len(graph["ops"]) >= LARGE
                found.setdefault((kind.name, group), []).append((last, mixed(planned), planned))
    return {
        key: [planned for *_, planned in sorted(places, key=lambda each: each[:2])] for key, places in found.items()
    }


def mixed(planned):
    """Return a number that puts places into an order of no meaning, the same in every run."""
    return zlib.crc32("{}|{}|{}".format(planned.network, planned.place, planned.kind).encode())


def of_framework(framework, found):
    """Return the faults to plant in a framework: those whose needs its own file offers.

    found  of `candidates`
    """
    own = tools(framework)
    allowed = {load.words(name) for name in own["OWN"]}
    planned = []
    for (kind, _), places in found.items():
        known = kinds.KINDS[kind]
        if set(known.needs) <= set(own["OFFERS"]) and (known.family != "own" or kind in allowed):
            planned += places if known.family == "honest" else places[:1]
    return planned
