"""What adapters that keep channels last rely on: a parameter or a value keeps its meaning when its elements move."""

import numpy
import pytest

from host import graph
from worker import lowering

IMAGE = (3, 4, 5)  # channels, height, width: no two alike


def numbers(*shape):
    """Return distinct float32 numbers of this shape, small enough for exact products."""
    return numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape)


def lowered(head):
    """Return the graph of a network whose `head(g, x, flat)` turns an image and its flattened form into a vector."""

    def network(g):
        x = g.input(IMAGE)
        g.softmax_cross_entropy(g.dense(head(g, x, g.flatten(x, name="flat")), 7, name="output"))

    return graph.build(network, "made_here", "full", {}, "training")


@pytest.mark.parametrize("shape", [(6, 3, 2, 4), (6, 60), (60,)], ids=["kernel", "dense weight", "vector"])
def test_parameters_come_back_as_they_were(shape):
    image = IMAGE if len(shape) == 2 else None
    array = numbers(*shape)
    there = lowering.to_channels_last(array, image)
    assert there.flags.c_contiguous
    assert numpy.array_equal(lowering.from_channels_last(there, image), array)


def test_permuted_weight_gives_on_the_other_order_what_the_graphs_gives_on_its_own():
    images, weight = numbers(2, *IMAGE), numbers(6, 60)
    expected = images.reshape(2, 60) @ weight.T
    channels_last = images.transpose(0, 2, 3, 1).reshape(2, 60)
    assert numpy.array_equal(channels_last @ lowering.to_channels_last(weight, IMAGE), expected)
    assert not numpy.array_equal(channels_last @ lowering.to_channels_last(weight), expected)


def test_values_come_back_in_the_graphs_order():
    images = numbers(2, *IMAGE)
    there = images.transpose(0, 2, 3, 1)
    assert numpy.array_equal(lowering.value_from_channels_last(there), images)
    flattened = lowering.value_from_channels_last(there.reshape(2, 60), IMAGE)
    assert numpy.array_equal(flattened, images.reshape(2, 60))
    sequence = numbers(2, 4, 3)
    assert numpy.array_equal(lowering.value_from_channels_last(sequence), sequence)


FREE = {  # only dense layers read what is flattened, maybe through ops on each element
    "dense": lambda g, x, flat: flat,
    "gelu": lambda g, x, flat: g.dropout(g.gelu(flat, "erf"), 0.5),
    "another image": lambda g, x, flat: g.multiply(g.dense(flat, 6, name="left"), g.dense(g.tanh(flat), 6)),
}
ORDERED = {  # something reads it in the graph's order
    "concat": lambda g, x, flat: g.concat(flat, g.global_avg_pool(x)),
    "multiply": lambda g, x, flat: g.multiply(flat, g.sigmoid(flat)),
    "layer_norm": lambda g, x, flat: g.layer_norm(g.gelu(flat, "tanh")),
    "batch_norm": lambda g, x, flat: g.batch_norm(flat),
    "reshape": lambda g, x, flat: g.flatten(g.lstm(g.reshape(flat, (12, 5)), 4)),
    "dense and more": lambda g, x, flat: g.concat(g.dense(flat, 6), flat),
}


@pytest.mark.parametrize("head", FREE)
def test_weights_of_dense_layers_are_permuted_where_only_they_read_a_flattened_image(head):
    made = lowered(FREE[head])
    permuted, transposed = lowering.flattened_images(made)
    readers = {op["parameters"]["weight"] for op in made["ops"] if op["op"] == "dense"}
    if head == "another image":
        readers.remove("output.weight")
    assert permuted == dict.fromkeys(readers, IMAGE)
    assert not transposed
    carried = {op["name"] for op in made["ops"] if op["output_shape"] == [60]}
    assert lowering.flattened_values(made, transposed) == dict.fromkeys(carried, IMAGE)


@pytest.mark.parametrize("head", ORDERED)
def test_flattened_image_is_put_into_the_graphs_order_where_anything_else_reads_it(head):
    made = lowered(ORDERED[head])
    permuted, transposed = lowering.flattened_images(made)
    assert permuted == {}
    assert transposed == {"flat"}
    assert lowering.flattened_values(made, transposed) == {}


def test_tables_are_no_matrices():
    def network(g):
        x = g.position_embedding(g.embedding(g.input((5,), classes=11), 11, 6, name="rows"), name="places")
        g.softmax_cross_entropy(g.dense(g.lstm(x, 4), 11))

    made = graph.build(network, "made_here", "full", {}, "training")
    assert lowering.tables(made) == {"rows.weight", "places.weight"}


def test_forward_pass_drops_values_after_their_last_use_and_keeps_them_on_request():
    made = lowered(lambda g, x, flat: g.add(g.dense(flat, 6, name="left"), g.dense(g.tanh(flat), 6, name="right")))
    order = [op["name"] for op in made["ops"]]
    dropped = dict(zip(order, lowering.last_uses(made), strict=True))
    assert (dropped["flat"], dropped["left"], dropped["right"]) == (["input"], [], ["tanh_1"])
    assert dropped["add_1"] == ["left", "right"]
    ops = {op: lambda op, tensors, shape: lambda training, *inputs: (op["name"], *inputs) for op in graph_ops(made)}
    kept = {}
    logits = lowering.forward_pass(made, ops, {})("x", True, kept)
    assert logits == kept["output"] == ("output", ("add_1", ("left", ("flat", "x")), kept["right"]))
    assert set(kept) == set(order) - {made["loss"]}


def graph_ops(made):
    """Return the ops of a graph, each once, the loss left out."""
    return {op["op"] for op in made["ops"]} - {"softmax_cross_entropy"}
