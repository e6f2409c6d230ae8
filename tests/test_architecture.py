"""The house's rules, as far as a test can hold them: zones, names, sizes, no special cases."""

import ast
import re
import sys

import pytest

from checkout import ROOT
from host import catalogue, environments

WORKFLOW = ROOT / "workflow"
SOURCES = sorted(path for folder in ("workflow", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
WORKER = sorted((WORKFLOW / "worker").rglob("*.py"))
LONGEST = 400  # lines of a file
CROWD = 16  # files of a folder that is no folder of plug-ins
SPECIAL_CASE = re.compile(r"\b(framework|network|adapter)(_?name)?\"?\]?\s*(==|!=|in|not in)\s*[\"'(\[{]")


def named(path):
    """Return a test's name for a file."""
    return str(path.relative_to(ROOT))


def imports(path):
    """Return the top-level names of the modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", WORKER, ids=named)
def test_the_worker_imports_numpy_the_standard_library_and_its_framework(path):
    allowed = {"worker", "numpy"} | set(sys.stdlib_module_names)
    if path.parent.name == "frameworks" and path.stem in catalogue.names("adapter"):
        adapter = catalogue.literals(path)
        assert adapter["REVIEWED"]
        pins = environments.specification(ROOT / "envs" / "cpu" / (path.stem + ".yaml"))["pins"]
        allowed |= {path.stem} | {pin.split("==")[0].split("[")[0] for pin in pins}
    assert imports(path) <= allowed


@pytest.mark.parametrize("path", [path for path in SOURCES if path.is_relative_to(WORKFLOW / "host")], ids=named)
def test_the_host_never_imports_the_worker_or_a_framework(path):
    assert not imports(path) & ({"worker"} | set(catalogue.names("adapter")))


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_files_are_readable_in_one_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("path", [path for path in SOURCES if path.is_relative_to(WORKFLOW)], ids=named)
def test_no_framework_and_no_network_is_a_special_case(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if SPECIAL_CASE.search(line)]
    assert lines == [] or path.parent.name == "frameworks", lines


def test_the_search_for_special_cases_finds_one():
    assert SPECIAL_CASE.search('if framework == "torch":') and SPECIAL_CASE.search('if cell["network"] in ("mlp",):')


def test_no_folder_is_crowded():
    plugins = {folder for folder, _ in catalogue.FOLDERS.values()}
    for folder in [path for path in WORKFLOW.rglob("*") if path.is_dir() and path not in plugins]:
        assert len([path for path in folder.iterdir() if path.is_file()]) <= CROWD, folder


@pytest.mark.parametrize("path", [path for path in SOURCES if path.is_relative_to(WORKFLOW)], ids=named)
def test_every_module_says_what_it_is(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    if not {"frameworks", "networks"} & set(path.parts):  # their functions are the contract's
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                assert ast.get_docstring(node), node.name


def test_one_name_is_one_thing():
    for accelerator in catalogue.accelerators():
        for framework in catalogue.frameworks(accelerator):
            text = (ROOT / "envs" / accelerator / (framework + ".yaml")).read_text()
            assert re.search(r"^name: {}$".format(re.escape(framework)), text, re.MULTILINE)
            assert catalogue.adapter_name(framework) in catalogue.names("adapter")
