"""Apache MXNet 1.x: one hybridized Gluon block and gluon.Trainer with SGD, on the CPU.

Source: MXNet 1.9 documentation, `gluon.HybridBlock.hybridize` (static_alloc, static_shape), `mxnet.optimizer.SGD` (the
learning rate stands inside the momentum), `BatchNorm` (fix_gamma and eps have unusual defaults; the running variance
is the biased one), `Pooling` (its "full" convention rounds up unlike others), "Asynchronous execution" (why
`synchronize` waits for everything). The arithmetic is oneDNN's and OpenBLAS's.
"""

import ctypes

import mxnet
import numpy
from mxnet import autograd, gluon

from worker.frameworks import KNOBS, VERSIONS, Unsupported, require, require_ops
from worker.lowering import shapes, window_factor, window_padding

PROCESSES = "one"
ENVIRONMENT = {}
EXECUTIONS = ("compiled", "eager")
REVIEWED = "not reviewed"
MOMENTUM_FORM = "inside"
RUNNING_VARIANCE = "biased"


def padded(F, x, padding, value=0.0):
    """Return ((vertical, horizontal) for the operator itself, x padded as far as the operator cannot)."""
    top, bottom, left, right = padding
    if top == bottom and left == right:
        return (top, left), x
    return (0, 0), F.pad(x, mode="constant", pad_width=(0, 0, 0, 0) + tuple(padding), constant_value=value)


def weight_and_bias(op, tensors):
    """Return ([weight, bias] or [weight], whether there is no bias) of a dense or convolutional layer."""
    roles = [role for role in ("weight", "bias") if role in op["parameters"]]
    return [tensors[op["parameters"][role]] for role in roles], len(roles) == 1


def dense(F, op, shape, tensors, x):
    weights, no_bias = weight_and_bias(op, tensors)
    return F.FullyConnected(x, *weights, num_hidden=op["attributes"]["units"], no_bias=no_bias, flatten=False)


def conv2d(F, op, shape, tensors, x):
    (weights, no_bias), attributes = weight_and_bias(op, tensors), op["attributes"]
    pad, x = padded(F, x, attributes["padding"])
    kernel, stride = tuple(attributes["kernel"]), tuple(attributes["stride"])
    counts = {"num_filter": attributes["channels"], "num_group": attributes["groups"]}
    return F.Convolution(x, *weights, kernel=kernel, stride=stride, pad=pad, no_bias=no_bias, **counts)


def max_pool2d(F, op, shape, tensors, x):
    kernel, stride = tuple(op["attributes"]["kernel"]), tuple(op["attributes"]["stride"])
    pad, x = padded(F, x, window_padding(op, shape), -numpy.inf)
    return F.Pooling(x, kernel=kernel, stride=stride, pad=pad, pool_type="max", pooling_convention="valid")


def avg_pool2d(F, op, shape, tensors, x):
    kernel, stride = tuple(op["attributes"]["kernel"]), tuple(op["attributes"]["stride"])
    pad, x = padded(F, x, window_padding(op, shape))
    y = F.Pooling(x, kernel=kernel, stride=stride, pad=pad, pool_type="avg", count_include_pad=True)
    factor = tensors.get(factor_name(op))
    return y if factor is None else F.broadcast_mul(y, factor)


def factor_name(op):
    """Return the name under which a pooling's constant factor stands among the network's tensors."""
    return op["name"] + ".factor"


def dropout(F, op, shape, tensors, x):
    return F.Dropout(x, p=op["attributes"]["rate"]) if op["attributes"]["rate"] else x


def batch_norm(F, op, shape, tensors, x):
    roles = dict(op["parameters"], **op["buffers"])
    inputs = [tensors[roles[role]] for role in ("gamma", "beta", "running_mean", "running_variance")]
    attributes = {"eps": op["attributes"]["epsilon"], "momentum": op["attributes"]["momentum"]}
    return F.BatchNorm(x, *inputs, fix_gamma=False, use_global_stats=False, axis=1, **attributes)


def global_avg_pool(F, op, shape, tensors, x):
    return F.flatten(F.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg"))


OPS = {
    "dense": dense,
    "conv2d": conv2d,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "global_avg_pool": global_avg_pool,
    "relu": lambda F, op, shape, tensors, x: F.Activation(x, act_type="relu"),
    "sigmoid": lambda F, op, shape, tensors, x: F.Activation(x, act_type="sigmoid"),
    "tanh": lambda F, op, shape, tensors, x: F.Activation(x, act_type="tanh"),
    "dropout": dropout,
    "batch_norm": batch_norm,
    "add": lambda F, op, shape, tensors, x, y: x + y,
    "flatten": lambda F, op, shape, tensors, x: F.flatten(x),
    "softmax_cross_entropy": None,  # the loss: gluon's, see Adapter.build
}


class Network(gluon.HybridBlock):
    """The graph as one Gluon block: its tensors are the block's parameters, under the graph's names."""

    def __init__(self, graph, weights):
        super(Network, self).__init__()
        self.graph, self.shapes = graph, shapes(graph)
        for entry in graph["parameters"] + graph["buffers"]:
            trained = "kind" in entry
            rules = {"grad_req": "write" if trained else "null", "differentiable": trained, "init": mxnet.init.Zero()}
            decay = 1.0 if entry.get("kind") == "weight" else 0.0
            parameter = self.params.get(entry["name"], shape=tuple(entry["shape"]), wd_mult=decay, **rules)
            setattr(self, entry["name"], parameter)
            parameter.initialize(ctx=mxnet.cpu())
            parameter.set_data(mxnet.nd.array(weights[entry["name"]]))
        for op in graph["ops"]:
            factor = window_factor(op, self.shapes[op["inputs"][0]]) if op["op"] == "avg_pool2d" else None
            if factor is not None:
                setattr(self, factor_name(op), self.params.get_constant(factor_name(op), factor[None, None]))
                getattr(self, factor_name(op)).initialize(ctx=mxnet.cpu())

    def hybrid_forward(self, F, x, **tensors):
        """Return the logits; F is mxnet.nd, or mxnet.sym while the block is traced."""
        values = {self.graph["input"]["value"]: x}
        for op in self.graph["ops"]:
            if op["name"] != self.graph["loss"]:
                inputs = [values[name] for name in op["inputs"]]
                values[op["name"]] = OPS[op["op"]](F, op, self.shapes[op["inputs"][0]], tensors, *inputs)
        return values[self.graph["logits"]]


class Adapter:
    """The cell's training or inference step. Raise Unsupported, with the reason, if it cannot be run here."""

    def __init__(self, cell, rank=0, ranks=1):
        cell = dict(cell, accelerator=cell.get("accelerator", "cpu"), ranks=ranks)
        require(cell, accelerator=("cpu",), precision=("float32",), execution=EXECUTIONS, optimizer=("sgd",))
        require(cell, mode=("train", "infer", "gate"), feeding=("step", "resident"), devices=(1,), ranks=(1,))
        if self.threads() != cell["threads"]:  # its engine's threads read OMP_NUM_THREADS when the library is loaded
            reason = "threads {}: MXNet was started with {}; OMP_NUM_THREADS must be set before it is imported"
            raise Unsupported(reason.format(cell["threads"], self.threads()))
        self.cell, self.batches, self.last_loss, self.last_logits, self.last_targets = cell, {}, None, None, None

    @staticmethod
    def threads():
        return int(mxnet.base._LIB.omp_get_max_threads())

    def versions(self):
        """Return the versions of MXNet and of its BLAS; it does not tell that of the oneDNN inside it."""
        tell = mxnet.base._LIB.openblas_get_config
        tell.restype = ctypes.c_char_p
        return dict(VERSIONS, mxnet=mxnet.__version__, blas=tell().decode("ascii").strip())

    def knobs(self):
        """Return what is in force now, in the words that all adapters share."""
        compiler = "hybridize" if self.cell["execution"] == "compiled" else None
        onednn = bool(mxnet.runtime.Features().is_enabled("MKLDNN"))
        known = {"device": "cpu", "layout": "NCHW", "tf32": False, "autotune": False, "compiler": compiler}
        return dict(KNOBS, threads=self.threads(), blas=self.versions()["blas"], onednn=onednn, **known)

    def build(self, graph, weights, optimizer):
        """Make the network from {name: float32 array}, its loss and its trainer."""
        require_ops(self.cell, graph, OPS)
        self.graph, self.network = graph, Network(graph, weights)
        self.loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
        if self.cell["execution"] == "compiled":
            self.network.hybridize(static_alloc=True, static_shape=True)
            self.loss_function.hybridize(static_alloc=True, static_shape=True)
        prefix = len(self.network.prefix)
        self.tensors = {name[prefix:]: tensor for name, tensor in self.network.collect_params().items()}
        if self.cell["mode"] != "infer":
            settings = {"learning_rate": optimizer["learning_rate"], "momentum": optimizer["momentum"]}
            settings["wd"] = optimizer["weight_decay"]  # times wd_mult, which only weights have
            self.trainer = gluon.Trainer(self.network.collect_params(), "sgd", settings, kvstore=None)
        smallest = min(graph["parameters"], key=lambda parameter: numpy.prod(parameter["shape"]))
        self.smallest = self.tensors[smallest["name"]]

    def feed(self, index, inputs, targets):
        """Keep batch `index`, inputs float32 (N, *shape) and targets int64 (N,); as NDArrays if resident."""
        batch = numpy.array(inputs, order="C"), numpy.array(targets, dtype=numpy.float32)  # labels are floats here
        resident = self.cell["feeding"] == "resident"
        self.batches[index] = tuple(map(mxnet.nd.array, batch)) if resident else batch

    def step(self, index):
        """Queue one step on batch `index`, its way from NumPy into MXNet included unless it is resident."""
        inputs, targets = self.batches[index]
        if self.cell["feeding"] == "step":
            inputs, targets = mxnet.nd.from_numpy(inputs), mxnet.nd.from_numpy(targets)  # faster than a copy
        self.last_targets, self.last_loss = targets, None
        if self.cell["mode"] == "infer":
            self.last_logits = self.network(inputs)
            return
        with autograd.record():
            self.last_logits = self.network(inputs)
            self.last_loss = self.loss_function(self.last_logits, targets)
        self.last_loss.backward()
        self.trainer.step(len(targets))  # divides the summed gradients

    def synchronize(self):
        """Wait for all that is queued, then for results one by one: waitall alone can swallow an error."""
        mxnet.nd.waitall()
        if self.last_logits is not None:
            (self.last_logits if self.last_loss is None else self.last_loss).wait_to_read()
        self.smallest.data().wait_to_read()

    def loss(self):
        loss = self.last_loss
        if loss is None:  # inference computes none in its step
            loss = self.loss_function(self.last_logits, self.last_targets)
        return float(loss.asnumpy().mean(dtype=numpy.float64))

    def logits(self):
        return self.last_logits.asnumpy()

    def arrays(self, kind):
        return {entry["name"]: self.tensors[entry["name"]].data().asnumpy() for entry in self.graph[kind]}

    def parameters(self):
        return self.arrays("parameters")

    def buffers(self):
        return self.arrays("buffers")

    def gradients(self):
        """Return the last step's gradients of the mean loss, weight decay not included."""
        samples, names = len(self.last_targets), [entry["name"] for entry in self.graph["parameters"]]
        return {name: self.tensors[name].grad().asnumpy() / numpy.float32(samples) for name in names}

    def set_learning_rate(self, value):
        self.trainer.set_learning_rate(value)

    def evaluate(self, inputs, targets):
        """Return (loss, logits) in evaluation mode, op by op: the compiled block stays as the steps left it."""
        tensors = {name: parameter.data() for name, parameter in self.tensors.items()}
        logits = self.network.hybrid_forward(mxnet.nd, mxnet.nd.array(inputs), **tensors)
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(logits, mxnet.nd.array(targets))
        return float(loss.asnumpy().mean(dtype=numpy.float64)), logits.asnumpy()

    def close(self):
        mxnet.nd.waitall()
        self.batches, self.tensors, self.network, self.trainer, self.smallest = {}, {}, None, None, None
