"""All kinds of fault: the modules that enter them into the table, and each framework's own."""

from faults import dropout, gradients, graphs, kinds, optimizers, training

MODULES = (graphs, optimizers, gradients, training, dropout)


def own(names):
    """Enter a framework's own faults: {name of a function of its file: the op it is about, "" for any network}."""
    for name, op in sorted(names.items()):
        if words(name) not in kinds.KINDS:
            enter_own(name, op)


def enter_own(name, op):
    """Enter one of a framework's own faults."""

    def places(graph):
        found = [each["name"] for each in graph["ops"] if each["op"] == op]
        return [(op, place) for place in found[:1]] if op else kinds.everywhere(graph)

    def plant(fault, place):
        fault.own = name

    kinds.enter(words(name), "own", places, plant)


def words(name):
    """Return a function's name as the words of a kind of fault."""
    return name.replace("_", " ")
