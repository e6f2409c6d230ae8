"""A fault: what is wrong with an adapter, as changes of all that goes into it and comes out of it.

Most faults are a graph that is not the one asked for, while parameters go in and come out under the names asked for.
"""

import copy

import numpy


class DoesNotApply(Exception):
    """This kind of fault cannot be planted there: the shapes do not allow it, or it would change nothing."""


class Fault:
    """What is changed. A kind of fault gets a fresh one, in which nothing is, and sets what it needs.

    original    the graph asked for
    graph       the graph that the adapter is built from; a copy to be changed in place
    tensors     {name: (into, back)}: into(start) is what goes in for a tensor, back(array) undoes it for gradients and
                for how far a parameter has moved; back is None where nothing can: the array is reported as it is
    crossed     [(name, name)]: tensors that are taken for each other, in and out
    hidden      names of parameters that are not reported
    added       {name: array} that is reported too
    options     function of the optimiser's options, returns those that are used
    batch       function (inputs, targets, index of the batch), returns those that are fed
    gradient    function (parameter, gradient, value), returns the gradient that is used; NumPy arrays of one layout
    reported    whether adapter.gradients() shows what `gradient` made
    optimizer   makes an `optimizers.Formula` that is to move the parameters instead of the framework's own
    own         name of one of the framework's own faults
    """

    def __init__(self, graph):
        self.original, self.graph = graph, copy.deepcopy(graph)
        self.tensors, self.crossed, self.hidden, self.added = {}, [], set(), {}
        self.options = self.batch = self.gradient = self.optimizer = self.own = None
        self.reported = True

    def op(self, name):
        """Return the op of this name in the graph to be changed."""
        return next(op for op in self.graph["ops"] if op["name"] == name)

    def entry(self, name):
        """Return the parameter or buffer of this name in the graph to be changed."""
        return next(each for each in self.graph["parameters"] + self.graph["buffers"] if each["name"] == name)

    def shape(self, value):
        """Return the shape of a value, without the batch, in the graph asked for."""
        if value == self.original["input"]["value"]:
            return list(self.original["input"]["shape"])
        return next(op["output_shape"] for op in self.original["ops"] if op["name"] == value)

    def readers(self, value):
        """Return the ops that read a value in the graph to be changed."""
        return [op for op in self.graph["ops"] if value in op["inputs"]]

    def redirect(self, value, other):
        """Let everything that reads a value read another one."""
        for op in self.readers(value):
            op["inputs"] = [other if name == value else name for name in op["inputs"]]
        if self.graph["logits"] == value:
            self.graph["logits"] = other

    def bypass(self, name, source=0):
        """Leave an op out: what reads it reads its input number `source`, which must have its shape."""
        op = self.op(name)
        if self.shape(op["inputs"][source]) != op["output_shape"]:
            raise DoesNotApply("{} changes the shape".format(name))
        self.redirect(name, op["inputs"][source])
        self.prune()

    def insert(self, value, kind, attributes=None, reader=None):
        """Put an op between a value and all that reads it, or one reader alone; it keeps the shape."""
        name = "inserted_{}_{}".format(kind, value)
        op = {"op": kind, "name": name, "inputs": [value], "output_shape": list(self.shape(value))}
        op.update(attributes=attributes or {}, parameters={}, buffers={})
        if reader is None:
            self.redirect(value, name)
        else:
            reader["inputs"] = [name if each == value else each for each in reader["inputs"]]
        names = [each["name"] for each in self.graph["ops"]]
        self.graph["ops"].insert(names.index(value) + 1 if value in names else 0, op)

    def prune(self):
        """Remove the ops that the loss does not need, with their tensors."""
        needed, kept = {self.graph["loss"]}, []
        for op in reversed(self.graph["ops"]):
            if op["name"] in needed:
                needed.update(op["inputs"])
                kept.append(op)
        if self.graph["input"]["value"] not in needed:
            raise DoesNotApply("nothing would read the input")
        self.graph["ops"] = kept[::-1]
        held = {name for op in kept for role in ("parameters", "buffers") for name in op[role].values()}
        for kind in ("parameters", "buffers"):
            self.graph[kind] = [entry for entry in self.graph[kind] if entry["name"] in held]

    def drop_tensor(self, op, role):
        """Take a parameter from an op; it is reported as never moving."""
        name = op["parameters"].pop(role)
        self.graph["parameters"] = [entry for entry in self.graph["parameters"] if entry["name"] != name]

    def replace(self, name, into, back=None):
        """Let into(start) go in for a tensor, and back(array) of it come out."""
        self.tensors[name] = (into, back)

    def start_at(self, name, value):
        """Let a tensor start at a value, whatever was asked for."""
        self.replace(name, lambda start: numpy.full_like(start, value), lambda array: array)

    def permute(self, name, forth, back):
        """Let a tensor be used in another order of its elements."""
        self.replace(name, lambda start: numpy.array(forth(start), order="C"), lambda array: numpy.array(back(array)))

    def refit(self):
        """Compute shapes anew after a change of one: later layers get other shapes, their starts cut or repeated."""
        known = {self.graph["input"]["value"]: list(self.graph["input"]["shape"])}
        for op in self.graph["ops"]:
            shapes = [known[name] for name in op["inputs"]]
            known[op["name"]] = op["output_shape"] = output_shape(op, shapes)
            for role, shape in tensor_shapes(op, shapes[0]).items():
                name = op["parameters"].get(role, op["buffers"].get(role))
                if name is not None and self.entry(name)["shape"] != shape:
                    self.entry(name)["shape"] = shape
                    self.replace(name, resizer(shape))
        if self.shape(self.original["logits"]) != known[self.graph["logits"]]:
            raise DoesNotApply("the logits would have another shape")


def resizer(shape):
    """Return the function that cuts or repeats an array into a shape."""
    return lambda start: numpy.resize(start, shape)


def output_shape(op, shapes):
    """Return the shape without the batch that an op makes of these; DoesNotApply where it cannot."""
    kind, first, attributes = op["op"], shapes[0], op["attributes"]
    if kind in ("conv2d", "max_pool2d", "avg_pool2d"):
        channels = attributes["channels"] if kind == "conv2d" else first[0]
        return [channels] + [windows(first[1 + axis], attributes, axis) for axis in (0, 1)]
    if kind == "global_avg_pool":
        return first[:1]
    if kind == "flatten":
        return [int(numpy.prod(first))]
    if kind in ("dense", "lstm"):
        return first[:-1] + [attributes["units"]]
    if kind in ("add", "multiply") and any(shape != first for shape in shapes):
        raise DoesNotApply("the shapes would differ")
    if kind in ("reshape", "concat", "attention", "embedding", "position_embedding"):
        return refuse_change(op, shapes)
    return [] if kind == "softmax_cross_entropy" else list(first)


def refuse_change(op, shapes):
    """Return the op's output shape if it still fits what goes in; DoesNotApply else."""
    kind, first, made = op["op"], shapes[0], op["output_shape"]
    fits = {
        "reshape": lambda: numpy.prod(first) == numpy.prod(made),
        "concat": lambda: sum(map(numpy.prod, shapes)) == numpy.prod(made),
        "attention": lambda: first == [made[0], 3 * made[1]],
        "embedding": lambda: first == made[:1],
        "position_embedding": lambda: first == made,
    }
    if not fits[kind]():
        raise DoesNotApply("{} would not fit".format(op["name"]))
    return made


def windows(length, attributes, axis):
    """Return how many windows fit along an axis, 0 (height) or 1 (width); DoesNotApply if none does."""
    before, after = attributes["padding"][2 * axis : 2 * axis + 2]
    kernel, stride = attributes["kernel"][axis], attributes["stride"][axis]
    rest = length + before + after - kernel
    if rest < 0:
        raise DoesNotApply("the kernel would not fit")
    if attributes.get("rounding") == "ceil":
        count = -(-rest // stride) + 1
        return count - 1 if (count - 1) * stride >= length + before else count
    return rest // stride + 1


def tensor_shapes(op, shape):
    """Return {role: shape} of an op's tensors for an input of this shape; only of ops whose tensors depend on it."""
    kind, attributes = op["op"], op["attributes"]
    if kind == "dense":
        return {"weight": [attributes["units"], shape[-1]], "bias": [attributes["units"]]}
    if kind == "conv2d":
        weight = [attributes["channels"], shape[0] // attributes["groups"]] + list(attributes["kernel"])
        return {"weight": weight, "bias": [attributes["channels"]]}
    if kind == "lstm":
        gates = 4 * attributes["units"]
        return {"weight_input": [gates, shape[-1]], "weight_hidden": [gates, attributes["units"]], "bias": [gates]}
    if kind == "batch_norm":
        return dict.fromkeys(("gamma", "beta", "running_mean", "running_variance"), shape[:1])
    return dict.fromkeys(("gamma", "beta"), shape[-1:]) if kind == "layer_norm" else {}
