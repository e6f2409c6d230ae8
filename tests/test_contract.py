"""The adapter contract, for every adapter on disk in its own environment: one process of it runs all checks at once.

The gate's trajectories are compared with the float64 reference by the gate's own rule; tests/contract/networks has
networks made for this, which take every op and every way of pooling. What is checked is in tests/contract/.
"""

import ast
import json
import os
import subprocess

import numpy
import pytest

from contract import checks, timing
from host import catalogue, graph
from host.gate import bundle, compare
from host.planning import axes

FRAMEWORKS = catalogue.frameworks("cpu")
OWN_NETWORKS = catalogue.ROOT / "tests" / "contract" / "networks"
FOLDERS = [catalogue.FOLDERS["network"][0], OWN_NETWORKS]
NETWORKS = {path.stem: folder for folder in FOLDERS for path in sorted(folder.glob("*.py"))}
DECLARED = {framework: catalogue.adapter_literals(framework) for framework in FRAMEWORKS}
FORBIDDEN = {"time", "os", "random", "pathlib", "io", "sys", "subprocess", "threading", "argparse", "tempfile"}
LONGEST = 1500  # seconds for one framework's process


def lowered(network, initialisation):
    """Return the gate-size graph of a network of the study or of this suite."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalogue.FOLDERS, "network", (NETWORKS[network], ".py"))
        return graph.lower(network, "gate", initialisation)


def made(network, framework, cache):
    """Return the network's bundle: start values, batches, and what the reference makes of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalogue.FOLDERS, "network", (NETWORKS[network], ".py"))
        return bundle.load(network, framework, cache)


def kinds(network):
    """Return how many kinds of op a network has."""
    return len({op["op"] for op in lowered(network, "gate")["ops"]})


def difficulty(network):
    """Return what to sort networks by: those on plain numbers before those on tokens, few kinds of op before many."""
    return lowered(network, "gate")["input"]["dtype"] != "float32", kinds(network)


def runs(framework):
    """Return the (execution, network) pairs to compare: all networks as declared, else the two that say most."""
    first, *others = DECLARED[framework]["EXECUTIONS"]
    rich = [max((name for name in NETWORKS if NETWORKS[name] == folder), key=kinds) for folder in FOLDERS]
    return [(first, name) for name in NETWORKS] + [(other, name) for other in others for name in rich]


SIMPLEST = min(NETWORKS, key=difficulty)
RUNS = [(framework, *run) for framework in FRAMEWORKS for run in runs(framework)]


@pytest.fixture(scope="session")
def findings(environment_python, tmp_path_factory):
    """Return a function: framework key -> (findings of its process, its bundles, the folder of its arrays)."""
    known, cache = {}, tmp_path_factory.mktemp("bundles")

    def find(framework):
        if framework not in known:
            python = environment_python(framework)
            known[framework] = examine(framework, python, tmp_path_factory.mktemp(framework), cache)
        return known[framework]

    return find


def examine(framework, python, folder, cache):
    """Start the framework's process on one job with everything in it; return what it found."""
    bundles = {network: made(network, framework, cache) for network in NETWORKS}
    networks = {}
    for network, each in bundles.items():
        networks[network] = {"start": each.paths["start"], "batches": each.paths["batches"], "settings": each.settings}
        for key, content in (("gate_graph", each.graph), ("training_graph", lowered(network, "training"))):
            path = folder / "{}-{}.json".format(network, key)
            path.write_text(json.dumps(content), encoding="utf-8")
            networks[network][key] = str(path)
    wanted = []
    for execution, network in runs(framework):
        name = "{}-{}".format(execution, network)
        wanted.append({"name": name, "execution": execution, "network": network, "output": str(folder / name)})
    job = {"framework": framework, "networks": networks, "runs": wanted, "simplest": SIMPLEST}
    job["findings"] = str(folder / "findings.json")
    (folder / "job.json").write_text(json.dumps(job, default=str), encoding="utf-8")
    environment = {key: os.environ[key] for key in ("PATH", "HOME", "OPENBLAS_CORETYPE", "TMPDIR") if key in os.environ}
    environment.update(PYTHONPATH=os.environ["PYTHONPATH"], PYTHONNOUSERSITE="1", OMP_NUM_THREADS="1")
    declared = {key: value.replace("{threads}", "1") for key, value in DECLARED[framework]["ENVIRONMENT"].items()}
    environment.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", **declared)
    answer = subprocess.run(
        [str(python), "-m", "contract", str(folder / "job.json")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-4000:]
    return json.loads((folder / "findings.json").read_text(encoding="utf-8")), bundles, folder


def require_none(complaints, network=None):
    """Fail with the complaints if there are any.

    An execution that this machine cannot compile for is skipped by name, and so is an op that the framework does not
    have: the simplest network everyone must have.
    """
    refused = ("unsupported: execution",) + (("unsupported: operation",) if network not in (None, SIMPLEST) else ())
    if complaints and complaints[0].startswith(refused):
        pytest.skip(complaints[0])
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(("framework", "execution", "network"), RUNS)
def test_losses_gradients_updates_and_buffers_are_the_references(framework, execution, network, findings):
    found, bundles, folder = findings(framework)
    name = "{}-{}".format(execution, network)
    require_none(found["trajectory"][name], network)
    written = json.loads((folder / name / "facts.json").read_text(encoding="utf-8"))
    arrays = {key: numpy.load(folder / name / file) for key, file in written["arrays"].items()}
    each = bundles[network]
    lines = compare.compare(each.graph, written["facts"], arrays, each)
    assert {line["check"] for line in lines} >= {"G1", "G2", "G3", "G4", "G6", "G7"}
    wrong = [line for line in lines if isinstance(line["error"], str) or line["error"] > line["tolerance"]]
    assert not wrong, wrong


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("check", sorted(checks.NETWORK_CHECKS))
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_network(framework, check, network, findings):
    require_none(findings(framework)[0][check][network], network)


@pytest.mark.parametrize("check", sorted({**checks.ADAPTER_CHECKS, **timing.ADAPTER_CHECKS}))
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_adapter(framework, check, findings):
    require_none(findings(framework)[0][check]["-"], check)


def test_every_adapter_has_an_environment_and_the_other_way_round():
    keys = {key for accelerator in catalogue.accelerators() for key in catalogue.frameworks(accelerator)}
    assert {catalogue.adapter_name(key) for key in keys} == set(catalogue.names("adapter"))


@pytest.mark.parametrize("network", catalogue.names("network"))
def test_every_gate_network_has_a_start_that_is_fit(network, tmp_path_factory):
    facts = made(network, "reference", tmp_path_factory.getbasetemp() / "fit").facts
    assert facts["fit"], facts


def test_the_suites_networks_have_every_operation():
    from host.graph.ops import OPS

    assert {op["op"] for network in NETWORKS for op in lowered(network, "gate")["ops"]} == set(OPS)


@pytest.mark.parametrize("adapter", catalogue.names("adapter"))
def test_declarations_are_literals(adapter):
    declared = catalogue.adapter_literals(adapter)
    assert declared["PROCESSES"] in ("one", "per_device")
    assert all(isinstance(text, str) for item in declared["ENVIRONMENT"].items() for text in item)
    assert set(declared["EXECUTIONS"]) <= set(axes.BY_NAME["execution"].choices) and declared["EXECUTIONS"]
    assert declared["REVIEWED"]
    assert declared["MOMENTUM_FORM"] in ("outside", "inside")
    assert declared["RUNNING_VARIANCE"] in ("biased", "unbiased")


@pytest.mark.parametrize("adapter", catalogue.names("adapter"))
def test_adapter_translates_only(adapter):
    source = catalogue.find("adapter", adapter, "adapter").read_text(encoding="utf-8")
    imported, names = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.split(".")[0])
        elif isinstance(node, ast.Name):
            names.add(node.id)
    assert not imported & FORBIDDEN
    assert not names & {"open", "print", "input", "exec", "eval"}
    assert len(source.splitlines()) <= 400
