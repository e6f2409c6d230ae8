"""The task `measure`: build, feed, first step, warm-up, timed steps, block pass; every time in ns from one clock.

A step is timed from the host batch to the updated parameters: opened before `step`, closed after `synchronize`. The
loss is read outside the timed steps. Warm-up steps are kept in `step_ns`; `warmup_steps` says how many entries of its
head are not used. Between 50 ms of idle time the messages `start` and `stop` frame the timed steps.
Source: Georges et al. 2007, "Statistically rigorous Java performance evaluation" (steady state, fresh processes);
Kalibera and Jones 2013, "Rigorous benchmarking in reasonable time" (processes, not steps, are the sample).
"""

import gc
import json
import os
import resource
import time

import numpy

from worker import timing
from worker import weights as starting_weights
from worker.channel import monotonic_ns, number, perf_counter_ns
from worker.frameworks import Unsupported

IDLE_SECONDS = 0.05  # on both sides of the timed steps, so that telemetry can be cut at its edges


def run(job, channel, adapter_module):
    """Measure the job's cell and send built, first_step, warm, start, stop and result."""
    cell, protocol = job["cell"], job["protocol"]
    if cell["feeding"] not in ("step", "resident"):
        raise Unsupported("feeding '{}' cannot be measured: there are step and resident".format(cell["feeding"]))
    startup = {}
    adapter = build(job, channel, adapter_module, startup)
    channel.phase = "feed"
    start = perf_counter_ns()
    count = feed(adapter, job["batches"])
    startup["feed"] = seconds_since(start)
    steps = timing.Steps(adapter, count)
    channel.phase = "first_step"
    startup["first_step"] = steps.run_one() / 1e9
    channel.send("first_step", ns=steps.step_ns[0])
    losses = [[0, number(adapter.loss())]]
    channel.phase = "warm_up"
    flags = steps.warm_up(protocol)
    warmup_steps = len(steps.step_ns)
    losses.append([warmup_steps - 1, number(adapter.loss())])
    channel.send("warm", steps=warmup_steps)
    timer = timing.overheads(adapter)
    channel.phase = "steps"
    settle_garbage()
    collections = count_collections()
    cpu = timed_pass(steps, protocol, channel, flags)
    collections = count_collections() - collections
    losses.append([len(steps.step_ns) - 1, number(adapter.loss())])
    channel.phase = "blocks"
    block_ns = steps.block_pass(protocol)
    losses.append([len(steps.step_ns) + sum(block[0] for block in block_ns) - 1, number(adapter.loss())])
    channel.phase = "close"
    peak = peak_memory_bytes()
    knobs = dict(adapter.knobs())  # again, after the work: what is in force, not what was asked for
    adapter.close()
    channel.send(
        "result",
        timer=timer,
        step_ns=steps.step_ns,
        warmup_steps=warmup_steps,
        block_ns=block_ns,
        losses=losses,
        startup_seconds=startup,
        cpu=cpu,
        gc_collections=collections,
        memory_bytes={"rss_peak": peak},
        knobs=knobs,
        flags=flags,
        phases_ns=None,
        why=dict(
            {"phases_ns": "no phase pass: this protocol times whole steps only"},
            **({"memory_bytes.rss_peak": "/proc/self/status has no VmHWM here"} if peak is None else {}),
        ),
    )


def build(job, channel, adapter_module, startup):
    """Return the adapter with the cell's network built from the seeded weights; send `built` with their hash."""
    cell = job["cell"]
    channel.phase = "weights"
    with open(job["graph"], encoding="utf-8") as file:
        graph = json.load(file)
    weights = starting_weights.draw(graph, job["seed"])
    digest = starting_weights.sha256(weights)
    channel.phase = "build"
    optimizer = {
        "name": cell["optimizer"],
        "learning_rate": cell["learning_rate"],
        "momentum": cell["momentum"],
        "weight_decay": cell["weight_decay"],
    }
    start = perf_counter_ns()
    adapter = adapter_module.Adapter(cell)
    adapter.build(graph, weights, optimizer)
    startup["build"] = seconds_since(start)
    channel.send(
        "built",
        weights_sha256=digest,
        parameter_count=sum(int(numpy.prod(entry["shape"])) for entry in graph["parameters"]),
        versions=dict(adapter.versions()),
        knobs=dict(adapter.knobs()),
        build_seconds=startup["build"],
    )
    return adapter


def feed(adapter, batches):
    """Hand every distinct batch to the adapter once, in pageable memory; return how many there are."""
    for index, batch in enumerate(batches):
        inputs = numpy.array(numpy.load(batch["inputs"], mmap_mode="r"))
        targets = numpy.array(numpy.load(batch["targets"], mmap_mode="r"))
        adapter.feed(index, inputs, targets)
    return len(batches)


def timed_pass(steps, protocol, channel, flags):
    """Run the timed steps between the messages start and stop; return CPU time and context switches over them."""
    channel.send("start", monotonic_ns=monotonic_ns())
    time.sleep(IDLE_SECONDS)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = perf_counter_ns()
    flags += steps.timed_pass(protocol)
    wall_seconds = seconds_since(start)
    after = resource.getrusage(resource.RUSAGE_SELF)
    time.sleep(IDLE_SECONDS)
    channel.send("stop", monotonic_ns=monotonic_ns())
    return {
        "user_seconds": after.ru_utime - before.ru_utime,
        "system_seconds": after.ru_stime - before.ru_stime,
        "wall_seconds": wall_seconds,
        "involuntary_switches": after.ru_nivcsw - before.ru_nivcsw,
        "voluntary_switches": after.ru_nvcsw - before.ru_nvcsw,
    }


def settle_garbage():
    """Collect what the start left behind and take the survivors out of later collections; collecting stays on."""
    gc.collect()
    freeze = getattr(gc, "freeze", None)  # Python 3.7 and newer
    if freeze is not None:
        freeze()


def count_collections():
    """Return how often Python's garbage collector has run in this process."""
    return sum(generation["collections"] for generation in gc.get_stats())


def peak_memory_bytes():
    """Return the process's largest resident set so far in bytes (VmHWM), None where the kernel does not say."""
    if not os.path.exists("/proc/self/status"):
        return None
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return None


def seconds_since(start):
    """Return the seconds since a reading of `perf_counter_ns`."""
    return (perf_counter_ns() - start) / 1e9
