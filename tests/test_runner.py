"""Whatever a worker does, its cell leaves a record with the right status and a reason that a person can act on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cells
from host import catalogue, records

# saboteur: (status, words that the reason must hold, options)
ENDINGS = {
    "honest": ("ok", (), {}),
    "raises": ("failed", ("ZeroDivisionError: the bug of this framework", "the warm-up"), {}),
    "raises_on_import": ("failed", ("libsaboteur.so.3", "the import of the framework"), {}),
    "unsupported": ("unsupported", ("precision: this framework has float16 only",), {}),
    "exits_0": ("crashed", ("exit status 0", "without a result", "first step"), {}),
    "exits_1": ("crashed", ("exit status 1", "without a result", "first step"), {}),
    "calls_sys_exit": ("failed", ("SystemExit", "usage: framework [options]"), {}),
    "aborts": ("crashed", ("SIGABRT", "the build of the network"), {}),
    "segfaults": ("crashed", ("SIGSEGV", "first step"), {}),
    "is_killed": ("crashed", ("SIGKILL", "neither the runner nor"), {}),
    "hangs": ("timeout", ("not done within 2 s", "first step"), {"deadline": 2.0}),
    "ignores_sigterm": ("timeout", ("not done within 2 s", "ignored SIGTERM and was killed"), {"deadline": 2.0}),
    "stops_itself": ("timeout", ("not done within 2 s",), {"deadline": 2.0}),
    "floods": ("failed", ("RuntimeError: after the flood",), {}),
    "floods_and_measures": ("ok", (), {}),
    "garbage": ("failed", ("data channel", "not JSON", "WARNING", "all is lost"), {}),
    "floods_the_channel": ("failed", ("data channel", "64 MiB without the end of a message", "zzz"), {}),
    "truncates": ("failed", ("in the middle of a message", "step_ns"), {}),
    "says_nan": ("failed", ("not JSON", "NaN is no JSON number"), {}),
    "leaves_a_child": ("ok", (), {}),
    "leaves_a_child_without_a_name": ("ok", (), {}),
    "impossible_blocks": ("failed", ("cannot be true", "a step of its blocks takes"), {}),
    "allocates": ("out_of_memory", ("memory ran out during",), {"options": ("--memory-limit-bytes", 1 << 30)}),
    "allocates_in_c": ("out_of_memory", ("memory ran out", "SIGABRT", "first step"), {}),
    "nan_loss": ("diverged", ("the loss is nan at step 3",), {}),
    "growing_loss": ("diverged", ("more than 10 times the 2.3 of step 0",), {}),
    "other_environment": ("failed", ("another environment", "/opt/another/environment"), {}),
    "other_weights": ("failed", ("other weights", "SHA-256", "in the worker", "on the host"), {}),
    "crashes_at_exit": ("ok", (), {}),
    "hangs_at_exit": ("ok", (), {}),
    "time_traveller": ("failed", ("cannot be true", "timed steps take"), {}),
}
FLAGS = {
    "leaves_a_child": "children_left_behind",
    "leaves_a_child_without_a_name": "children_left_behind",
    "crashes_at_exit": "ended_badly_after_result",
    "hangs_at_exit": "hung_after_result",
}


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Return a folder of batches that all runs share."""
    return tmp_path_factory.mktemp("cache")


def test_every_saboteur_has_its_ending():
    modules = {path.stem for path in (Path(__file__).parent / "saboteurs").glob("*.py")} - {"__init__", "__main__"}
    assert modules == set(ENDINGS)


@pytest.mark.parametrize("saboteur", ENDINGS)
def test_every_ending_leaves_its_status_and_a_reason(saboteur, tmp_path, cache):
    status, words, options = ENDINGS[saboteur]
    done, record = cells.run(saboteur, tmp_path, cache, **options)
    assert done.returncode == 0, done.stderr
    records.check(record)
    assert record["status"] == status, record["reason"]
    for word in words:
        assert word in record["reason"], record["reason"]
    assert "the runner itself failed" not in (record["reason"] or "")
    if saboteur in FLAGS:
        assert FLAGS[saboteur] in record["flags"]
    assert (record["status_detail"]["output_tail"] is None) == (status == "ok")
    assert len((record["status_detail"]["output_tail"] or "").encode()) <= 8192
    assert cells.left_running(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]  # no scratch folder, no temporary file


def test_the_honest_record_is_whole(tmp_path, cache):
    block = {"seed": 7, "repeat": 1, "position": 3, "size": 9, "invocation": None}
    _, record = cells.run("honest", tmp_path, cache, options=("--block", json.dumps(block), "--study", "quick"))
    known = {name for name, value in record.items() if value is None}
    assert known == {"reason", "phases_ns", "gate"}
    assert set(record["why"]) == {
        "phases_ns",
        "gate",
        "fingerprint.environment",
        "startup_seconds.compile",
    }  # a saboteur has no environment file
    assert record["block"] == block and record["study"] == "quick"
    assert record["warmup_steps"] == 1 + cells.PROTOCOL["warmup_steps"]
    used = record["step_ns"][record["warmup_steps"] :]
    assert len(used) >= cells.PROTOCOL["min_steps"] and min(used) >= 500_000  # a step of the saboteur takes 0.5 ms
    steps, nanoseconds = record["block_ns"][-1]
    assert steps >= cells.PROTOCOL["block_steps"] and nanoseconds >= steps * 500_000
    assert [step for step, _ in record["losses"]][:2] == [0, 3]
    assert record["timer"]["overhead_ns"] > 0
    assert record["cpu"]["wall_seconds"] * 1e9 >= sum(used)
    assert record["parameter_count"] == 535_818
    assert [name for name, value in record["startup_seconds"].items() if value is None] == ["compile"]
    start, stop = record["telemetry"]["window_seconds"]
    assert 0 < start < stop and stop - start >= record["cpu"]["wall_seconds"] + 0.1  # twice 50 ms of idle time
    assert record["memory_bytes"]["rss_peak"] > 10_000_000
    assert record["versions"]["saboteur"] == "1.0" and "numpy" in record["versions"]["distributions"]
    variables = record["knobs"]["variables"]
    assert variables["OMP_NUM_THREADS"] == "1" and variables["PYTHONHASHSEED"] == "0"
    assert variables["SABOTEUR_THREADS"] == "1"  # the adapter's ENVIRONMENT, {threads} replaced
    for private in (str(catalogue.ROOT), str(tmp_path), os.uname().nodename):
        assert private not in json.dumps(record)


def test_losses_that_are_no_numbers_are_kept(tmp_path, cache):
    _, record = cells.run("nan_loss", tmp_path, cache)
    assert record["losses"][0] == [0, 2.3] and record["losses"][1] == [3, "nan"]
    assert len(record["step_ns"]) > 10


def test_the_tail_of_a_flood_holds_its_end(tmp_path, cache):
    log = tmp_path / "logs" / "worker.log"
    _, record = cells.run("floods", tmp_path, cache, options=("--log", log))
    assert record["status_detail"]["output_tail"].endswith("the last words\n")
    assert log.stat().st_size < 2 << 20


def test_output_of_a_worker_that_left_is_kept(tmp_path, cache):
    _, record = cells.run("exits_1", tmp_path, cache)
    assert record["status_detail"]["output_tail"] == "fatal: license server not found\n"
    assert record["status_detail"]["exit_code"] == 1


def test_a_record_is_never_measured_twice(tmp_path, cache):
    cells.run("honest", tmp_path, cache)
    before = (tmp_path / "record.json").read_bytes()
    done, _ = cells.run("raises", tmp_path, cache)
    assert done.returncode == 0 and "there already" in done.stderr
    assert (tmp_path / "record.json").read_bytes() == before


def test_what_is_no_record_is_kept_aside(tmp_path, cache):
    (tmp_path / "record.json").write_text('{"schema": "levelfield/rec')
    done, record = cells.run("honest", tmp_path, cache)
    assert record["status"] == "ok" and "kept as record.json.damaged-1" in done.stderr
    assert (tmp_path / "record.json.damaged-1").read_text() == '{"schema": "levelfield/rec'


def test_the_worker_gets_only_listed_variables(tmp_path, cache, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/somewhere")
    monkeypatch.setenv("OMP_PROC_BIND", "close")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    _, record = cells.run("honest", tmp_path, cache)
    variables = record["knobs"]["variables"]
    assert variables["OPENBLAS_CORETYPE"] == "Haswell"
    assert not {"LD_LIBRARY_PATH", "OMP_PROC_BIND"} & set(variables)


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"threads": 4096}, "wrong_hardware", ("4096 threads", "cores")),
        (
            {"network": "resnet20"},
            "failed",
            ("takes inputs of float32 [3, 32, 32]", "'digits' has float32 (1, 28, 28)"),
        ),
        ({"feeding": "e2e"}, "unsupported", ("'e2e'", "step and resident")),
    ],
)
def test_a_cell_that_cannot_run_here_says_why(changes, status, words, tmp_path, cache):
    done, record = cells.run("honest", tmp_path, cache, **changes)
    assert (done.returncode, record["status"]) == (0, status)
    for word in words:
        assert word in record["reason"]


def test_a_cell_of_another_machine_is_wrong_hardware_with_both_sides_named(tmp_path, cache):
    done, record = cells.run("honest", tmp_path, cache, options=["--check-hardware"])
    assert (done.returncode, record["status"]) == (0, "wrong_hardware")
    assert "'test-2c'" in record["reason"] and "this machine is" in record["reason"] and record["step_ns"] is None


def test_an_environment_that_could_not_be_built_makes_its_cells_unsupported(tmp_path):
    from host import measure

    reason = "the environment saboteur cannot be built: no such package"
    record = tmp_path / "record.json"
    arguments = ["--cell", json.dumps(cells.cell()), "--protocol", json.dumps(cells.PROTOCOL), "--record", str(record)]
    failed = {"status": "failed", "reason": reason, "prefix": None, "deployment": "venv"}
    request = measure.read_request(arguments, environment=failed, lock=None)
    from host.runner import run
    from host.runner.parents import Parents

    assert run.run(request, Parents(), lambda message: None) == ("unsupported", reason)
    assert records.read(record)["reason"] == reason


def test_an_error_of_the_runner_is_a_record(tmp_path, cache):
    (tmp_path / "file").write_text("not a folder")
    done, record = cells.run("honest", tmp_path, tmp_path / "file" / "cache")
    assert (done.returncode, record["status"]) == (0, "failed")
    assert "the runner itself failed: NotADirectoryError" in record["reason"]


def hanging(saboteur, folder, cache, before=()):
    """Start a runner and wait until its worker hangs in its first step; return the process that was started.

    folder  the runner writes into folder/run, the worker's output goes to folder/log
    before  words put before the runner's command: another program that starts it
    """
    (folder / "run").mkdir()
    log = folder / "log"
    runner = subprocess.Popen(
        [*before, *cells.command(saboteur, folder / "run" / "record.json", cache, options=("--log", log))],
        env=cells.environment(folder / "run"),
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: log.exists() and "hanging" in log.read_text())
    return runner


def wait_for(condition, seconds=20.0):
    """Wait until the condition holds; fail after some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited {} s in vain".format(seconds)
        time.sleep(0.02)


def nothing_is_left(folder):
    """Return whether no process of the call runs, and neither record nor scratch folder is there."""
    return cells.left_running(folder / "run") == [] and list((folder / "run").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_runner_that_is_told_to_stop_leaves_no_record_and_no_worker(number, tmp_path, cache):
    runner = hanging("hangs", tmp_path, cache)
    runner.send_signal(number)
    _, errors = runner.communicate(timeout=20)
    assert runner.returncode == 128 + number and "no record is written" in errors
    assert nothing_is_left(tmp_path)


def test_a_killed_runner_takes_its_worker_along(tmp_path, cache):
    runner = hanging("ignores_sigterm", tmp_path, cache)
    runner.kill()
    runner.communicate()
    wait_for(lambda: nothing_is_left(tmp_path))  # the guardian removes the scratch folder too


STARTERS = {
    "parent": "import subprocess, sys; subprocess.run(sys.argv[1:])",
    # the shell stays: only the process above it is gone
    "snakemake": "import subprocess, sys; subprocess.run(['bash', '-c', '\"$@\"; true', '-', *sys.argv[1:]])",
}


@pytest.mark.parametrize("name", STARTERS)
def test_a_runner_whose_starter_was_killed_stops(name, tmp_path, cache):
    (tmp_path / name).write_text(STARTERS[name])
    starter = hanging("hangs", tmp_path, cache, before=(sys.executable, str(tmp_path / name)))
    starter.kill()
    starter.wait()
    wait_for(lambda: nothing_is_left(tmp_path))


def test_a_runner_whose_snakemake_is_gone_already_runs_nothing(tmp_path, cache):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    done, record = cells.run("honest", tmp_path, cache, options=("--started-by", gone.pid))
    assert (done.returncode, record) == (1, None) and "has ended" in done.stderr


def test_measured_cells_of_two_runners_do_not_overlap(tmp_path):
    from host.runner import lock

    path = tmp_path / "lock"
    said = []
    first = lock.acquire(path, False, said.append, lambda: None)

    def give_up():
        raise TimeoutError

    with pytest.raises(TimeoutError):
        lock.acquire(path, False, said.append, give_up)
    with pytest.raises(TimeoutError):
        lock.acquire(path, True, said.append, give_up)  # a gate cell waits for a measured one
    assert "another cell is being measured" in said[0]
    os.close(first)
    gates = [lock.acquire(path, True, said.append, give_up) for _ in range(2)]  # gate cells run side by side
    with pytest.raises(TimeoutError):
        lock.acquire(path, False, said.append, give_up)
    for descriptor in gates:
        os.close(descriptor)
