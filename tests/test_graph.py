"""The graph: what a network file becomes, what the builder refuses and with which words, and every network on disk."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from host import catalogue, graph
from host.graph.build import Builder
from host.graph.ops import OPS

WORKFLOW = Path(graph.__file__).resolve().parents[2]
NETWORKS = catalogue.names("network")
GATE_BATCH = 16
LENET5_SHA256 = "ebb5b554c4ace44e696459805f751252c078f93346166edb6fb8dac51a7ce40e"


def lowered(define, initialisation="training", **arguments):
    return graph.build(define, "made_here", "full", arguments, initialisation)


def after_input(shape, define):
    """Return the entry of the op that `define(g, x)` makes on an input of this shape."""
    g = Builder()
    define(g, g.input(shape))
    return g.ops[-1]


# ---------------------------------------------------------------- networks on disk


@pytest.mark.parametrize("size", ["full", "gate"])
@pytest.mark.parametrize("network", NETWORKS)
def test_network_file_lowers_to_a_complete_graph(network, size):
    lowered = graph.lower(network, size)
    assert json.loads(json.dumps(lowered, allow_nan=False)) == lowered
    assert (lowered["schema"], lowered["network"], lowered["size"]) == ("levelfield/graph/1", network, size)
    known = {lowered["input"]["value"]}
    for op in lowered["ops"]:
        assert op["op"] in OPS
        assert set(op["inputs"]) <= known, "an op reads what is made later"
        known.add(op["name"])
    assert len(known) == len(lowered["ops"]) + 1
    assert {lowered["logits"], lowered["loss"]} <= known
    described = {each["name"]: each for each in lowered["parameters"] + lowered["buffers"]}
    held = [name for op in lowered["ops"] for name in [*op["parameters"].values(), *op["buffers"].values()]]
    assert sorted(described) == sorted(held)
    assert all(each["kind"] in ("weight", "bias", "normalization") for each in lowered["parameters"])


@pytest.mark.parametrize("network", NETWORKS)
def test_gate_size_meets_the_conditions_of_the_gate(network):
    lowered = graph.lower(network, "gate", "gate")
    axes = lowered["input"]["shape"]
    assert len(set(axes)) == len(axes), "axes of one length hide that they are swapped"
    for op in lowered["ops"]:
        if op["op"] == "batch_norm":
            assert GATE_BATCH * math.prod(op["output_shape"][1:]) <= 2000
        if op["op"] == "dropout":
            assert op["attributes"]["rate"] == 0.0
    for tensor in lowered["parameters"] + lowered["buffers"]:
        assert tensor["initial"]["distribution"] != "constant", "{} starts constant".format(tensor["name"])


FEEDS_LAYER_NORM = {  # what is added up, or turned into a vector, before a layer_norm
    "char_transformer": {"characters", "positions"}
    | {"block{}_{}".format(block, part) for block in (1, 2) for part in ("merge", "contract")},
    "gate_images": {"vector"},
}


@pytest.mark.parametrize("network", NETWORKS)
def test_gate_scales_the_convolutions_before_a_batch_norm_by_0_3_and_layers_before_a_layer_norm_by_0_1(network):
    training, gate = (graph.lower(network, "gate", each) for each in ("training", "gate"))
    normalised = {op["inputs"][0] for op in gate["ops"] if op["op"] == "batch_norm"}
    for before, after in zip(training["parameters"], gate["parameters"], strict=True):
        if before["kind"] == "weight":
            maker = before["name"].split(".")[0]
            factor = 0.3 if maker in normalised else 0.1 if maker in FEEDS_LAYER_NORM.get(network, ()) else 1.0
            assert after["initial"]["high"] == pytest.approx(factor * before["initial"]["high"], rel=1e-15)


def test_mlp_has_as_many_parameters_as_its_layers():
    assert graph.parameter_count(graph.lower("mlp", "full")) == 785 * 512 + 513 * 256 + 257 * 10 == 535_818


def test_lenet5_has_61706_parameters():
    count = graph.parameter_count(graph.lower("lenet5", "full"))
    assert count == 6 * 26 + 16 * (6 * 25 + 1) + 401 * 120 + 121 * 84 + 85 * 10 == 61_706


def test_char_lstm_has_one_bias_vector_a_layer():
    embedding, lstm1, lstm2, output = 96 * 64, 4 * 128 * (64 + 128 + 1), 4 * 128 * (128 + 128 + 1), 129 * 96
    assert graph.parameter_count(graph.lower("char_lstm", "full")) == embedding + lstm1 + lstm2 + output == 248_928


def test_char_transformer_has_gpt2s_parameters():
    width = 128
    block = 2 * 2 * width + width * 3 * width + 3 * width + width * width + width + 8 * width * width + 5 * width
    ends = (96 + 64) * width + 2 * width + (width + 1) * 96
    assert graph.parameter_count(graph.lower("char_transformer", "full")) == 4 * block + ends == 826_208


def test_resnet20_has_as_many_parameters_as_the_paper_and_two_shortcuts():
    def stage(inputs, channels):
        first, others = 9 * channels * (inputs + channels), 2 * 9 * channels * 2 * channels
        return first + others + 6 * 2 * channels

    option_a = 9 * 3 * 16 + 2 * 16 + stage(16, 16) + stage(16, 32) + stage(32, 64) + 65 * 10
    shortcuts = 16 * 32 + 2 * 32 + 32 * 64 + 2 * 64
    assert option_a == 269_722
    assert graph.parameter_count(graph.lower("resnet20", "full")) == option_a + shortcuts == 272_474


def test_resnet20_halves_twice_and_ends_in_64_channels():
    shapes = {op["name"]: op["output_shape"] for op in graph.lower("resnet20", "full")["ops"]}
    assert shapes["stage1_block3_b"] == [16, 32, 32]
    assert shapes["stage2_block1_shortcut"] == shapes["stage2_block1_a"] == [32, 16, 16]
    assert shapes["stage3_block3_b"] == [64, 8, 8]


def test_gate_residual_has_the_traps_that_it_is_for():
    ops = graph.lower("gate_residual", "gate")["ops"]
    first = {}
    for op in ops:
        first.setdefault(op["op"], op)
    top, bottom, left, right = first["conv2d"]["attributes"]["padding"]
    assert top != bottom and left != right and first["conv2d"]["attributes"]["stride"] == [2, 2]
    assert first["avg_pool2d"]["attributes"]["count_padding"] and any(first["avg_pool2d"]["attributes"]["padding"])
    assert {"batch_norm", "add", "dropout", "max_pool2d", "dense"} <= set(first)
    _, _, columns = first["relu"]["output_shape"]
    assert (columns - 3) % 2, "floor and ceil give the same pooling"


# ---------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    ("shape", "define", "expected"),
    [
        ((3, 7, 5), lambda g, x: g.conv2d(x, 4, 3), [4, 5, 3]),
        ((3, 7, 5), lambda g, x: g.conv2d(x, 4, (3, 1), stride=(2, 3), padding=(1, 0)), [4, 4, 2]),
        ((3, 7, 5), lambda g, x: g.conv2d(x, 4, 3, stride=2, padding=(0, 1, 2, 1)), [4, 3, 3]),
        ((4, 7, 5), lambda g, x: g.conv2d(x, 6, 1, groups=2), [6, 7, 5]),
        ((2, 7, 6), lambda g, x: g.max_pool2d(x, 2), [2, 3, 3]),
        ((2, 7, 6), lambda g, x: g.max_pool2d(x, 2, rounding="ceil"), [2, 4, 3]),
        ((2, 5, 5), lambda g, x: g.max_pool2d(x, 2, stride=3, padding=1, rounding="ceil"), [2, 2, 2]),
        ((2, 6, 6), lambda g, x: g.max_pool2d(x, 2, stride=3, padding=1, rounding="ceil"), [2, 3, 3]),
        ((2, 4, 4), lambda g, x: g.max_pool2d(x, 1, stride=4, rounding="ceil"), [2, 1, 1]),
        ((2, 7, 6), lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=1), [2, 4, 3]),
        ((5, 4, 3), lambda g, x: g.global_avg_pool(x), [5]),
        ((5, 4, 3), lambda g, x: g.flatten(x), [60]),
        ((12,), lambda g, x: g.dense(x, 7), [7]),
        ((12,), lambda g, x: g.batch_norm(x), [12]),
        ((12,), lambda g, x: g.add(x, g.tanh(x)), [12]),
        ((12,), lambda g, x: g.multiply(x, g.gelu(x, "erf")), [12]),
        ((5, 4, 3), lambda g, x: g.local_response_norm(x), [5, 4, 3]),
        ((5, 4, 3), lambda g, x: g.concat(x, x, g.relu(x)), [15, 4, 3]),
        ((5, 4, 3), lambda g, x: g.concat(x, x, axis=2), [5, 4, 6]),
        ((5, 4, 3), lambda g, x: g.reshape(x, (15, 4)), [15, 4]),
        ((5, 4), lambda g, x: g.dense(x, 7), [5, 7]),
        ((5, 4), lambda g, x: g.layer_norm(x), [5, 4]),
        ((5, 4), lambda g, x: g.position_embedding(x), [5, 4]),
        ((5, 4), lambda g, x: g.lstm(x, 6), [5, 6]),
        ((5, 12), lambda g, x: g.attention(x, heads=2, causal=True), [5, 4]),
    ],
)
def test_output_shape(shape, define, expected):
    assert after_input(shape, define)["output_shape"] == expected


def test_classes_become_rows_of_the_embedding():
    g = Builder()
    g.embedding(g.input((5,), classes=9), 9, 4, name="e")
    assert (g.ops[-1]["output_shape"], g.tensors[0][2].shape) == ([5, 4], (9, 4))


def test_a_sequence_has_a_target_at_each_position():
    lowered = graph.lower("char_lstm", "gate")
    assert lowered["input"] == {"value": "input", "shape": [5], "dtype": "int64", "classes": 11}
    assert (lowered["target"]["shape"], lowered["classes"]) == ([5], 11)


def test_lstm_has_one_bias_vector():
    entry = after_input((5, 4), lambda g, x: g.lstm(x, 6, name="l"))
    assert entry["parameters"] == {role: "l." + role for role in ("weight_input", "weight_hidden", "bias")}


def test_attributes_are_written_in_full():
    entry = after_input((3, 9, 9), lambda g, x: g.conv2d(x, 4, 3, padding=(1, 2)))
    assert entry["attributes"] == {
        "channels": 4,
        "kernel": [3, 3],
        "stride": [1, 1],
        "padding": [1, 1, 2, 2],
        "groups": 1,
    }
    entry = after_input((3, 9, 9), lambda g, x: g.avg_pool2d(x, 2))
    assert entry["attributes"] == {
        "kernel": [2, 2],
        "stride": [2, 2],
        "padding": [0, 0, 0, 0],
        "rounding": "floor",
        "count_padding": True,
    }
    assert after_input((3,), lambda g, x: g.batch_norm(x))["attributes"] == {"epsilon": 1e-5, "momentum": 0.9}


def test_an_op_without_a_bias_has_no_key_for_it():
    assert "bias" not in after_input((4,), lambda g, x: g.dense(x, 2, bias=False))["parameters"]
    assert after_input((4,), lambda g, x: g.dense(x, 2, name="f"))["parameters"] == {
        "weight": "f.weight",
        "bias": "f.bias",
    }


def test_weights_are_bounded_by_fan_in_and_by_what_follows():
    def network(g):
        x = g.batch_norm(g.conv2d(g.input((3, 8, 6)), 4, 3, bias=False, name="before_relu"))
        x = g.flatten(g.relu(x))
        x = g.sigmoid(g.dense(x, 5, name="before_sigmoid"))
        g.softmax_cross_entropy(g.dense(x, 2, name="output"))

    bounds = {each["name"]: each["initial"].get("high") for each in lowered(network)["parameters"]}
    assert bounds["before_relu.weight"] == math.sqrt(6 / 27)
    assert bounds["before_sigmoid.weight"] == math.sqrt(3 / 96)
    assert bounds["output.weight"] == math.sqrt(3 / 5)


# ---------------------------------------------------------------- mistakes, answered in words


@pytest.mark.parametrize(
    ("shape", "define", "message"),
    [
        ((1, 4, 9), lambda g, x: g.conv2d(x, 2, 5), r"conv2d: the kernel \(5\) is larger than the input .* \(4 \+ 0"),
        ((1, 9, 2), lambda g, x: g.max_pool2d(x, 3), r"max_pool2d: the kernel \(3\) is larger"),
        ((3, 4, 4), lambda g, x: g.conv2d(x, 4, 1, groups=2), "groups is 2; it must divide both the input's 3"),
        ((3, 4, 4), lambda g, x: g.conv2d(x, 0, 1), "channels is 0; it must be a whole number, 1 or more"),
        ((3, 4, 4), lambda g, x: g.conv2d(x, 4, (1, 2, 3)), r"kernel is \(1, 2, 3\); it must have one number or 2"),
        ((3, 4, 4), lambda g, x: g.conv2d(x, 4, 1, padding=-1), "padding is -1; it must be a whole number, 0 or more"),
        ((3, 4, 4), lambda g, x: g.conv2d(x, 4, 1, name="c", strides=2), "conv2d 'c': .*'strides'; it takes channels"),
        ((3, 4, 4), lambda g, x: g.conv2d(x), "missing a required argument: 'channels'; it takes channels, kernel"),
        ((3, 4, 4), lambda g, x: g.relu(x, 3), "relu: too many positional arguments; it takes no attributes"),
        ((3, 4, 4), lambda g, x: g.dense(x, 4), r"dense: the input has shape \[3, 4, 4\]; flatten it first"),
        ((3,), lambda g, x: g.conv2d(x, 4, 1), r"shape \[3\]; it must be \(channels, height, width\)"),
        ((3, 4, 4), lambda g, x: g.max_pool2d(x, 2, padding=2), "is not smaller than the kernel"),
        ((3, 4, 4), lambda g, x: g.max_pool2d(x, 2, rounding="up"), "rounding is 'up'; it must be 'floor' or 'ceil'"),
        ((3, 4, 4), lambda g, x: g.avg_pool2d(x, 2, count_padding=1), "count_padding is 1; it must be True or False"),
        ((3, 4, 4), lambda g, x: g.add(x, g.max_pool2d(x, 2)), r"add: the shapes differ: \[3, 4, 4\] and \[3, 2, 2\]"),
        ((3, 4, 4), lambda g, x: g.add(x), r"add: it reads 2 value\(s\), 1 given"),
        ((3, 4, 4), lambda g, x: g.add(x, 1), "add: 1 is not a value of this network"),
        ((3,), lambda g, x: g.dropout(x, 1.0), "rate is 1.0; it must be a number from 0.0 to below 1.0"),
        ((3,), lambda g, x: g.batch_norm(x, epsilon=0), "epsilon is 0; it must be above 0"),
        ((3,), lambda g, x: g.relu(g.relu(x, name="a"), name="a"), "the name 'a' is used twice"),
        ((3,), lambda g, x: g.relu(x, name="a.b"), "the name 'a.b' must be letters, digits and underscores"),
        ((3,), lambda g, x: g.relu(g.softmax_cross_entropy(x)), "it has its loss already|has its loss already"),
        ((3, 4, 4), lambda g, x: g.softmax_cross_entropy(x), r"the logits have shape \[3, 4, 4\]"),
        ((3,), lambda g, x: g.input((3,)), "a network has one input"),
        ((3,), lambda g, x: g.embedding(x, 4, 2), "embedding: it reads int64 values, 'input' is float32"),
        ((3,), lambda g, x: g.concat(x), "concat: it joins two or more values, 1 given"),
        ((3, 2), lambda g, x: g.concat(x, g.dense(x, 3)), r"the shapes \[3, 2\], \[3, 3\] differ in more than axis 0"),
        ((3, 2), lambda g, x: g.concat(x, x, axis=2), "axis is 2; the first value has the axes 0 to 1"),
        ((3, 2), lambda g, x: g.reshape(x, (4, 2)), r"to is \[4, 2\] with 8 elements; the input \[3, 2\] has 6"),
        ((3,), lambda g, x: g.gelu(x, "fast"), "approximation is 'fast'; it must be 'erf' or 'tanh'"),
        ((3, 2, 2), lambda g, x: g.local_response_norm(x, size=4), "size is 4; it must be odd"),
        ((3, 12), lambda g, x: g.attention(x, heads=3, causal=False), "12 wide; it must be queries, keys and values"),
        ((3, 12), lambda g, x: g.attention(x, heads=2, causal=1), "causal is 1; it must be True or False"),
        ((3,), lambda g, x: g.lstm(x, 4), r"lstm: the input has shape \[3\]; it must be \(positions, width\)"),
        ((3,), lambda g, x: g.conv2D(x, 3), "'conv2D': there is no such op. Did you mean 'conv2d'"),
    ],
)
def test_wrong_use_of_the_builder_is_answered(shape, define, message):
    with pytest.raises(ValueError, match=message):
        after_input(shape, define)


def test_classes_are_embedded_by_their_vocabulary_and_by_nothing_else():
    g = Builder()
    tokens = g.input((5,), classes=9)
    with pytest.raises(ValueError, match="vocabulary is 8; the input has 9 classes"):
        g.embedding(tokens, 8, 4)
    with pytest.raises(ValueError, match="relu: it reads float32 values, 'input' is int64"):
        g.relu(tokens)
    with pytest.raises(ValueError, match="classes is 1; it must be a whole number, 2 or more"):
        Builder().input((5,), classes=1)


def test_a_value_of_another_network_is_refused():
    other = Builder().input((3,))
    with pytest.raises(ValueError, match="is not a value of this network"):
        after_input((3,), lambda g, x: g.relu(other))


def test_a_network_without_a_loss_is_refused():
    with pytest.raises(ValueError, match="the network has no loss; it must end with softmax_cross_entropy"):
        lowered(lambda g: g.dense(g.input((3,)), 2))


def test_a_layer_that_nothing_reads_is_refused():
    def network(g):
        x = g.input((3,))
        g.dense(x, 2, name="forgotten")
        g.softmax_cross_entropy(g.dense(x, 2))

    with pytest.raises(ValueError, match="nothing reads 'forgotten': a layer without gradient"):
        lowered(network)


def test_an_unknown_network_size_or_initialisation_is_answered_with_the_right_ones():
    with pytest.raises(ValueError, match="'lenet': there is no workflow/networks/lenet.py. Did you mean 'lenet5'"):
        graph.lower("lenet", "full")
    with pytest.raises(ValueError, match="lenet5.py: SIZES: 'ful': there is no such size. Did you mean 'full'"):
        graph.lower("lenet5", "ful")
    with pytest.raises(ValueError, match="'trainig': there is no such initialisation. Did you mean 'training'"):
        graph.lower("lenet5", "full", "trainig")


def test_a_size_that_the_network_does_not_take_is_answered():
    with pytest.raises(ValueError, match="SIZES: 'full': got an unexpected keyword argument 'depth'"):
        lowered(lambda g, blocks=1: None, depth=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SIZES = {'full': {}, 'gate': {}}\ndef network(g): pass\n", "it has no docstring"),
        (
            "'''Source.'''\nSIZES = {'full': {}}\ndef network(g): pass\n",
            "SIZES must be a dictionary with full and gate",
        ),
        ("'''Source.'''\nSIZES = {'full': {}, 'gate': {}}\n", r"it has no function network\(g, \*\*size\)"),
        (
            "'''Source.'''\nSIZES = {'full': {}, 'gate': {}}\ndef network(g): g.dense(g.input((2, 2, 2)), 3)\n",
            "broken.py: dense: the input has shape",
        ),
    ],
)
def test_a_network_file_that_breaks_the_contract_is_named(tmp_path, monkeypatch, text, message):
    monkeypatch.setitem(catalogue.FOLDERS, "network", (tmp_path, ".py"))
    (tmp_path / "broken.py").write_text(text)
    with pytest.raises(ValueError, match=message):
        graph.lower("broken", "full")


# ---------------------------------------------------------------- the hash


def test_hash_is_of_the_content_and_not_of_the_order_of_keys():
    lowered = graph.lower("gate_residual", "gate")
    again = json.loads(json.dumps(lowered, sort_keys=True))
    assert graph.sha256(again) == graph.sha256(lowered)
    again["ops"][0]["attributes"]["stride"] = [1, 2]
    assert graph.sha256(again) != graph.sha256(lowered)


def test_hash_is_the_same_in_another_process():
    code = "from host import graph; print(graph.sha256(graph.lower('resnet20', 'full', 'gate')))"
    environment = dict(os.environ, PYTHONPATH=str(WORKFLOW), PYTHONHASHSEED="123")
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == graph.sha256(graph.lower("resnet20", "full", "gate"))


def test_hash_of_lenet5_is_what_records_hold():
    """A change here makes every record of lenet5 stale: change it only with the network or the graph's form."""
    assert graph.sha256(graph.lower("lenet5", "full")) == LENET5_SHA256
