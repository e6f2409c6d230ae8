"""Starting weights: host and worker draw the same bits, under the oldest NumPy and the newest."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from host import catalogue, graph
from host.graph import weights
from worker import weights as worker_weights

ROOT = Path(__file__).resolve().parents[1]
LENET5_SEED_1 = "b3d64b37d82c985af6b28cabe43ae10c31e28d4d4f58321acfc9117fa702698f"
OLD = [("3.6", "1.16.6"), ("3.8", "1.24.4")]  # the oldest that a worker meets, and one between


def interpreter(version):
    """Return a Python of this minor version that runs, looked for in PYENV_ROOT and on PATH; None if there is none."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [str(path / "bin" / "python") for path in sorted(root.glob("versions/{}.*".format(version)))]
    for candidate in [*found, shutil.which("python" + version)]:
        if (
            candidate
            and subprocess.run([candidate, "-c", "import ssl"], capture_output=True, check=False).returncode == 0
        ):
            return candidate
    return None


def python_with(version, numpy_version):
    """Return the Python of a cached virtual environment that holds nothing but this NumPy; skip where none can be."""
    base = interpreter(version)
    if base is None:
        pytest.skip("no Python {} on this machine (looked in PYENV_ROOT/versions and on PATH)".format(version))
    folder = ROOT / ".environments" / "test-numpy-{}".format(numpy_version)
    folder.parent.mkdir(exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs may share the checkout
        if not (folder / "complete").exists():
            uv = [sys.executable, "-m", "uv", "--quiet"]
            subprocess.run([*uv, "venv", "--clear", "--python", base, str(folder)], check=True)
            target = ["--python", str(folder / "bin" / "python"), "numpy==" + numpy_version]
            subprocess.run([*uv, "pip", "install", *target], check=True)
            (folder / "complete").touch()
    return folder / "bin" / "python"


@pytest.mark.parametrize("initialisation", ["training", "gate"])
@pytest.mark.parametrize("size", ["full", "gate"])
@pytest.mark.parametrize("network", catalogue.names("network"))
def test_worker_draws_the_hosts_bits(network, size, initialisation):
    lowered = graph.lower(network, size, initialisation)
    ours = weights.draw(lowered, 7)
    theirs = worker_weights.draw(json.loads(json.dumps(lowered)), 7)
    assert list(ours) == list(theirs) == [each["name"] for each in lowered["parameters"] + lowered["buffers"]]
    for name in ours:
        assert ours[name].dtype == theirs[name].dtype == numpy.float32
        assert ours[name].tobytes() == theirs[name].tobytes()
    assert weights.sha256(ours) == worker_weights.sha256(theirs)


@pytest.mark.parametrize(("version", "numpy_version"), OLD)
@pytest.mark.parametrize("initialisation", ["training", "gate"])
def test_old_numpy_draws_the_same_bits(tmp_path, version, numpy_version, initialisation):
    python = python_with(version, numpy_version)
    lowered = graph.lower("gate_residual", "gate", initialisation)
    (tmp_path / "graph.json").write_text(json.dumps(lowered))
    command = [python, ROOT / "tests" / "weights_of.py", ROOT / "workflow", tmp_path / "graph.json", "3"]
    environment = {"PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    answer = json.loads(answer.stdout)
    assert answer["python"].startswith(version + ".")
    assert answer["numpy"] == numpy_version
    assert answer["sha256"] == weights.sha256(weights.draw(lowered, 3))


def test_lenet5_weights_are_what_records_hold():
    """A change here gives every record of lenet5 other starting weights: results before and after do not pair."""
    lowered = graph.lower("lenet5", "full")
    assert weights.sha256(weights.draw(lowered, 1)) == LENET5_SEED_1
    assert worker_weights.sha256(worker_weights.draw(lowered, 1)) == LENET5_SEED_1


def test_another_seed_draws_other_weights():
    lowered = graph.lower("mlp", "gate")
    assert weights.sha256(weights.draw(lowered, 1)) != weights.sha256(weights.draw(lowered, 2))


@pytest.mark.parametrize("module", [weights, worker_weights])
def test_hash_sees_a_value_a_name_a_shape_and_the_order(module):
    start = {"a": numpy.arange(6, dtype=numpy.float32), "b": numpy.ones(2, numpy.float32)}
    changed = dict(start, a=start["a"] + numpy.float32(1e-6))
    renamed = {"A": start["a"], "b": start["b"]}
    reshaped = dict(start, a=start["a"].reshape(2, 3))
    swapped = {"b": start["b"], "a": start["a"]}
    assert len({module.sha256(each) for each in (start, changed, renamed, reshaped, swapped)}) == 5


@pytest.mark.parametrize("module", [weights, worker_weights])
def test_hash_is_of_the_values_and_not_of_how_they_lie_in_memory(module):
    start = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    assert module.sha256({"a": numpy.asfortranarray(start)}) == module.sha256({"a": start})
    assert module.sha256({"a": start.astype(">f4").astype("<f4")}) == module.sha256({"a": start})


@pytest.mark.parametrize("module", [weights, worker_weights])
def test_hash_refuses_what_is_not_float32(module):
    with pytest.raises(ValueError, match="a is float64"):
        module.sha256({"a": numpy.zeros(2)})


@pytest.mark.parametrize("module", [weights, worker_weights])
def test_unknown_distribution_is_refused(module):
    tensor = {"name": "a", "shape": [2], "initial": {"distribution": "cauchy"}}
    with pytest.raises(ValueError, match="'cauchy'"):
        module.draw({"parameters": [tensor], "buffers": []}, 1)


def test_drawn_weights_follow_their_distributions():
    """5 sigma of the mean, of 200 000 draws."""
    shape, count = [400, 500], 200_000
    starts = {
        "uniform": {"distribution": "uniform", "low": -1.0, "high": 3.0},
        "normal": {"distribution": "normal", "mean": 2.0, "standard_deviation": 0.5},
        "constant": {"distribution": "constant", "value": 0.25},
    }
    tensors = [{"name": name, "shape": shape, "initial": start} for name, start in starts.items()]
    drawn = weights.draw({"parameters": tensors, "buffers": []}, 5)
    assert drawn["uniform"].mean() == pytest.approx(1.0, abs=5 * (4 / 12**0.5) / count**0.5)
    assert drawn["uniform"].min() >= -1 and drawn["uniform"].max() <= 3
    assert drawn["normal"].mean() == pytest.approx(2.0, abs=5 * 0.5 / count**0.5)
    assert drawn["normal"].std() == pytest.approx(0.5, rel=0.02)
    assert (drawn["constant"] == 0.25).all()


def test_loaded_weights_are_the_files_in_the_order_given(tmp_path):
    lowered = graph.lower("gate_residual", "gate", "gate")
    drawn = weights.draw(lowered, 4)
    files = {}
    for number, (name, values) in enumerate(drawn.items()):
        files[name] = str(tmp_path / "{}.npy".format(number))
        numpy.save(files[name], values)
    assert worker_weights.sha256(worker_weights.load(files)) == weights.sha256(drawn)


def test_loading_refuses_float64(tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.zeros(2))
    with pytest.raises(ValueError, match=r"a.npy \(c1.weight\) is float64; weights are float32"):
        worker_weights.load({"c1.weight": str(tmp_path / "a.npy")})
