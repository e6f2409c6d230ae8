"""The sync test: four times the work takes clearly more than twice the time, or somebody timed the dispatch.

The work is a step of an MLP of wide dense layers, with a batch four times as large. Medians of interleaved steps; the
bound is generous (2 for 4), because other programs may be running.
"""

import concurrent.futures
import time

import numpy

WIDTH, LAYERS, BATCH, ROUNDS = 512, 3, 128, 9


def graph():
    """Return the graph of an MLP of equal wide layers."""
    ops, parameters, value = [], [], "input"
    for layer in ["layer{}".format(number) for number in range(LAYERS)]:
        names = {"weight": layer + ".weight", "bias": layer + ".bias"}
        shared = {"inputs": [value], "output_shape": [WIDTH], "buffers": {}}
        ops.append(dict(shared, op="dense", name=layer, attributes={"units": WIDTH}, parameters=names))
        parameters.append({"name": names["weight"], "shape": [WIDTH, WIDTH], "kind": "weight"})
        parameters.append({"name": names["bias"], "shape": [WIDTH], "kind": "bias"})
        value = layer
    loss = {"op": "softmax_cross_entropy", "name": "loss", "inputs": [value], "output_shape": [], "attributes": {}}
    ops.append(dict(loss, parameters={}, buffers={}))
    source = {"value": "input", "shape": [WIDTH], "dtype": "float32"}
    return {
        "network": "wide",
        "classes": WIDTH,
        "input": source,
        "ops": ops,
        "logits": value,
        "loss": "loss",
        "parameters": parameters,
        "buffers": [],
    }


def wide(subject, batch):
    """Return an adapter of the wide MLP, fed with one batch of this size and warmed up."""
    wide_graph, generator = graph(), numpy.random.RandomState(1)
    adapter = subject.module.Adapter(subject.cell(mode="train", batch=batch))
    start = {
        entry["name"]: (generator.standard_normal(entry["shape"]) * 0.05).astype(numpy.float32)
        for entry in wide_graph["parameters"]
    }
    adapter.build(wide_graph, start, {"name": "sgd", "learning_rate": 0.01, "momentum": 0.9, "weight_decay": 0.0})
    inputs = generator.standard_normal((batch, WIDTH)).astype(numpy.float32)
    adapter.feed(0, inputs, generator.randint(0, WIDTH, batch).astype(numpy.int64))
    return adapter


class Queued:
    """An adapter that returns from step() at once, as asynchronous frameworks do; wait() is its synchronize()."""

    def __init__(self, adapter):
        self.adapter, self.queue, self.last = adapter, concurrent.futures.ThreadPoolExecutor(1), None

    def step(self, index):
        """Queue one step."""
        self.last = self.queue.submit(self.whole_step, index)

    def whole_step(self, index):
        self.adapter.step(index)
        self.adapter.synchronize()

    def synchronize(self):
        """Wait for the last step."""
        self.last.result()


def work_ratio(small, large, synchronize):
    """Return the median time of a step of `large` over that of `small`; nothing is left running in between."""
    times = {small: [], large: []}
    for round_number in range(ROUNDS + 2):
        for adapter in (small, large):
            start = time.perf_counter()
            adapter.step(0)
            if synchronize:
                adapter.synchronize()
            elapsed = time.perf_counter() - start
            adapter.synchronize()
            if round_number >= 2:  # the first two warm up
                times[adapter].append(elapsed)
    medians = [sorted(times[adapter])[ROUNDS // 2] for adapter in (small, large)]
    return medians[1] / medians[0]


def synchronize_waits_for_the_work(subject):
    """A step on four times the samples takes more than twice as long, timed from step() to synchronize()."""
    ratio = work_ratio(wide(subject, BATCH), wide(subject, 4 * BATCH), synchronize=True)
    return [] if ratio > 2 else ["four times the work took {:.2f} times as long".format(ratio)]


def sync_test_sees_a_missing_wait(subject):
    """The same test on steps that are only queued must fail, or the one above proves nothing."""
    small, large = Queued(wide(subject, BATCH)), Queued(wide(subject, 4 * BATCH))
    ratio = work_ratio(small, large, synchronize=False)
    return [] if ratio < 2 else ["queueing four times the work took {:.2f} times as long".format(ratio)]


ADAPTER_CHECKS = {check.__name__: check for check in (synchronize_waits_for_the_work, sync_test_sees_a_missing_wait)}
