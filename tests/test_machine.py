"""The machine's facts: found or None with a reason, in their units, without names of host or user."""

import getpass
import json
import os

import pytest

from host import machine


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Return folders that stand for /sys and /proc."""
    monkeypatch.setattr(machine, "SYSTEM", tmp_path / "sys")
    monkeypatch.setattr(machine, "PROCESSES", tmp_path / "proc")

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    return write


def test_every_unknown_fact_has_a_reason():
    facts = machine.facts()
    unknown = {name for name, value in facts.items() if value is None}
    assert unknown == set(facts["why"]) and all(facts["why"].values())
    assert facts["memory_total_bytes"] > 1 << 28 and facts["cores_granted"] >= 1
    json.dumps(facts, allow_nan=False)


def test_a_machine_that_tells_nothing_has_only_reasons(system):
    facts = machine.facts()
    assert facts["memory_total_bytes"] is None and "meminfo" in facts["why"]["memory_total_bytes"]
    assert facts["governor"] is None and "scaling_governor" in facts["why"]["governor"]
    assert facts["cores_granted"] == len(os.sched_getaffinity(0))


def test_host_and_user_stay_out():
    words = json.dumps({name: value for name, value in machine.facts().items() if name != "slurm_node"})
    for name in (os.uname().nodename, os.path.expanduser("~"), getpass.getuser()):
        assert '"{}"'.format(name) not in words


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": "150000 100000"}, 1.5),
        ({"proc/self/cgroup": "0::/job/step\n", "sys/fs/cgroup/job/cpu.max": "400000 100000"}, 4.0),
        (
            {
                "proc/self/cgroup": "4:cpu:/job\n0::/\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "50000",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
            },
            0.5,
        ),
    ],
)
def test_a_quota_of_either_kind_of_control_group_is_found(files, cores, system):
    for path, text in files.items():
        system(path, text)
    assert machine.cores_by_quota() == cores
    assert machine.cores_granted() == min(len(os.sched_getaffinity(0)), max(1, int(cores + 0.5)))


def test_no_quota_is_no_number(system):
    system("proc/self/cgroup", "0::/job\n")
    system("sys/fs/cgroup/job/cpu.max", "max 100000")
    with pytest.raises(machine.Unknown, match="quota"):
        machine.cores_by_quota()


def test_the_smallest_memory_limit_counts(system):
    system("proc/self/cgroup", "0::/job/step\n")
    system("sys/fs/cgroup/job/step/memory.max", "max")
    system("sys/fs/cgroup/job/memory.max", "8589934592")
    assert machine.memory_limit() == 8 << 30


def test_kills_for_memory_are_counted(system):
    system("proc/self/cgroup", "0::/job\n")
    system("sys/fs/cgroup/job/memory.events", "low 0\noom 3\noom_kill 2\n")
    assert machine.oom_kills() == 2


def test_without_control_groups_kills_are_unknown(system):
    assert machine.oom_kills() is None


def test_the_worker_gets_whole_cores_of_one_memory_node(system, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    for core in range(8):  # two nodes of two cores with two threads each: 0-1 and 4-5 on node 0
        folder = "sys/devices/system/cpu/cpu{}/".format(core)
        system(folder + "topology/thread_siblings_list", "{},{}".format(core % 4, core % 4 + 4))
        system(folder + "node{}/meminfo".format(core % 4 // 2), "")
    assert machine.worker_cores(1) == ([0], [1, 2, 3, 4, 5, 6, 7])
    assert machine.worker_cores(2)[0] == [0, 1]
    assert machine.worker_cores(4)[0] == [0, 1, 2, 3]
    assert machine.worker_cores(6)[0] == [0, 1, 2, 3, 4, 5]
    assert machine.worker_cores(8) == (list(range(8)), [])


def test_kernel_lists_are_expanded():
    assert machine.expand("0-2,8") == [0, 1, 2, 8]
