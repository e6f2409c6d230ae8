"""The pages say that adding is one file: each recipe is carried out from the page's own text, and works."""

import json
import subprocess

import pytest
import yaml

import checkout

REFUSAL = "operation 'conv2d' (layer 'c1'): the plain adapter does not have it yet"


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """Return (copy of the checkout with every recipe of docs/adding.md carried out, what Snakemake printed)."""
    folder = checkout.copy(tmp_path_factory.mktemp("extended"))
    for path, text in checkout.blocks("docs/adding.md", "file").items():
        assert not (folder / path).exists()
        (folder / path).write_text(text)
    for path, text in checkout.blocks("docs/adding.md", "entry").items():
        (folder / path).write_text((folder / path).read_text() + text)  # appended, as a person would
    cells = [{"framework": "plain", "network": ["mlp", "tiny_cnn"], "batch": 8, "repeats": 2}]
    cells.append({"framework": "reference", "network": "tiny_cnn", "batch": 8, "repeats": 1})
    checkout.study(folder, "mine", cells, figures=["step_time", "first_step"])
    status, printed = checkout.snakemake(folder, "--config", "study=mine")
    assert status == 0, printed
    return folder, printed


def record(folder, framework, network, stem):
    """Return one record of the copy."""
    (path,) = (folder / "results" / "records").glob("*/{}/{}/{}".format(framework, network, stem))
    return json.loads(path.read_text())


def test_the_page_shows_what_the_readme_promises():
    files = checkout.blocks("docs/adding.md", "file")
    folders = {path.rsplit("/", 1)[0] for path in files}
    assert folders == {"workflow/networks", "workflow/worker/frameworks", "envs/cpu", "workflow/figures"}
    assert list(checkout.blocks("docs/adding.md", "entry")) == ["config/hardware.yaml"]


def test_an_added_framework_runs_and_is_equivalent(extended):
    folder, _ = extended
    assert record(folder, "plain", "mlp", "train-b8*r2.json")["status"] == "ok"
    gate = record(folder, "plain", "mlp", "gate*.json")
    assert gate["status"] == "ok", gate["reason"]
    assert {check["check"] for check in gate["gate"]["checks"]} >= {"G1", "G2", "G3", "G4", "G7"}
    assert all(check["error"] <= check["tolerance"] for check in gate["gate"]["checks"])


def test_the_contract_finds_an_added_framework_and_it_passes(extended):
    folder, _ = extended
    command = [
        str(checkout.BIN / "python"),
        "-m",
        "pytest",
        "tests/test_contract.py",
        "-k",
        "plain",
        "-p",
        "no:cacheprovider",
    ]
    answer = subprocess.run(
        command, cwd=folder, env=checkout.environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert answer.returncode == 0 and "passed" in answer.stdout, answer.stdout[-3000:]


def test_what_an_added_framework_cannot_do_is_unsupported_with_its_reason(extended):
    folder, _ = extended
    refused = record(folder, "plain", "tiny_cnn", "train-b8*r1.json")
    assert (refused["status"], refused["reason"]) == ("unsupported", REFUSAL)


def test_an_added_network_runs_everywhere(extended):
    folder, _ = extended
    assert record(folder, "reference", "tiny_cnn", "train*.json")["status"] == "ok"
    assert record(folder, "reference", "tiny_cnn", "gate*.json")["status"] == "ok"


def test_an_added_figure_is_drawn_beside_the_others(extended):
    folder, _ = extended
    for suffix in ("pdf", "svg", "png", "md", "csv", "json"):
        assert (folder / "results/figures/mine" / ("first_step." + suffix)).stat().st_size > 100


def test_every_outcome_stands_in_table_and_guide(extended):
    folder, _ = extended
    for path in ("tables/mine/throughput.md", "tables/mine/throughput.csv", "report/mine/guide.md"):
        text = (folder / "results" / path).read_text()
        assert "unsupported" in text and "operation 'conv2d'" in text, path
    assert "ploratory" in (folder / "results/report/mine/guide.md").read_text()


def test_what_snakemake_prints_says_what_it_is_doing_and_where_things_are(extended):
    _, printed = extended
    assert "8 cells (3 of them gate cells) on" in printed and "8 missing" in printed
    assert "environment cpu/plain: ready" in printed
    assert "cell 8 of 8: " in printed
    for place in ("results/tables/mine", "results/figures/mine", "results/report/mine", "results/records"):
        assert place in printed


def test_an_added_platform_is_known_and_out_of_reach_here(extended):
    folder, _ = extended
    entry = yaml.safe_load((folder / "config/hardware.yaml").read_text())
    assert list(entry) == ["dual-epyc-9654"]
    cells = [{"framework": "plain", "network": "mlp", "batch": 8, "repeats": 2}]
    both = cells + [dict(cells[0], hardware="dual-epyc-9654")]
    checkout.study(folder, "both", both, gate=False)
    status, printed = checkout.snakemake(folder, "-n", "--config", "study=both")
    assert status == 0, printed
    assert "2 cells need dual-epyc-9654, which this machine is not" in printed
    checkout.study(folder, "away", both[1:], gate=False)
    status, printed = checkout.snakemake(folder, "-n", "--config", "study=away")
    assert status != 0 and "dual-epyc-9654" in printed and "nothing to run" in printed and "Traceback" not in printed
