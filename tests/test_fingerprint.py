"""A fingerprint follows what a source means: words for people change nothing, code does."""

import pytest

from host import catalogue, fingerprint

SOURCE = '''"""A module."""

import os


class Adapter:
    """A class."""

    rate = 0.5  # a comment

    def step(self, index):
        """Make a step."""
        if index:
            return os.sep + "text # not a comment"
        return None
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another module.\n\nWith a paragraph."""'),
        ('        """Make a step."""\n', ""),
        ('"""A class."""', "'''A class.'''"),
        ("  # a comment", ""),
        ("  # a comment", "  # another comment"),
        ("\n\n\nclass", "\n\n\n\n# a comment\n\n\nclass"),
        ("            return os.sep", "                    return os.sep"),
    ],
)
def test_words_for_people_change_nothing(old, new):
    assert old in SOURCE
    assert fingerprint.python(SOURCE.replace(old, new)) == fingerprint.python(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.5", "0.05"),
        ("os.sep", "os.linesep"),
        ("text # not", "text  # not"),
        ("if index:", "if not index:"),
        ("        return None", "            return None"),
        ("step(self", "walk(self"),
        ("    rate = 0.5", '    rate = 0.5\n    "a string that is no docstring"'),
    ],
)
def test_code_changes_it(old, new):
    assert old in SOURCE
    assert fingerprint.python(SOURCE.replace(old, new)) != fingerprint.python(SOURCE)


def test_yaml_is_compared_by_content():
    first = fingerprint.yaml_file("# a comment\nchannels: [conda-forge]\ndependencies: [python=3.11]\n")
    assert first == fingerprint.yaml_file("dependencies:\n  - python=3.11\nchannels:\n  - 'conda-forge'\n")
    assert first != fingerprint.yaml_file("dependencies:\n  - python=3.12\nchannels:\n  - conda-forge\n")


def make_worker(folder):
    """Write a small worker zone into a folder and return it."""
    (folder / "frameworks").mkdir()
    for name in ("__init__", "timing", "frameworks/__init__", "frameworks/torch"):
        (folder / (name + ".py")).write_text("name = {!r}\n".format(name))
    return folder


def test_the_worker_is_everything_but_the_adapters(tmp_path):
    worker = make_worker(tmp_path)
    before = fingerprint.worker(worker)
    (worker / "frameworks" / "torch.py").write_text("name = 'changed'\n")
    (worker / "frameworks" / "jax.py").write_text("name = 'new'\n")
    assert fingerprint.worker(worker) == before
    (worker / "frameworks" / "__init__.py").write_text("name = 'changed'\n")
    after = fingerprint.worker(worker)
    assert after != before
    (worker / "timing.py").rename(worker / "clock.py")
    assert fingerprint.worker(worker) != after


@pytest.mark.parametrize("path", sorted((catalogue.WORKFLOW).rglob("*.py")), ids=catalogue.relative)
def test_a_comment_in_any_source_of_ours_changes_nothing(path):
    text = fingerprint.read(path)
    assert fingerprint.python("# a comment\n" + text + "\n# the end\n") == fingerprint.python(text)


def test_what_only_gate_cells_run_makes_no_measured_cell_stale(tmp_path):
    (tmp_path / "worker").mkdir()
    worker = make_worker(tmp_path / "worker")
    (worker / "reference").mkdir()
    for name in ("gate", "bundle", "reference/dense", "frameworks/reference"):
        (worker / (name + ".py")).write_text("value = 1\n")
    (tmp_path / "host" / "gate").mkdir(parents=True)
    (tmp_path / "host" / "gate" / "tolerance.py").write_text("CAP = 1e-3\n")
    before, gate = fingerprint.worker(worker), fingerprint.gate(tmp_path)
    (worker / "reference" / "dense.py").write_text("value = 2\n")
    assert fingerprint.worker(worker) == before and fingerprint.gate(tmp_path) != gate
    gate = fingerprint.gate(tmp_path)
    (tmp_path / "host" / "gate" / "tolerance.py").write_text("CAP = 1e-2\n")
    assert fingerprint.gate(tmp_path) != gate, "a changed tolerance makes gate cells stale"


def test_a_measured_cell_and_a_gate_cell_have_four_parts_in_common_and_one_of_their_own():
    cell = {"framework": "torch", "network": "mlp", "data": "digits", "mode": "train"}
    parts, gate = fingerprint.of_cell(cell, "cpu"), fingerprint.of_cell(dict(cell, mode="gate"), "cpu")
    assert sorted(parts) == ["adapter", "data", "environment", "network", "worker"]
    assert sorted(gate) == ["adapter", "environment", "gate", "network", "worker"]
    assert len(set(parts.values())) == 5 and all(len(part) == 64 for part in parts.values())
