"""Faults of training: options of the optimiser, batches, precision, and what an adapter does with them."""

import numpy

from faults.fault import DoesNotApply
from faults.faulty import Faulty
from faults.kinds import NOWHERE, behaves, by_normalisation, enter, on_networks
from faults.rounding import BITS, rounded

ULP = 2.0**-23


def option(what, change):
    """Enter the kind of fault in which change(options) are the optimiser's."""

    @on_networks(what)
    def plant(fault):
        fault.options = lambda options: dict(options, **change(options))


option("momentum is 0.99", lambda o: {"momentum": 0.99 if o["momentum"] else 0.0})
option("no momentum", lambda o: {"momentum": 0.0})
option("no weight decay", lambda o: {"weight_decay": 0.0})
option("weight decay doubled", lambda o: {"weight_decay": 2.0 * o["weight_decay"]})
option("learning rate halved", lambda o: {"learning_rate": 0.5 * o["learning_rate"]})
option("learning rate times the batch", lambda o: {"learning_rate": 16.0 * o["learning_rate"]})
option("learning rate is the tool's default", lambda o: {"learning_rate": 0.01})


def decayed(what, kind):
    """Enter the kind of fault in which weight decay touches parameters of this kind too."""

    @on_networks(what)
    def plant(fault):
        entries = [entry for entry in fault.graph["parameters"] if entry["kind"] == kind]
        if not entries:
            raise DoesNotApply("it has no such parameters")
        for entry in entries:
            entry["kind"] = "weight"


decayed("biases decayed", "bias")
decayed("gamma and beta decayed", "normalization")


def batch(what, change, numbers=False):
    """Enter the kind of fault in which change(inputs, targets, index, graph) is fed, `numbers` only, no classes."""

    @on_networks(what)
    def plant(fault):
        graph = fault.original
        if numbers and graph["input"].get("dtype", "float32") != "float32":
            raise DoesNotApply("its inputs are classes")
        fault.batch = lambda inputs, targets, index: change(inputs, targets, index, graph)


def next_class(inputs, graph):
    """Return the inputs one class, or one element along their last axis, further."""
    if inputs.dtype == numpy.float32:
        return numpy.roll(inputs, 1, -1)
    return (inputs + 1) % graph["input"]["classes"]


def half_batch(values):
    """Return the first half of the batch twice, as two devices that were given the same data would see it."""
    return numpy.concatenate([values[: len(values) // 2]] * 2)


batch("targets off by one", lambda x, t, index, graph: (x, (t + 1) % graph["classes"]))
batch("targets of the sample before", lambda x, t, index, graph: (x, numpy.roll(t, 1, 0)))
batch("inputs off by one", lambda x, t, index, graph: (next_class(x, graph), t))
batch("inputs in reverse order", lambda x, t, index, graph: (x[..., ::-1], t))
batch("every device sees the same half", lambda x, t, index, graph: (half_batch(x), half_batch(t)))
batch("last sample dropped", lambda x, t, index, graph: (x[:-1], t[:-1]))
batch("inputs scaled by 255 / 256", lambda x, t, index, graph: (x * numpy.float32(255.0 / 256), t), numbers=True)


def precision(name, bits):
    """Enter the kind of fault in which start values and inputs are rounded to a format."""

    @on_networks("weights and inputs rounded to {}".format(name), places=by_normalisation)
    def plant(fault):
        for entry in fault.graph["parameters"]:
            fault.replace(entry["name"], lambda start: rounded(start, bits), lambda array: array)
        if fault.graph["input"].get("dtype", "float32") == "float32":
            fault.batch = lambda inputs, targets, index: (rounded(inputs, bits), targets)


for format_name, explicit in sorted(BITS.items()):
    precision(format_name, explicit)


@on_networks("two tensors taken for each other")
def taken_for_each_other(fault):
    by_shape = {}
    for entry in fault.graph["parameters"]:
        other = by_shape.setdefault((entry["kind"], tuple(entry["shape"])), entry["name"])
        if other != entry["name"]:
            fault.crossed.append((other, entry["name"]))
            return
    raise DoesNotApply("no two tensors are of one kind and shape")


@on_networks("a tensor too many")
def tensor_too_many(fault):
    """As the second bias of an LSTM."""
    last = fault.graph["parameters"][-1]
    fault.added[last["name"] + "_2"] = numpy.zeros(last["shape"], numpy.float32)


@on_networks("a tensor too few")
def tensor_too_few(fault):
    fault.hidden.add(fault.graph["parameters"][0]["name"])


@behaves("learning rate's change ignored")
class DeafToRate(Faulty):
    def set_learning_rate(self, value):
        pass


@behaves("learning rate's change one step late")
class LateRate(Faulty):
    waiting = None

    def set_learning_rate(self, value):
        self.waiting = value

    def step(self, index):
        self.adapter.step(index)
        if self.waiting is not None:
            self.adapter.synchronize()
            self.adapter.set_learning_rate(self.waiting)
            self.waiting = None


@behaves("batch of the step before")
class StaleBatch(Faulty):
    def step(self, index):
        self.adapter.step(max(index - 1, 0))


@behaves("always the first batch")
class SameBatch(Faulty):
    def step(self, index):
        self.adapter.step(0)


@behaves("parameters of before the last update")
class EarlyParameters(Faulty):
    """As an adapter that does not wait for its updates."""

    early = None

    def step(self, index):
        self.early = super(EarlyParameters, self).parameters()
        self.adapter.step(index)

    def parameters(self):
        return super(EarlyParameters, self).parameters() if self.early is None else self.early


@behaves("buffers of before the last update")
class EarlyBuffers(Faulty):
    early = None

    def step(self, index):
        self.early = super(EarlyBuffers, self).buffers()
        self.adapter.step(index)

    def buffers(self):
        return super(EarlyBuffers, self).buffers() if self.early is None else self.early


@behaves("last step left out")
class OneStepLess(Faulty):
    def step(self, index):
        if index < 4:
            self.adapter.step(index)


@behaves("logits in float16")
class HalfLogits(Faulty):
    def logits(self):
        return self.adapter.logits().astype(numpy.float16).astype(numpy.float32)


@behaves("loss summed over the batch")
class SummedLoss(Faulty):
    def loss(self):
        return self.adapter.loss() * len(self.adapter.logits())


@behaves("loss of the step before")
class EarlyLoss(Faulty):
    held = None

    def loss(self):
        now, self.held = self.adapter.loss(), self.adapter.loss() if self.held is None else self.held
        self.held, told = now, self.held
        return told


@behaves("evaluation in training mode")
class TrainedEvaluation(Faulty):
    def evaluate(self, inputs, targets):
        self.adapter.set_learning_rate(0.0)
        self.adapter.feed("evaluation", inputs, targets)
        self.adapter.step("evaluation")
        self.adapter.synchronize()
        return self.adapter.loss(), self.adapter.logits()


@behaves("evaluation of the start")
class EvaluationOfStart(Faulty):
    """As an evaluation that has its own copy of the parameters, and nobody copies them."""

    def feed(self, index, inputs, targets):
        super(EvaluationOfStart, self).feed(index, inputs, targets)
        if index == 0:
            self.first = self.adapter.evaluate(inputs, targets)

    def evaluate(self, inputs, targets):
        return self.first


@behaves("another result each time")
class Fickle(Faulty):
    """As a kernel whose result depends on chance: each adapter starts 2e-4 away from what it was given."""

    generator = numpy.random.RandomState(1)

    def build(self, graph, weights, optimizer):
        moved = {}
        for name, start in weights.items():
            noise = 2e-4 * Fickle.generator.standard_normal(start.shape)
            moved[name] = (start * (1.0 + noise)).astype(numpy.float32)
        super(Fickle, self).build(graph, moved, optimizer)
        self.start = {name: array.copy() for name, array in weights.items()}


def honest_noise(fault, draw):
    """Disturb every weight and input by one unit in the last place, up or down: no fault, and no check may say so."""
    generator = numpy.random.RandomState(int(draw))

    def disturbed(values):
        signs = 2.0 * generator.randint(0, 2, size=values.shape) - 1.0
        return (values.astype(numpy.float64) * (1.0 + ULP * signs)).astype(numpy.float32)

    for entry in fault.graph["parameters"] + fault.graph["buffers"]:
        fault.replace(entry["name"], disturbed, lambda array: array)
    if fault.graph["input"].get("dtype", "float32") == "float32":
        fault.batch = lambda inputs, targets, index: (disturbed(inputs), targets)


enter("nothing at all", "honest", lambda graph: [("", NOWHERE)], lambda fault, place: None)
enter("one unit in the last place", "honest", lambda graph: [("", "0")], honest_noise)
