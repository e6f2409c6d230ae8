"""What adapters need of a graph beyond its ops: the forward pass, pooling as any framework can do it, flattened images.

Frameworks agree on a pooling that rounds down over an input that is already padded, and on little else: rounding up,
padding on one side and what an average divides by differ. So every pooling here is that one, with the padding that
makes it so and, for averages, a factor for each window.
"""

import numpy

PER_ELEMENT = ("relu", "sigmoid", "tanh", "gelu", "dropout")  # ops that any order of the elements passes through
TABLES = ("embedding", "position_embedding")  # ops whose weight is a table of rows: no matrix to transpose


def shapes(graph):
    """Return {value: shape without the batch} of the graph's input and of everything its ops make."""
    found = {graph["input"]["value"]: tuple(graph["input"]["shape"])}
    found.update((op["name"], tuple(op["output_shape"])) for op in graph["ops"])
    return found


def last_uses(graph):
    """Return, for each op, the values that nothing needs after it, the logits excepted: a list of lists."""
    seen, dead = {graph["logits"]}, []
    for op in reversed(graph["ops"]):
        dead.append(sorted(set(op["inputs"]) - seen))
        seen.update(op["inputs"])
    return dead[::-1]


def forward_pass(graph, ops, tensors):
    """Return forward(x, training, kept=None), which gives the logits and keeps no value longer than it is needed.

    kept     a dictionary to put the value of every op into, by its name; None keeps nothing
    ops      {op: maker}; maker(op of the graph, tensors, shape of its first input) gives function(training, *inputs)
    tensors  {name: tensor}, handed to the makers
    """
    known, program = shapes(graph), []
    for op, dead in zip(graph["ops"], last_uses(graph)):
        if op["name"] != graph["loss"]:
            function = ops[op["op"]](op, tensors, known[op["inputs"][0]])
            program.append((function, op["inputs"], op["name"], dead))

    def forward(x, training, kept=None):
        values = {graph["input"]["value"]: x}
        for function, inputs, output, dead in program:
            values[output] = function(training, *[values[name] for name in inputs])
            if kept is not None:
                kept[output] = values[output]
            for name in dead:
                del values[name]
        return values[graph["logits"]]

    return forward


def window_padding(op, input_shape):
    """Return (top, bottom, left, right) with which a pooling that rounds down gives the op's output shape.

    op           a pooling of the graph: kernel, stride and padding in its attributes
    input_shape  (channels, height, width)
    With "ceil" the last windows hang over the far edges; that overhang is added at the bottom and on the right.
    """
    attributes = op["attributes"]
    padding = list(attributes["padding"])
    for axis in (0, 1):
        covered = (op["output_shape"][1 + axis] - 1) * attributes["stride"][axis] + attributes["kernel"][axis]
        there = input_shape[1 + axis] + padding[2 * axis] + padding[2 * axis + 1]
        padding[2 * axis + 1] += max(0, covered - there)
    return tuple(padding)


def window_factor(op, input_shape):
    """Return what the mean over all cells of a padded window is multiplied by: cells / cells that count; or None.

    op           an avg_pool2d of the graph
    input_shape  (channels, height, width)
    returns      float32 (output height, output width); None where every factor is 1
    Padding counts if the op says so; what hangs over the far edge never does.
    """
    attributes = op["attributes"]
    counts = [
        window_counts(op, input_shape, axis, attributes["kernel"][axis], attributes["stride"][axis]) for axis in (0, 1)
    ]
    cells = float(attributes["kernel"][0] * attributes["kernel"][1])
    factor = (cells / numpy.multiply.outer(counts[0], counts[1])).astype(numpy.float32)
    return None if (factor == 1).all() else factor


def window_counts(op, input_shape, axis, kernel, stride):
    """Return how many cells count in each window along one axis (0: height, 1: width), as integers."""
    before, after = op["attributes"]["padding"][2 * axis : 2 * axis + 2]
    if not op["attributes"]["count_padding"]:
        first, end = before, before + input_shape[1 + axis]
    else:
        first, end = 0, before + input_shape[1 + axis] + after
    starts = numpy.arange(op["output_shape"][1 + axis]) * stride
    return numpy.minimum(starts + kernel, end) - numpy.maximum(starts, first)


def flattened_images(graph):
    """Return ({dense layer's weight: (channels, height, width)}, flattened values that must be channels first).

    For frameworks that keep images channels last: a flattened image has its channels fastest there. Where only dense
    layers read it, their weights can be permuted once; where anything else does, the flatten has to transpose.
    """
    known, permuted, transposed = shapes(graph), {}, set()
    for op in graph["ops"]:
        if op["op"] != "flatten" or len(known[op["inputs"][0]]) != 3:
            continue
        carriers, readers = {op["name"]}, []
        for reader in graph["ops"]:
            if carriers & set(reader["inputs"]):
                if reader["op"] in PER_ELEMENT:
                    carriers.add(reader["name"])
                else:
                    readers.append(reader)
        if all(reader["op"] == "dense" for reader in readers):
            weights = [reader["parameters"]["weight"] for reader in readers]
            permuted.update((name, known[op["inputs"][0]]) for name in weights)
        else:
            transposed.add(op["name"])
    return permuted, transposed


def tables(graph):
    """Return the set of the weights that stay as they are: their rows are looked up or added, never multiplied."""
    return {op["parameters"]["weight"] for op in graph["ops"] if op["op"] in TABLES}


def to_channels_last(array, image=None):
    """Return a parameter of the graph for images with channels last: kernels HWIO, dense weights (in, out).

    image  (channels, height, width) where a dense layer reads a flattened image: its inputs are permuted too
    """
    if array.ndim == 4:
        return numpy.ascontiguousarray(array.transpose(2, 3, 1, 0))
    if image is not None:
        array = array.reshape((-1,) + image).transpose(0, 2, 3, 1).reshape(array.shape)
    return numpy.ascontiguousarray(array.T)


def from_channels_last(array, image=None):
    """Return the graph's form of a parameter: `to_channels_last` undone."""
    if array.ndim == 4:
        return numpy.ascontiguousarray(array.transpose(3, 2, 0, 1))
    array = array.T
    if image is not None:
        channels, height, width = image
        array = array.reshape(-1, height, width, channels).transpose(0, 3, 1, 2).reshape(array.shape)
    return numpy.ascontiguousarray(array)


def flattened_values(graph, transposed):
    """Return {value: (channels, height, width)} of the flattened images in which the channels were left fastest.

    transposed  the flattened values that are channels first, of `flattened_images`
    """
    known, found = shapes(graph), {}
    for op in graph["ops"]:
        source = op["inputs"][0]
        if op["op"] == "flatten" and len(known[source]) == 3 and op["name"] not in transposed:
            found[op["name"]] = known[source]
        elif op["op"] in PER_ELEMENT and source in found:
            found[op["name"]] = found[source]
    return found


def value_from_channels_last(array, image=None):
    """Return the graph's form of a batch of an op's values: images NCHW, and flattened ones (image) in that order."""
    if image is not None:
        channels, height, width = image
        array = array.reshape(-1, height, width, channels)
    array = array.transpose(0, 3, 1, 2) if array.ndim == 4 else array
    return numpy.ascontiguousarray(array if image is None else array.reshape(len(array), -1))
