"""Snakemake itself: what is missing is said and run, what is recorded is never run again, killing loses nothing."""

import json
import os
import random
import signal
import subprocess
import time

import psutil
import pytest

import checkout
from host import records
from host.planning import flow

CELLS = [{"framework": "reference", "network": ["mlp", "lenet5"], "batch": 8, "repeats": 2}]
KILLS = 12  # of Snakemake; the runner alone is killed a hundred times in test_kill.py


@pytest.fixture
def folder(tmp_path):
    """Return a copy of the checkout with a study of six short cells of the reference."""
    checkout.study(checkout.copy(tmp_path), "tiny", CELLS)
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a copy whose study is complete."""
    return checkout.finished(tmp_path_factory.mktemp("finished"), "tiny", CELLS)


def files(folder):
    """Return {path: (content, time of change)} of all records."""
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (folder / "results/records").rglob("*.json")}


def workers(folder):
    """Return the processes that still work for a copy: runners, workers, their children."""
    found = []
    for process in psutil.process_iter():
        try:
            words = " ".join(process.cmdline())
            inside = process.cwd().startswith(str(folder)) or str(folder) in words
            if inside and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                found.append((process.pid, words))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def test_a_dry_run_lists_exactly_the_missing_cells(finished):
    victim = sorted(files(finished))[0]
    content = victim.read_bytes()
    victim.unlink()
    try:
        status, printed = checkout.snakemake(finished, "-n", "--config", "study=tiny")
    finally:
        victim.write_bytes(content)
    assert status == 0
    assert "6 cells (2 of them gate cells) on" in printed and "5 recorded, 1 missing" in printed
    listed = [line.strip() for line in printed.splitlines() if line.strip().endswith(".json")]
    assert listed == [victim.relative_to(finished / "results/records").as_posix()]


@pytest.mark.parametrize("arguments", [["-F"], ["--rerun-triggers", "code", "params", "input", "mtime"], []])
def test_a_recorded_cell_is_never_run_again(finished, arguments):
    before = files(finished)
    for environment in (finished / ".environments").glob("cpu/*.json"):
        environment.unlink()  # built again or not: no reason to measure
    (finished / "workflow/worker/timing.py").touch()
    status, printed = checkout.snakemake(finished, "--config", "study=tiny", *arguments)
    assert status == 0, printed
    assert files(finished) == before


def test_a_missing_cell_runs_though_its_environment_is_to_be_built_again(finished):
    victim = sorted(files(finished))[0]
    others = {path: made for path, made in files(finished).items() if path != victim}
    victim.unlink()
    environment = finished / "envs/cpu/reference.yaml"
    environment.write_text("# a comment\n" + environment.read_text())
    status, printed = checkout.snakemake(finished, "--config", "study=tiny")
    assert status == 0 and "cell 1 of 1: " in printed and victim.exists(), printed
    assert {path: made for path, made in files(finished).items() if path != victim} == others


def test_nothing_is_done_twice(finished):
    before = {path: path.stat().st_mtime_ns for path in (finished / "results").rglob("*.*") if path.is_file()}
    status, printed = checkout.snakemake(finished, "--config", "study=tiny")
    assert status == 0 and "0 missing" in printed
    after = {path: path.stat().st_mtime_ns for path in (finished / "results").rglob("*.*") if path.is_file()}
    assert after == before


def test_a_comment_makes_nothing_stale_and_a_change_is_flagged_not_run(finished):
    before = files(finished)
    source = finished / "workflow/networks/mlp.py"
    original = source.read_text()
    guide = finished / "results/report/tiny/guide.md"
    try:
        source.write_text("# a comment\n" + original)
        assert checkout.snakemake(finished, "--config", "study=tiny", "--forcerun", "collect")[0] == 0
        assert "stale" not in guide.read_text()
        source.write_text(original.replace("256", "255"))
        assert checkout.snakemake(finished, "--config", "study=tiny", "--forcerun", "collect")[0] == 0
        assert "stale" in guide.read_text()
    finally:
        source.write_text(original)
    assert files(finished) == before


def test_a_record_that_is_asked_for_but_not_in_the_study_is_an_error_without_traceback(finished):
    wanted = "results/records/here/reference/mlp/train-b9-t1-eager-tiny-r1.json"
    status, printed = checkout.snakemake(finished, wanted, "--config", "study=tiny")
    assert status != 0 and "no cell of study tiny has the record" in printed and "Traceback" not in printed


BAD = {
    "study": (["study=quik"], ["config/config.yaml: study", "'quik'", "Did you mean 'quick'?"]),
    "key": (["stduy=quick"], ["'stduy'", "Did you mean 'study'?"]),
    "deployment": (["deployment=vevn"], ["deployment", "'vevn'", "Did you mean 'venv'?"]),
    "records": (["records=no/such/folder"], ["records", "'no/such/folder'", "no such folder"]),
    "type": (["offline=perhaps"], ["offline", "'perhaps'", "true or false"]),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_command_line_is_answered_before_anything_runs(finished, case):
    settings, words = BAD[case]
    status, printed = checkout.snakemake(finished, "--config", *settings)
    assert status != 0 and "Traceback" not in printed
    for word in words:
        assert word in printed, printed


def test_killing_snakemake_at_any_moment_loses_nothing(folder):
    generator = random.Random(7)
    status, printed = checkout.snakemake(folder, "--config", "study=tiny", "--until", "environments")
    assert status == 0 and "0 of 6 cells are recorded" in printed, printed
    for _ in range(KILLS):
        before = files(folder)
        process = subprocess.Popen(
            checkout.command("--config", "study=tiny"),
            cwd=folder,
            env=checkout.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(generator.uniform(1.5, 7.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 20
        while workers(folder) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert workers(folder) == []
        after = files(folder)
        assert {path: after.get(path) for path in before} == before, "a finished record was lost or changed"
        for path in after:
            records.read(path)  # raises if it is damaged
        if len(after) == 6:
            break
    status, printed = checkout.snakemake(folder, "--config", "study=tiny")
    assert status == 0, printed
    statuses = [json.loads(content)["status"] for content, _ in files(folder).values()]
    assert statuses == ["ok"] * 6


@pytest.mark.parametrize(
    "words, dry",
    [("-n", True), ("--dry-run", True), ("--dryrun", True), ("-np", True), ("-c1 -F", False), ("--nolock", False)],
)
def test_a_dry_run_is_recognised(words, dry):
    assert flow.is_dry_run(["snakemake", *words.split()]) is dry
