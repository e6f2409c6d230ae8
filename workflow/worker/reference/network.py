"""A whole graph in float64: forward, backward, update."""

import numpy

from worker.reference import OPS
from worker.reference.normalization import exact_sum
from worker.reference.optimizer import Sgd

RUNNING_VARIANCES = ("biased", "unbiased")


class Context:
    """What the ops of one pass share.

    training          batch statistics and dropout, or evaluation
    targets           int64 classes, one a sample, or one a position: (batch,) or (batch, positions)
    total             the sum that batch_norm uses in training (`perturbation.Sums` disturbs it)
    loss_error        by what share all probabilities in the loss's gradient are too large: 0, but for a disturbed run
    running_variance  "biased" or "unbiased": the batch variance that enters the running one
    generator         numpy RandomState of the dropout masks
    watching          whether near ties are looked for; `smallest_gap` is then the smallest found
    """

    def __init__(self, training, targets, total, running_variance, generator, watching, loss_error=0.0):
        self.training = training
        self.targets = targets
        self.total = total
        self.running_variance = running_variance
        self.generator = generator
        self.watching = watching
        self.loss_error = loss_error
        self.smallest_gap = numpy.inf

    def watch(self, gaps, values):
        """Note the smallest gap in units of the root mean square of the values it is between."""
        if self.watching and gaps.size:
            scale = numpy.sqrt(numpy.mean(values * values))
            self.smallest_gap = min(self.smallest_gap, float(gaps.min() / scale) if scale else 0.0)


class Network:
    """The graph with weights of its own, kept in float64.

    graph      the graph (a dictionary)
    weights    {name: array} for every parameter and buffer; copied
    optimizer  the options of `optimizer.Sgd`; "running_variance" may be among them ("biased" unless it is)
    total      the sum inside batch_norm (default: exact)
    watching   look for near ties of ReLU and max pooling in training passes; see `smallest_gap`
    raises     ValueError for an op without a meaning here, a missing weight or one of another shape
    """

    def __init__(self, graph, weights, optimizer, total=exact_sum, watching=False):
        self.graph = graph
        self.parameters = collect(graph["parameters"], weights)
        self.buffers = collect(graph["buffers"], weights)
        self.optimizer = Sgd(optimizer, {each["name"]: each["kind"] for each in graph["parameters"]})
        self.running_variance = optimizer.get("running_variance", "biased")
        if self.running_variance not in RUNNING_VARIANCES:
            problem = "running_variance: {!r}: it must be 'biased' or 'unbiased'"
            raise ValueError(problem.format(self.running_variance))
        for op in graph["ops"]:
            if op["op"] not in OPS:
                raise ValueError("{}: the reference has no op {!r}".format(op["name"], op["op"]))
        self.total = total
        self.watching = watching
        self.loss_error = 0.0  # see Context
        self.generator = numpy.random.RandomState(0)
        self.smallest_gap = numpy.inf  # over all training passes: |ReLU input| or max-pool lead, in rms of its tensor
        self.values = {}  # of the last forward pass, by name
        self.logits = None
        self.input_gradient = None
        self.tape = []

    def forward(self, inputs, targets, training):
        """Return the mean loss of a batch, a float; `logits` and what `backward` needs are kept."""
        targets = numpy.asarray(targets)
        watching = self.watching and training
        forms = (self.running_variance, self.generator, watching, self.loss_error)
        context = Context(training, targets, self.total, *forms)
        inputs = numpy.asarray(inputs)
        if self.graph["input"]["dtype"] != "int64":  # classes stay what they are: they are looked up, not computed with
            inputs = inputs.astype(numpy.float64)
        values = {self.graph["input"]["value"]: inputs}
        self.tape = []
        for op in self.graph["ops"]:
            tensors = {role: self.parameters[name] for role, name in op["parameters"].items()}
            tensors.update((role, self.buffers[name]) for role, name in op["buffers"].items())
            read = [values[name] for name in op["inputs"]]
            made, backward = OPS[op["op"]](read, op["attributes"], tensors, context)
            check_shape(op, made)
            values[op["name"]] = made
            self.tape.append((op, backward))
        self.values, self.logits = values, values[self.graph["logits"]]
        self.smallest_gap = min(self.smallest_gap, context.smallest_gap)
        return float(values[self.graph["loss"]])

    def backward(self):
        """Return {parameter name: gradient of the last loss}, in the graph's order.

        `input_gradient` is kept too; it is None where the input is classes, to which there is no gradient.
        """
        to_value = {self.graph["loss"]: 1.0}
        to_parameter = {}
        for op, backward in reversed(self.tape):
            to_inputs, by_role = backward(to_value.pop(op["name"]))
            for name, gradient in zip(op["inputs"], to_inputs):
                if gradient is not None:
                    to_value[name] = to_value[name] + gradient if name in to_value else gradient
            for role, gradient in by_role.items():
                to_parameter[op["parameters"][role]] = gradient
        self.input_gradient = to_value.get(self.graph["input"]["value"])
        return {name: to_parameter[name] for name in self.parameters}

    def train(self, inputs, targets):
        """Return (loss before the step, gradients) of one training step; the parameters are updated."""
        loss = self.forward(inputs, targets, training=True)
        gradients = self.backward()
        self.optimizer.update(self.parameters, gradients)
        return loss, gradients


def collect(described, weights):
    """Return float64 copies of the weights that the graph describes, in its order."""
    collected = {}
    for tensor in described:
        name, shape = tensor["name"], tuple(tensor["shape"])
        if name not in weights:
            raise ValueError("weights: {!r} is missing".format(name))
        values = numpy.array(weights[name], dtype=numpy.float64)
        if values.shape != shape:
            raise ValueError("weights: {!r} has shape {}; the graph says {}".format(name, values.shape, shape))
        collected[name] = values
    return collected


def check_shape(op, made):
    """Raise ValueError if a value is not what the graph says: the host and the reference must agree."""
    if list(numpy.shape(made)[1:]) != op["output_shape"]:
        problem = "{}: the graph says {} without the batch, {} makes {}"
        raise ValueError(problem.format(op["name"], op["output_shape"], op["op"], list(numpy.shape(made)[1:])))
