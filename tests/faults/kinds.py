"""The table of kinds of fault: a name, where it can be planted, and the function that plants it."""

from collections import namedtuple

from faults.fault import DoesNotApply, Fault

KINDS = {}  # name: Kind, in the order of their modules

# places(graph) returns [(group, place)]: a fault is planted once or twice for each group; plant(fault, place) does it
Kind = namedtuple("Kind", ("name", "family", "places", "plant", "needs", "behaviour"))
NOWHERE = ""  # the place of a fault that is about no op and no tensor


def enter(name, family, places, plant, needs=(), behaviour=None):
    """Enter a kind into the table.

    needs      what the framework's own file must offer for it
    behaviour  a subclass of `faulty.Faulty`, for what an adapter does rather than computes; None is Faulty itself
    """
    if name in KINDS:
        raise ValueError("the kind of fault {!r} is there twice".format(name))
    KINDS[name] = Kind(name, family, places, plant, tuple(needs), behaviour)


def on_ops(name, *ops, **more):
    """Enter the decorated plant(fault, op): planted on ops of these kinds; none named are all kinds."""

    def places(graph):
        return [(op["op"], op["name"]) for op in graph["ops"] if not ops or op["op"] in ops]

    def decorate(plant):
        enter(name, "graph", places, lambda fault, place: plant(fault, fault.op(place)), more.get("needs", ()))
        return plant

    return decorate


def everywhere(graph):
    """Return the one place of a fault of the network as a whole."""
    return [("", NOWHERE)]


def on_networks(name, family="training", needs=(), places=everywhere):
    """Enter the decorated plant(fault): planted on a network as a whole."""

    def decorate(plant):
        enter(name, family, places, lambda fault, place: plant(fault), needs)
        return plant

    return decorate


def by_normalisation(graph):
    """Return a network as one place, of the networks with or without batch normalisation."""
    there = any(op["op"] == "batch_norm" for op in graph["ops"])
    return [("with batch_norm" if there else "without batch_norm", NOWHERE)]


def behaves(name, family="training", needs=(), places=everywhere):
    """Enter the decorated subclass of `faulty.Faulty`: an adapter that computes what it should and does otherwise."""

    def decorate(behaviour):
        enter(name, family, places, lambda fault, place: None, needs, behaviour)
        return behaviour

    return decorate


def on_tensors(name, groups=None, family="gradient", needs=()):
    """Enter the decorated plant(fault, tensor): planted on parameters, grouped by op and role ("conv2d.weight").

    groups  those it is planted on; None is all
    """

    def places(graph):
        found = []
        for op in graph["ops"]:
            found += [("{}.{}".format(op["op"], role), tensor) for role, tensor in sorted(op["parameters"].items())]
        return [place for place in found if groups is None or place[0] in groups]

    def decorate(plant):
        enter(name, family, places, plant, needs)
        return plant

    return decorate


def plant(kind, place, graph):
    """Return the Fault of one kind at one place of a graph; raise DoesNotApply where it cannot be planted."""
    fault = Fault(graph)
    try:
        KINDS[kind].plant(fault, place)
    except StopIteration:  # an op or a tensor that this graph does not have
        raise DoesNotApply("{!r} is not in it".format(place)) from None
    return fault
