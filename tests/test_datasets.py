"""The data sets and the batches that are cut from them: every data set on disk, and what is refused."""

import numpy
import pytest

from host import batches, catalogue, fingerprint, graph
from host.datasets import alice

DATA = catalogue.names("data")
NETWORKS = {"digits": "lenet5", "alice": "char_lstm"}  # one that takes it


def cut(data, folder, batch=16, count=3, seed=1001):
    lowered = graph.lower(NETWORKS[data], "full")
    return lowered, batches.write(data, lowered["input"]["shape"], batch, count, seed, folder)


def test_every_data_set_has_a_network_here():
    assert set(NETWORKS) == set(DATA)


@pytest.mark.parametrize("data", DATA)
def test_batches_fit_their_network_and_are_distinct(data, tmp_path):
    lowered, written = cut(data, tmp_path)
    batches.check_fit(data, written, lowered)
    arrays = [numpy.load(batch["inputs"]) for batch in written]
    assert len(written) == 3 and all(array.shape == (16, *lowered["input"]["shape"]) for array in arrays)
    rows = numpy.concatenate(arrays).reshape(48, -1)
    assert len(numpy.unique(rows, axis=0)) > 44  # a text may repeat itself, an order may not


@pytest.mark.parametrize("data", DATA)
def test_batches_are_the_same_files_again(data, tmp_path):
    _, first = cut(data, tmp_path / "one")
    _, again = cut(data, tmp_path / "one")
    _, other = cut(data, tmp_path / "two")
    assert first == again
    for one, two in zip(first, other, strict=True):
        assert all((numpy.load(one[role]) == numpy.load(two[role])).all() for role in ("inputs", "targets"))


def test_the_text_is_alices():
    inputs, targets = alice.load((32,))
    text = "".join("\n" if each == 0 else chr(each + alice.FIRST - 1) for each in inputs.ravel())
    assert "Down the Rabbit-Hole" in text[:100] and "Alice was beginning to get very tired" in text[:200]
    assert inputs.min() == 0 and inputs.max() < alice.CLASSES
    assert len(numpy.unique(inputs)) > 60


def test_a_target_is_the_character_that_follows():
    inputs, targets = alice.load((7,))
    assert (targets.ravel()[:-1] == inputs.ravel()[1:]).all()


def test_a_text_is_no_image():
    with pytest.raises(ValueError, match="data set 'alice': it gives windows of shape"):
        batches.load("alice", (1, 28, 28))


def test_an_image_is_no_text(tmp_path):
    written = batches.write("digits", (32,), 4, 1, 1, tmp_path)
    with pytest.raises(
        ValueError, match=r"'char_lstm' takes inputs of int64 \[32\], the data set 'digits' has float32"
    ):
        batches.check_fit("digits", written, graph.lower("char_lstm", "full"))


def test_a_class_beyond_the_network_is_refused(tmp_path):
    lowered, written = cut("alice", tmp_path)
    lowered["classes"] = lowered["input"]["classes"] = 50
    with pytest.raises(ValueError, match="'char_lstm' has 50 classes of inputs, the data set 'alice' has class"):
        batches.check_fit("alice", written, lowered)


def test_a_measured_cells_fingerprint_has_its_data_and_a_gate_cells_has_not():
    cell = {"framework": "reference", "network": "mlp", "data": "digits", "mode": "train"}
    parts = fingerprint.of_cell(cell, "cpu")
    assert parts["data"] == fingerprint.data("digits") != fingerprint.data("alice")
    assert "data" not in fingerprint.of_cell(dict(cell, mode="gate"), "cpu")


def test_another_text_is_other_data(monkeypatch, tmp_path):
    folder = catalogue.FOLDERS["data"][0]
    for name in ("alice.py", "alice.txt"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.setitem(catalogue.FOLDERS, "data", (tmp_path, ".py"))
    before = fingerprint.data("alice")
    (tmp_path / "alice.txt").write_text("Another story.")
    assert fingerprint.data("alice") != before
