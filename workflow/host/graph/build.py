"""From a network file to the graph: the framework-neutral description that every worker reads, hashed into records.

A network file (`workflow/networks/<name>.py`) has a docstring with its source, `SIZES = {"full": {...}, "gate": {...}}`
and `network(g, **size)`. Each op of `host.graph.ops` is a method of the builder `g`: the values it reads come first,
then its attributes, and it returns the value it makes. `name=` names an op and its tensors ("c1", "c1.weight"); without
it the op is called after what it does ("relu_2").
"""

import hashlib
import importlib.util
import inspect
import json
from dataclasses import dataclass
from functools import partial

from host import catalogue
from host.graph import initial
from host.graph.ops import LOSSES, OPS

SCHEMA = "levelfield/graph/1"
REQUIRED_SIZES = ("full", "gate")


@dataclass(frozen=True)
class Value:
    """A value of the graph: its name, its shape without the batch, and the type of its elements."""

    name: str
    shape: tuple
    dtype: str = "float32"


class Builder:
    """Collects a network's ops in the order in which the network file makes them; a wrong use is a ValueError."""

    def __init__(self):
        self.ops = []
        self.tensors = []  # (op, role, Tensor) in order
        self.values = {}
        self.input_value = None
        self.input_classes = None
        self.logits = None
        self.loss = None

    def __getattr__(self, name):
        if name.startswith("_"):  # copy and pickle ask for what is not there
            raise AttributeError(name)
        if name not in OPS:
            raise catalogue.mistake("the network", name, "there is no such op", OPS)
        return partial(self.append, OPS[name])

    def input(self, shape, classes=None):
        """Return the network's input, of this shape without the batch, e.g. (3, 32, 32).

        classes  None for float32 elements; how many classes there are for int64 ones, 0 to classes - 1: tokens
        """
        if self.input_value is not None:
            raise ValueError("input: a network has one input, and this is the second")
        sizes = list(shape) if isinstance(shape, (tuple, list)) else [shape]
        if not sizes or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
            raise ValueError("input: the shape is {!r}; it must be whole numbers, 1 or more".format(shape))
        if classes is not None and (isinstance(classes, bool) or not isinstance(classes, int) or classes < 2):
            raise ValueError("input: classes is {!r}; it must be a whole number, 2 or more".format(classes))
        self.input_classes = classes
        self.input_value = self.add_value("input", tuple(sizes), "float32" if classes is None else "int64")
        return self.input_value

    def append(self, op, *arguments, name=None, **keywords):
        """Add one op; return the value that it makes."""
        name = self.choose_name(op, name)
        where = op.name if name.startswith(op.name) else "{} {!r}".format(op.name, name)
        if self.loss is not None:
            raise ValueError("{}: the network has its loss already; nothing may follow it".format(where))
        reads = op.inputs or sum(isinstance(argument, Value) for argument in arguments)
        values, attributes = arguments[:reads], arguments[reads:]
        if len(values) < reads:
            raise ValueError("{}: it reads {} value(s), {} given".format(where, reads, len(values)))
        for value in values:
            if not isinstance(value, Value) or self.values.get(value.name) is not value:
                raise ValueError("{}: {!r} is not a value of this network".format(where, value))
            if value.dtype != op.reads:
                problem = "{}: it reads {} values, {!r} is {}"
                raise ValueError(problem.format(where, op.reads, value.name, value.dtype))
        try:
            made = op.apply([value.shape for value in values], attributes, keywords)
        except ValueError as error:
            raise ValueError("{}: {}".format(where, error)) from None
        if made.attributes.get("vocabulary", self.input_classes) != self.input_classes:
            problem = "{}: vocabulary is {}; the input has {} classes"
            raise ValueError(problem.format(where, made.attributes["vocabulary"], self.input_classes))
        entry = {
            "op": op.name,
            "name": name,
            "inputs": [value.name for value in values],
            "output_shape": list(made.output_shape),
            "attributes": made.attributes,
            "parameters": {role: "{}.{}".format(name, role) for role in made.parameters},
            "buffers": {role: "{}.{}".format(name, role) for role in made.buffers},
        }
        self.ops.append(entry)
        for role, tensor in [*made.parameters.items(), *made.buffers.items()]:
            self.tensors.append((entry, role, tensor))
        result = self.add_value(name, tuple(made.output_shape))
        if op.name in LOSSES:
            self.logits, self.loss = values[0], result
        return result

    def choose_name(self, op, name):
        """Return the op's name: the one given, or the op's own with the first number that is free (relu_2)."""
        if name is None and op.name in LOSSES:
            return "loss"
        if name is None:
            count = 1
            while "{}_{}".format(op.name, count) in self.values:
                count += 1
            return "{}_{}".format(op.name, count)
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or name in ("input", "loss"):
            problem = "{}: the name {!r} must be letters, digits and underscores, and neither 'input' nor 'loss'"
            raise ValueError(problem.format(op.name, name))
        return name

    def add_value(self, name, shape, dtype="float32"):
        """Return the new value; ValueError if its name is taken."""
        if name in self.values:
            raise ValueError("the name {!r} is used twice".format(name))
        self.values[name] = Value(name, shape, dtype)
        return self.values[name]

    def check_complete(self):
        """Raise ValueError unless there is a loss and everything made is used on the way to it."""
        if self.loss is None:
            raise ValueError("the network has no loss; it must end with {}".format(" or ".join(LOSSES)))
        used = {name for entry in self.ops for name in entry["inputs"]}
        unused = [name for name in self.values if name not in used and name != self.loss.name]
        if unused:
            raise ValueError("nothing reads {}: a layer without gradient".format(", ".join(map(repr, unused))))


def build(define, network, size, arguments, initialisation="training"):
    """Return the graph of one network function.

    define          function(g, **arguments) that calls the builder
    network, size   names that the graph carries
    initialisation  "training" or "gate" (see `host.graph.initial`; the gate also sets every dropout rate to 0)
    raises          ValueError if the builder is used wrongly or the network is incomplete
    """
    if initialisation not in initial.RULES:
        raise catalogue.mistake("initialisation", initialisation, "there is no such initialisation", initial.RULES)
    g = Builder()
    try:
        inspect.signature(define).bind(g, **arguments)
    except TypeError as error:
        raise ValueError("SIZES: {!r}: {}, by network(g, ...)".format(size, error)) from None
    define(g, **arguments)
    g.check_complete()
    if initialisation == "gate":
        for entry in g.ops:
            if entry["op"] == "dropout":
                entry["attributes"]["rate"] = 0.0
    parameters, buffers = [], []
    for entry, role, tensor in g.tensors:
        described = {"name": "{}.{}".format(entry["name"], role), "shape": list(tensor.shape)}
        start = initial.RULES[initialisation](g.ops, entry, role, tensor)
        if tensor.kind is None:
            buffers.append(dict(described, initial=start))
        else:
            parameters.append(dict(described, kind=tensor.kind, initial=start))
    return {
        "schema": SCHEMA,
        "network": network,
        "size": size,
        "classes": g.logits.shape[-1],
        "input": describe_input(g),
        "target": {"shape": list(g.logits.shape[:-1]), "dtype": "int64"},
        "ops": g.ops,
        "logits": g.logits.name,
        "loss": g.loss.name,
        "parameters": parameters,
        "buffers": buffers,
    }


def describe_input(g):
    """Return the graph's `input`: value, shape, dtype, and for int64 how many classes there are."""
    described = {"value": g.input_value.name, "shape": list(g.input_value.shape), "dtype": g.input_value.dtype}
    return described if g.input_classes is None else dict(described, classes=g.input_classes)


def load(network_name):
    """Return the module of a network by its file's name; ValueError if it is not there or breaks the contract."""
    path = catalogue.find("network", network_name, "network")
    where = catalogue.relative(path)
    specification = importlib.util.spec_from_file_location("levelfield_network_" + network_name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    if not (module.__doc__ or "").strip():
        raise ValueError("{}: it has no docstring; it must name the network's source".format(where))
    sizes = getattr(module, "SIZES", None)
    if not isinstance(sizes, dict) or any(name not in sizes for name in REQUIRED_SIZES):
        raise ValueError("{}: SIZES must be a dictionary with {}".format(where, " and ".join(REQUIRED_SIZES)))
    if not callable(getattr(module, "network", None)):
        raise ValueError("{}: it has no function network(g, **size)".format(where))
    return module


def lower(network_name, size, initialisation="training"):
    """Return the graph of a network at one of its sizes, as a dictionary that JSON can hold.

    network_name    file name in workflow/networks, without suffix
    size            a key of the file's SIZES, "full" or "gate" at least
    initialisation  "training" or "gate"
    raises          ValueError naming the file and what would be right
    """
    module = load(network_name)
    where = "workflow/networks/{}.py".format(network_name)
    if size not in module.SIZES:
        raise catalogue.mistake("{}: SIZES".format(where), size, "there is no such size", module.SIZES)
    try:
        return build(module.network, network_name, size, module.SIZES[size], initialisation)
    except catalogue.Mistake:
        raise
    except ValueError as error:
        raise ValueError("{}: {}".format(where, error)) from None


def sha256(graph):
    """Return the graph's hash: SHA-256 of its JSON with sorted keys and no spaces."""
    text = json.dumps(graph, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def parameter_count(graph):
    """Return the number of trained elements."""
    total = 0
    for parameter in graph["parameters"]:
        elements = 1
        for length in parameter["shape"]:
            elements *= length
        total += elements
    return total
