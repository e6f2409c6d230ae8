"""The task `bundle`: what every gate cell of a network needs, made once by the reference.

Start values, five batches, what the float64 reference computes from them, and its noise: how far each tensor moves when
weights and inputs are disturbed by one float32 ulp (operands), or batch-norm's reductions by their rounding error
(reductions), the largest of 20 draws each. A start is unfit, and the next seed is tried, where a ReLU input or a
max-pool lead lies so near a tie that an honest float32 framework may fall on the other side, or where the samples'
gradients cancel so far that an honest error of the loss would fill half a tolerance.
"""

import json
import os

import numpy

from worker import gate
from worker import weights as starting_weights
from worker.reference import perturbation

NEAREST_TIE = 8e-6  # rms of its tensor; starts that keep this distance met the noise condition below in all trials
LARGEST_NOISE = 1e-3  # the tolerance's cap: above it the start is ill-conditioned
SMALLEST_MOVE = 2.4e-3  # ||update|| / ||parameter||: below it the parameter's own rounding is above 1e-4 of the update
FASTEST = 64.0  # the learning rate is doubled up to here
LOSS_ERROR = 2.0**-18  # share by which a correct softmax may be off in all samples alike: MXNet's is by 0.7 of it
LARGEST_AMPLIFIED = 7.5e-6  # what that may move a gradient by: half its smallest tolerance
NOISY_TRIES = 4  # starts whose noise is measured, at most


def run(job, channel, adapter_module):
    """Find a fit start, write start, batches, expected arrays and noise; send which seed and learning rate it has."""
    with open(job["graph"], encoding="utf-8") as file:
        graph = json.load(file)
    channel.phase = "bundle"
    maker = Maker(adapter_module.Adapter, job["cell"], graph, job["gate"])
    fit = maker.choose()
    files = {"start": fit.arrays, "expected": fit.found, "scale": fit.scale}
    files["batches"] = {
        "{}/{}".format(step, role): values
        for step, pair in enumerate(fit.batches)
        for role, values in zip(("inputs", "targets"), pair)
    }
    written = {}
    for kind in files:
        folder = os.path.join(job["output"], kind)
        os.mkdir(folder)
        written[kind] = {
            name: os.path.join(kind, file) for name, file in gate.write_arrays(files[kind], folder).items()
        }
    channel.send(
        "result",
        seed=fit.seed,
        tries=fit.tries,
        learning_rates=fit.rates,
        smallest_gap=fit.gap if numpy.isfinite(fit.gap) else None,  # None: nothing in it can tie
        noise=fit.noise,
        fit=fit.fit,
        arrays=written,
    )


class Start:
    """One seed's start values and batches, and what the reference made of them."""

    def __init__(self, seed, tries, graph, settings, steps):
        self.seed, self.tries = seed, tries
        self.arrays = starting_weights.draw(graph, seed)
        generator = numpy.random.RandomState(seed + 1)
        shape = (settings["batch"],) + tuple(graph["input"]["shape"])
        aims = (settings["batch"],) + tuple(graph["target"]["shape"])
        self.batches = []
        for _ in range(steps):
            if graph["input"]["dtype"] == "int64":
                inputs = draw_classes(generator, shape, graph["input"]["classes"])
            else:
                inputs = generator.standard_normal(shape).astype(numpy.float32)
            self.batches.append((inputs, draw_classes(generator, aims, graph["classes"])))

    @property
    def merit(self):
        """Return what to choose the best of several starts by: far from ties first, then little amplification."""
        return min(self.gap, NEAREST_TIE), -self.amplified

    @property
    def is_clear(self):
        """Say whether the start is far from ties and amplifies an error of the loss little."""
        return self.gap >= NEAREST_TIE and self.amplified <= LARGEST_AMPLIFIED


def draw_classes(generator, shape, classes):
    """Return random classes, int64, the first ones oftener: with equal counts a wrong mean over them would not show."""
    return (generator.random_sample(shape) ** 2 * classes).astype(numpy.int64)


class Maker:
    """Runs the reference from one start after the other until one is fit."""

    def __init__(self, make, cell, graph, settings):
        self.make, self.cell, self.graph, self.settings = make, cell, graph, settings
        self.rate = settings["learning_rate"]

    def choose(self):
        """Return the first start that is far from ties and quiet; else the quietest of those tried, marked unfit."""
        steps = len(self.settings["rate_pattern"])
        measured = []
        best = None
        for tries in range(1, self.settings["tries"] + 1):
            start = Start(self.settings["seed"] + 10 * tries, tries, self.graph, self.settings, steps)
            self.settle(start)
            start.amplified = self.amplified(start) if start.gap >= NEAREST_TIE else numpy.inf
            if best is None or start.merit > best.merit:
                best = start
            if start.is_clear or tries == self.settings["tries"]:
                start = start if start.is_clear else best
                self.measure_noise(start)
                measured.append(start)
                if start.fit or len(measured) == NOISY_TRIES:
                    break
        return min(measured, key=lambda each: (not each.fit, largest(each.noise)))

    def settle(self, start):
        """Run the reference from a start, doubling the learning rate until every update is well above rounding."""
        while True:
            start.rates = [self.rate * factor for factor in self.settings["rate_pattern"]]
            networks = []
            start.found = self.trajectory(start.arrays, start.batches, start.rates, networks)
            start.gap = min(network.smallest_gap for network in networks)
            if self.smallest_move(start) >= SMALLEST_MOVE or self.rate >= FASTEST:
                break
            self.rate *= 2.0
        start.scale = batch_deviations(networks[-1], self.graph)  # the last one trained the five steps

    def smallest_move(self, start):
        """Return the smallest ||update|| / ||parameter|| of the five steps, over parameters with a gradient."""
        moves = {
            each["name"]: numpy.linalg.norm(start.found["update5/" + each["name"]]) for each in self.graph["parameters"]
        }
        top = max(moves.values())
        return min(move / numpy.linalg.norm(start.arrays[name]) for name, move in moves.items() if move > 1e-6 * top)

    def amplified(self, start):
        """Return by how much, relative L2, LOSS_ERROR moves the gradient that it moves most; 0 with batch-norm.

        A share of the probabilities that is wrong in all samples alike adds up where the gradients of the samples
        cancel. With batch-norm the tolerances are larger: they follow the noise of its reductions.
        """
        if any(op["op"] == "batch_norm" for op in self.graph["ops"]):
            return 0.0
        plain = dict(self.settings["forms"], name="sgd", momentum=0.0, weight_decay=0.0, learning_rate=1.0)
        make = self.watched([], loss_error=LOSS_ERROR)
        _, moved = gate.plain_step(make, self.cell, self.graph, start.arrays, start.batches, plain)
        right = {name: start.found["gradient/" + name] for name in moved}
        top = max(numpy.linalg.norm(value) for value in right.values())
        return max(change(moved[name], right[name]) for name in right if numpy.linalg.norm(right[name]) > 1e-6 * top)

    def watched(self, networks, total=None, loss_error=0.0):
        """Return what makes an adapter whose network is disturbed so and is appended to `networks`."""

        def make(cell):
            adapter = self.make(cell)
            build = adapter.build

            def watched(graph, weights, optimizer):
                build(graph, weights, optimizer)
                adapter.network.loss_error = loss_error
                if total is not None:
                    adapter.network.total = total
                networks.append(adapter.network)

            adapter.build = watched
            return adapter

        return make

    def trajectory(self, arrays, batches, rates, networks, total=None, diagnose=False):
        """Return the arrays of one run of the reference; its networks are appended to `networks`."""
        settings = dict(self.settings, learning_rates=rates)
        make = self.watched(networks, total)
        return gate.trajectory(make, self.cell, self.graph, arrays, batches, settings, diagnose)[0]

    def measure_noise(self, start):
        """Set the start's noise per tensor, {name: {"operands", "reductions"}}, and whether it is fit."""
        generator = numpy.random.RandomState(start.seed + 2)
        noise = {name: {"operands": 0.0, "reductions": 0.0} for name in start.found if "/" in name}
        kinds = ["operands"]
        if any(op["op"] == "batch_norm" for op in self.graph["ops"]):
            kinds.append("reductions")
        for kind in kinds:
            for _ in range(self.settings["draws"]):
                arrays, batches, total = start.arrays, start.batches, None
                if kind == "operands":
                    arrays = {name: perturbation.elements(value, generator) for name, value in arrays.items()}
                    if self.graph["input"]["dtype"] == "float32":
                        batches = [(perturbation.elements(inputs, generator), targets) for inputs, targets in batches]
                else:
                    total = perturbation.Sums(generator)
                found = self.trajectory(arrays, batches, start.rates, [], total)
                for name, entry in noise.items():
                    entry[kind] = max(entry[kind], change(found[name], start.found[name]))
        start.noise = noise
        start.found.update(self.trajectory(start.arrays, start.batches, start.rates, [], diagnose=True))
        start.fit = start.is_clear and largest(noise) <= LARGEST_NOISE


def change(found, expected):
    """Return the relative L2 difference of two arrays; 0 where the expected one is 0."""
    size = numpy.linalg.norm(expected)
    return float(numpy.linalg.norm(found - expected) / size) if size > 0 else 0.0


def largest(noise):
    """Return the largest noise of any tensor and kind."""
    return max(max(entry.values()) for entry in noise.values())


def batch_deviations(network, graph):
    """Return {running_mean buffer: the batch's standard deviation per channel}: the scale of its errors.

    The running variance after the steps stands for the batch's: it is a mean of start and batch variances, and the
    start was drawn near them.
    """
    scale = {}
    for op in graph["ops"]:
        if "running_mean" in op["buffers"]:
            scale[op["buffers"]["running_mean"]] = numpy.sqrt(network.buffers[op["buffers"]["running_variance"]])
    return scale
