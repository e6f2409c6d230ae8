"""What the pages say is true: examples fit their schemas, links lead somewhere, numbers are the code's."""

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

from checkout import ROOT
from host import catalogue
from host.gate import tolerance
from host.planning import axes, hardware, study
from host.results import statistics
from host.results.comparison import ratio

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(r"<!-- schema: (\w+) -->\n```json\n(.*?)\n```\n", re.DOTALL)


def examples():
    """Return [(schema name, JSON text)] of docs/records.md."""
    return EXAMPLE.findall((ROOT / "docs" / "records.md").read_text())


def test_there_is_one_example_of_each():
    assert sorted(name for name, _ in examples()) == ["cell", "message", "record", "study"]


@pytest.mark.parametrize("name, text", examples(), ids=[name for name, _ in examples()])
def test_an_example_fits_its_schema(name, text):
    schemas = {path.name: json.loads(path.read_text()) for path in (ROOT / "workflow/schemas").glob("*.json")}
    registry = jsonschema.validators.referencing.Registry().with_resources(
        (schema["$id"], jsonschema.validators.referencing.Resource.from_contents(schema)) for schema in schemas.values()
    )
    validator = jsonschema.Draft202012Validator(schemas[name + ".schema.json"], registry=registry)
    assert list(validator.iter_errors(json.loads(text))) == []


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_and_named_files_exist(page):
    text = page.read_text()
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in target]
    for target in targets:
        assert (page.parent / target).exists(), "{} links to {}".format(page.name, target)
    named = re.findall(r"`((?:workflow|config|tests|docs|envs|examples|benchmarks|profiles)/[\w./-]+)`", text)
    recipes = (ROOT / "docs/adding.md").read_text()
    for name in named:
        assert (ROOT / name).exists() or "<!-- file: {}".format(name) in recipes or name in NOT_IN_GIT, name


NOT_IN_GIT = {"envs/cpu/torch-2.12.yaml", "config/here.yaml"}  # what a user would add, what a run writes


def test_the_page_on_studies_has_every_axis_and_its_example_loads(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "studies.md").read_text()
    listed = re.findall(r"^\| (\w+) \| .* \| (.*) \|$", text, re.MULTILINE)
    assert {name for name, _ in listed} - {"axis", "repeats"} == set(axes.BY_NAME)
    for name, default in listed:
        if name in axes.BY_NAME and axes.BY_NAME[name].default not in (axes.REQUIRED, axes.DECLARED):
            assert default == axes.format_value(axes.BY_NAME[name].default), name
    example = re.search(r"```yaml\n(.*?)```", text, re.DOTALL).group(1)
    monkeypatch.setitem(catalogue.FOLDERS, "study", (tmp_path, ".yaml"))
    (tmp_path / "example.yaml").write_text(example)
    assert len(study.load("example", hardware.Hardware({}, "here-1c", True)).cells) == 16


def test_the_gates_page_has_the_codes_numbers():
    text = (ROOT / "docs" / "gate.md").read_text()
    for value in (
        tolerance.LOSS,
        tolerance.BUFFER,
        tolerance.CAP,
        tolerance.GRADIENT_FLOOR,
        tolerance.UPDATE_FLOOR,
    ):
        assert "{:.1e}".format(value).replace(".0e-0", "e-").replace("e-0", "e-") in text, value
    for factor in (tolerance.NOISE_FACTOR, tolerance.REDUCTION_FACTOR, tolerance.SUBTRACTION_FACTOR):
        assert "{:.0f} ".format(factor) in text, factor


def test_the_page_on_statistics_has_the_codes_numbers():
    text = (ROOT / "docs" / "statistics.md").read_text()
    for count, low, high, level in re.findall(r"^\| (\d+) \| (\w+) \| (\w+) \| ([\d.]+) % \|$", text, re.MULTILINE):
        words = ["smallest", "second", "third", "fourth", "fifth", "sixth"]
        of_high = {"largest": int(count), "ninth": 9, "twelfth": 12, "fifteenth": 15}[high]
        ranks = statistics.median_ranks(int(count))
        assert ranks[:2] == (words.index(low) + 1, of_high) and abs(100 * ranks[2] - float(level)) < 0.06, count
    for words in (
        "margin of {:.0f} %".format(100 * ratio.MARGIN),
        "the {0:.0f} % interval lies wholly outside 1/{1} to {1}".format(100 * ratio.LEVEL, 1 + ratio.MARGIN),
        "the {:.0f} % interval lies wholly inside".format(100 * ratio.EQUAL_LEVEL),
        "fewer than {} complete blocks".format(ratio.MIN_BLOCKS),
        "{} to {} complete blocks".format(ratio.MIN_BLOCKS, ratio.CLAIM_BLOCKS - 1),
        "adjusted p is at most {}".format(ratio.ALPHA),
        "power 3/2) is beyond {:.0f}".format(ratio.MAX_SKEWNESS),
        "with {:.0f} % probability".format(100 * ratio.POWER),
    ):
        assert words in text.replace("\n", " "), words


def test_the_repository_stands_alone():
    folders = "|".join(re.escape("{}/".format(folder)) for folder in (ROOT, Path.home()) if str(folder) != "/")
    words = re.compile(folders + r"|https?://\S+/simple\b")  # paths of this machine, package indexes
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    guilty = [name for name in listed if words.search((ROOT / name).read_text(encoding="utf-8", errors="ignore"))]
    assert len(listed) > 100 and guilty == []
