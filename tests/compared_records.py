"""Records of cells whose times are known, to be compared: one repeat a block, noise from a seed of the cell's own."""

import itertools
import math

import numpy as np

import sample_records as samples
from host.results import collect
from host.results.comparison import families

DECLARED = {name: families.declared_execution(name) for name in ("torch", "tensorflow", "mxnet")}
OTHER = {"eager": "compiled", "compiled": "eager"}


def repeat(framework, number, seconds, exploratory=False, block=1.0, **changes):
    """Return a record whose every step takes the given seconds, and `block` times as long in the block pass."""
    execution = changes.pop("execution", DECLARED[framework])
    made = samples.record(samples.cell(framework, repeat=number, execution=execution, **changes))
    noise = np.random.RandomState(number).normal(size=120)
    made["step_ns"] = [int(1e9 * seconds * (1 + 1e-4 * one)) for one in noise]
    made["block_ns"] = [[50, int(50e9 * seconds * block)]]
    made["protocol"] = dict(made["protocol"], exploratory=exploratory)
    return made


def cell(framework, seconds=0.01, blocks=10, sd=0.01, seed=None, without=(), gated=True, checks=None, **changes):
    """Return the records of one cell: a repeat a block with noise of its own, and its gate record."""
    noise = np.random.RandomState(samples.hash_of(framework) % 2**31 if seed is None else seed).normal(0, sd, blocks)
    numbers = [number for number in range(1, blocks + 1) if number not in without]
    made = [repeat(framework, number, seconds * math.exp(noise[number - 1]), **changes) for number in numbers]
    gate = {
        name: changes[name] for name in ("precision", "threads", "devices", "feeding", "network") if name in changes
    }
    execution = changes.get("execution", DECLARED[framework])
    of_gate = samples.cell(framework, mode="gate", execution=execution, **gate)
    return made + ([samples.record(of_gate, checks=checks)] if gated else [])


def collected(folder, *made, **entry_changes):
    """Return (records, cells) of these records."""
    every = {samples.axes.record_path(one["cell"]): one for one in itertools.chain(*made)}
    entries = [samples.write(folder, one) | entry_changes for one in every.values()]
    return collect.collect(entries, [folder])[:2]


def compared(folder, *made, **entry_changes):
    return families.compare(collected(folder, *made, **entry_changes)[1])
