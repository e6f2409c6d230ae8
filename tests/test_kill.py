"""A hundred kills of the runner at random moments damage or lose no record and leave no worker; the next call works.

The worker is a real one with a fake step; a call takes about a second, and kills fall anywhere in it.
"""

import concurrent.futures
import os
import random
import signal
import subprocess
import time

import cells
from host import records

KILLS = 100
LANES = 4  # runners at a time: most of a call is waiting for processes to start
LATEST = 1.5  # a kill comes after so many times the length of a call at the latest; some calls are done before


def lane(number, folder, cache, kills, longest):
    """Make calls for one record after another and kill each within `longest` seconds; return what happened to them.

    A record that was finished is asked for again and killed again, then the next one is begun.
    """
    moments = random.Random(number)
    counts = {"killed": 0, "finished": 0, "records": 0}
    record, before = folder / "record-0.json", None
    for kill in range(kills):
        runner = subprocess.Popen(
            cells.command("honest", record, cache), env=cells.environment(folder), stderr=subprocess.DEVNULL
        )
        try:
            runner.wait(timeout=moments.uniform(0.0, longest))
        except subprocess.TimeoutExpired:
            runner.send_signal(moments.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        counts["killed" if runner.wait(timeout=30) else "finished"] += 1
        no_worker_is_left(folder, kill)
        if record.exists():
            content = record.read_bytes()
            assert records.read(record)["status"] == "ok"
            assert before in (None, content), "kill {} changed a finished record".format(kill)
            counts["records"] += before is None
            record, before = (record, content) if before is None else (folder / "record-{}.json".format(kill), None)
        else:
            assert before is None, "kill {} lost a finished record".format(kill)
            assert runner.returncode != 0, "kill {}: done, but there is no record".format(kill)
    return counts


def no_worker_is_left(folder, kill):
    """Fail unless everything of the call has ended within seconds, its scratch folder included."""
    end = time.monotonic() + 10
    while left := cells.left_running(folder) + list(folder.glob("levelfield-*")):
        assert time.monotonic() < end, "kill {} left {}".format(kill, left)
        time.sleep(0.02)


def test_a_hundred_kills_leave_only_whole_records_and_no_worker(tmp_path):
    cache = tmp_path / "cache"
    (tmp_path / "first").mkdir()
    done, _ = cells.run("honest", tmp_path / "first", cache)  # fills the cache: later calls are short
    assert done.returncode == 0
    (tmp_path / "second").mkdir()
    start = time.monotonic()
    cells.run("honest", tmp_path / "second", cache)
    longest = LATEST * (time.monotonic() - start) * max(1.0, LANES / len(os.sched_getaffinity(0)))
    folders = [tmp_path / "lane-{}".format(number) for number in range(LANES)]
    for folder in folders:
        folder.mkdir()
    with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
        work = [
            pool.submit(lane, number, folder, cache, KILLS // LANES, longest) for number, folder in enumerate(folders)
        ]
        counts = [future.result() for future in work]
    total = {name: sum(count[name] for count in counts) for name in counts[0]}
    assert total["killed"] >= KILLS // 4 and total["records"] >= 3, total  # kills fell before and after the end
    for number, folder in enumerate(folders):
        again, record = cells.run("honest", folder, cache)
        assert (again.returncode, record["status"]) == (0, "ok"), "lane {}: {}".format(number, again.stderr)
        records.sweep(folder / "record.json")
        for path in folder.glob("record*.json"):
            assert records.is_valid(path)
