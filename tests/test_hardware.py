"""The catalogue of platforms, and the key of a machine that is in no catalogue."""

import pytest
import yaml

from host.catalogue import Mistake
from host.planning import hardware

ENTRY = {"description": "a node", "accelerator": "cpu", "find": {"cpu_model": "EPYC 9654", "cores": 192}}


def load(tmp_path, entries, written=None):
    """Return the Hardware of a catalogue with these entries."""
    (tmp_path / "hardware.yaml").write_text(yaml.safe_dump(entries))
    if written is not None:
        (tmp_path / "here.yaml").write_text(yaml.safe_dump(written))
    return hardware.load(tmp_path / "hardware.yaml", tmp_path / "here.yaml")


def change(**parts):
    """Return a catalogue of one entry that is changed."""
    return {"node": dict(ENTRY, **parts)}


@pytest.mark.parametrize(
    "entries, words",
    [
        (change(accelerator="cuad"), ["node: accelerator", "'cuad'", "envs/cuad"]),
        (change(find={"cpu_modle": "x"}), ["node: find", "'cpu_modle'", "Did you mean 'cpu_model'?"]),
        (change(find={"cores": "two"}), ["node: find: cores", "'two'", "a whole number"]),
        (change(find={}), ["node: find"]),
        (change(find={"cpu_model": "("}), ["node: find: cpu_model", "not a regular expression"]),
        (change(colour="red"), ["node", "'colour'", "is not a key"]),
        ({"here": ENTRY}, ["here"]),
    ],
)
def test_a_malformed_entry_is_named(tmp_path, entries, words):
    with pytest.raises(Mistake) as error:
        load(tmp_path, entries)
    for word in words:
        assert word in str(error.value)


def test_a_machine_without_entry_gets_a_slug_that_stays(tmp_path):
    first = load(tmp_path, {})
    assert not first.known and first.here.endswith("c") and first.accelerator(first.here) == "cpu"
    hardware.write_here(first, tmp_path / "here.yaml")
    second = load(tmp_path, {})
    assert second.known and second.here == first.here


def test_two_machines_of_one_model_never_share_a_key(tmp_path):
    slug = load(tmp_path, {}).here
    other = load(tmp_path, {}, written={slug: "another machine"})
    assert other.here == slug + "-no2"
    hardware.write_here(other, tmp_path / "here.yaml")
    assert load(tmp_path, {}).here == slug + "-no2"


def test_an_entry_that_fits_this_machine_is_its_key(tmp_path):
    assert load(tmp_path, change(find={"cpu_model": "."})).here == "node"


@pytest.mark.parametrize(
    "wanted, gpus, fits",
    [
        ({"gpu_model": "H200"}, [], False),
        ({"gpu_model": "H200", "gpus": 2}, ["NVIDIA H200", "NVIDIA H200"], True),
        ({"gpu_model": "H200", "gpus": 4}, ["NVIDIA H200"], False),
        ({"gpu_model": "H200"}, ["NVIDIA H200", "NVIDIA A100"], False),
        ({"cpu_model": "EPYC"}, [], True),
        ({"cores": 3}, [], False),
    ],
)
def test_find_means_what_it_says(wanted, gpus, fits):
    assert hardware.fits(wanted, {"cpu_model": "AMD EPYC", "cores": 2, "gpu_models": gpus}) is fits


@pytest.mark.parametrize(
    "model, gpus, slug",
    [
        ("AMD EPYC 9654 96-Core Processor", [], "amd-epyc-9654-2c"),
        ("Intel(R) Xeon(R) CPU E5-2630 v3 @ 2.40GHz", [], "intel-xeon-e5-2630-v3-2c"),
        ("AMD EPYC", ["NVIDIA H200"] * 2, "amd-epyc-2c-2x-nvidia-h200"),
        (None, [], "unknown-2c"),
    ],
)
def test_slugs_are_readable(model, gpus, slug):
    assert hardware.slug({"cpu_model": model, "cores": 2, "gpu_models": gpus}) == slug
