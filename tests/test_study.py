"""Bad input is answered before anything runs: file, key, value, and what would be right."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from host import catalogue
from host.catalogue import Mistake
from host.planning import axes, flow, hardware, study

QUICK = yaml.safe_load((catalogue.ROOT / "config/studies/quick.yaml").read_text())
CELL = {
    "framework": "torch",
    "network": "mlp",
    "hardware": "this-machine",
    "mode": "train",
    "data": "digits",
    "feeding": "step",
    "batch": 64,
    "devices": 1,
    "threads": 1,
    "precision": "float32",
    "execution": "eager",
    "optimizer": "sgd",
    "learning_rate": 0.05,
    "momentum": 0.9,
    "weight_decay": 0.0,
    "protocol": "short",
    "repeat": 1,
    "attempt": 0,
}
HERE = hardware.Hardware({"far-node": {"accelerator": "cpu", "description": "", "find": {}}}, "this-machine", True)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a study file and loads it; the folder of studies is a temporary one."""
    monkeypatch.setitem(catalogue.FOLDERS, "study", (tmp_path, ".yaml"))

    def load(change=None, text=None, name="mine"):
        content = yaml.safe_load(yaml.safe_dump(QUICK))
        if change:
            change(content)
        (tmp_path / (name + ".yaml")).write_text(yaml.safe_dump(content) if text is None else text)
        return study.load(name, HERE)

    return load


def put(key, value, entry=0):
    """Return a change that sets one axis of one entry."""
    return lambda content: content["cells"][entry].__setitem__(key, value)


BAD = {
    "unknown framework": (
        put("framework", ["torhc"]),
        ["cells[0]: framework", "'torhc'", "envs/cpu/torhc.yaml", "'torch'"],
    ),
    "unknown network": (put("network", "lenet6"), ["cells[0]: network", "'lenet6'", "Did you mean 'lenet5'?"]),
    "unknown hardware": (put("hardware", "far-nod"), ["cells[0]: hardware", "'far-nod'", "Did you mean 'far-node'?"]),
    "unknown data": (put("data", "digit"), ["cells[0]: data", "'digit'", "Did you mean 'digits'?"]),
    "unknown axis": (put("bach", 64), ["cells[0]", "'bach'", "is not an axis", "Did you mean 'batch'?"]),
    "unknown mode": (put("mode", "trian"), ["mode", "'trian'", "Did you mean 'train'?"]),
    "listed gate": (put("mode", "gate"), ["mode", "'gate'", "`gate: true`"]),
    "batch is text": (put("batch", "64"), ["cells[0]: batch", "'64'", "must be a whole number"]),
    "batch is true": (put("batch", True), ["cells[0]: batch", "True", "must be a whole number"]),
    "batch is zero": (put("batch", 0), ["cells[0]: batch", "must be at least 1"]),
    "rate is text": (put("learning_rate", "fast"), ["learning_rate", "'fast'", "must be a number"]),
    "rate is not a number": (put("learning_rate", float("nan")), ["learning_rate", "nan", "finite"]),
    "contradictory lengths": (
        lambda c: c["protocol"].update(min_steps=9999),
        ["protocol: min_steps", "9999", "max_steps"],
    ),
    "rate is YAML's text": (put("learning_rate", "1e-3"), ["'1e-3'", "must be a number", "write 0.001"]),
    "empty value": (put("batch", None), ["batch: empty: must be a whole number"]),
    "wrong required axis": (
        lambda c: c["cells"][0].update(batchsize=c["cells"][0].pop("batch")),
        ["'batchsize'", "'batch'"],
    ),
    "empty axis": (put("framework", []), ["cells[0]: framework", "empty matrix"]),
    "no cells": (lambda c: c.update(cells=[]), ["cells", "[]", "empty matrix"]),
    "repeats is zero": (put("repeats", 0), ["cells: 0: repeats", "0", "at least 1"]),
    "no batch": (lambda c: c["cells"][0].pop("batch"), ["cells[0]", "'batch' is missing"]),
    "repeated cell": (put("mode", "train", 2), ["this cell is repeated", "train b64 t1"]),
    "repeated value": (put("batch", [64, 64]), ["this cell is repeated"]),
    "unknown key": (lambda c: c.update(protocoll={}), ["'protocoll'", "is not a key", "Did you mean 'protocol'?"]),
    "unknown length": (lambda c: c["protocol"].update(min_step=5), ["protocol", "'min_step'", "'min_steps'"]),
    "negative length": (lambda c: c["protocol"].update(min_steps=0), ["protocol: min_steps", "0", "at least 1"]),
    "seed is text": (lambda c: c.update(seed="x"), ["seed", "'x'", "a whole number"]),
    "unknown table": (lambda c: c.update(tables=["thruput"]), ["tables", "'thruput'", "workflow/tables/thruput.py"]),
    "unknown figure": (lambda c: c.update(figures=["step_tim"]), ["figures", "Did you mean 'step_time'?"]),
    "no protocol": (lambda c: c.pop("protocol"), ["'protocol' is missing"]),
    "protocol called gate": (lambda c: c["protocol"].update(name="gate"), ["protocol: name", "taken"]),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_named_with_file_key_value_and_what_is_right(write, case):
    change, words = BAD[case]
    with pytest.raises(Mistake) as error:
        write(change)
    assert "mine.yaml" in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_an_unknown_study_is_answered_with_the_studies_there_are():
    with pytest.raises(Mistake, match=r"'quik': there is no config/studies/quik.yaml. Did you mean 'quick'\?"):
        study.load("quik", HERE)


def test_a_file_that_is_not_yaml_is_named_with_its_line(write):
    with pytest.raises(Mistake, match=r"mine.yaml:\d+:\d+: not YAML"):
        write(text="title: x\ncells: [\n")


def test_a_key_that_is_given_twice_is_refused_with_its_line(write):
    with pytest.raises(Mistake, match="mine.yaml:2:1: not YAML: the key 'title' is given twice"):
        write(text="title: a\ntitle: b\n")


def test_a_file_in_another_encoding_is_named(tmp_path):
    (tmp_path / "x.yaml").write_bytes(b"title: \xfc\n")
    with pytest.raises(Mistake, match="x.yaml: not UTF-8 text"):
        study.read_yaml(tmp_path / "x.yaml")


def test_a_file_that_is_no_mapping_is_refused(write):
    with pytest.raises(Mistake, match="must be a mapping"):
        write(text="- a\n")


def test_one_protocol_name_has_one_set_of_lengths(write):
    write(name="other")
    with pytest.raises(Mistake, match="max_steps: 777: .*other.yaml calls its protocol 'short' too and has 2000"):
        write(lambda content: content["protocol"].update(max_steps=777))


def test_the_quick_study_is_what_it_says():
    quick = study.load("quick", HERE)
    modes = [cell["mode"] for cell in quick.cells]
    assert (modes.count("gate"), modes.count("train"), modes.count("infer")) == (12, 60, 12)
    assert quick.protocol["exploratory"] is True
    smoke = study.load("smoke", HERE)
    paths = {axes.record_path(cell) for cell in quick.cells}
    assert {axes.record_path(cell) for cell in smoke.cells} < paths, "smoke's records serve quick"


def test_every_study_file_loads():
    for name in catalogue.names("study"):
        assert study.load(name, HERE).cells


@given(
    st.sampled_from(["batch", "threads", "devices"]),
    st.lists(st.integers(1, 4096), min_size=2, max_size=6, unique=True),
)
def test_different_cells_have_different_records(axis, values):
    paths = {axes.record_path(dict(CELL, **{axis: value})) for value in values}
    assert len(paths) == len(values)


@given(st.lists(st.floats(1e-12, 64.0), min_size=2, max_size=4, unique_by=lambda value: f"{value:.15g}"))
def test_different_learning_rates_have_different_records(values):
    assert len({axes.record_path(dict(CELL, learning_rate=value)) for value in values}) == len(values)


def test_an_axis_at_its_default_is_not_in_the_name():
    assert axes.record_path(CELL) == "this-machine/torch/mlp/train-b64-t1-eager-short-r1.json"
    changed = dict(CELL, learning_rate=0.1, devices=2, precision="bfloat16")
    assert axes.stem(changed) == "train-b64-d2-t1-bfloat16-eager-lr0.1-short-r1"


def test_blocks_are_seeded_permutations_of_the_same_cells():
    quick = study.load("quick", HERE)
    blocks, ordered = flow.arrange(quick)
    again, _ = flow.arrange(quick)
    assert blocks == again
    orders = {}
    for cell in ordered.values():
        if cell["mode"] == "train":
            orders.setdefault(cell["repeat"], []).append((cell["framework"], cell["network"]))
    assert all(sorted(order) == sorted(orders[1]) for order in orders.values())
    assert len({tuple(order) for order in orders.values()}) == len(orders), "five blocks, five orders"
    kinds = [cell["mode"] for cell in ordered.values()]
    assert kinds[:12] == ["gate"] * 12 and "gate" not in kinds[12:], "gate cells come first"
    repeats = [cell["repeat"] for cell in list(ordered.values())[12:]]
    assert repeats == sorted(repeats), "block after block"


def test_another_seed_gives_another_order(write):
    orders = [list(flow.arrange(write(lambda content, seed=seed: content.update(seed=seed)))[1]) for seed in (1, 2)]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1])


def test_a_checkout_whose_path_has_braces_is_refused_in_words():
    with pytest.raises(
        Mistake, match=r"/home/\{me\}: Snakemake takes braces in a path for wildcards: move the checkout"
    ):
        flow.check_place("/home/{me}")
