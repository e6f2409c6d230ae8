"""Apache MXNet 1.x: one hybridized Gluon block and gluon.Trainer with SGD, on the CPU.

Source: MXNet 1.9 documentation, `gluon.HybridBlock.hybridize` (static_alloc, static_shape), `mxnet.optimizer.SGD` (the
learning rate stands inside the momentum), `BatchNorm` (fix_gamma and eps have unusual defaults; the running variance
is the biased one), `Pooling` (its "full" convention rounds up unlike others), `RNN` (one vector of all parameters, two
biases, positions before samples), `LRN` (divides alpha by its size; what is wrong with its gradient is seen in MXNet's
source, src/operator/nn/mkldnn/mkldnn_lrn-inl.h), `LeakyReLU` (its gelu is the one with erf), "Asynchronous execution"
(why `synchronize` waits for everything). The arithmetic is oneDNN's and OpenBLAS's.
"""

import ctypes
import math

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


# Layers on vectors, and at each position of a sequence alike.


def weight_and_bias(op, tensors):
    """Return ([weight, bias] or [weight], whether there is no bias) of a dense or convolutional layer."""
    roles = [role for role in ("weight", "bias") if role in op["parameters"]]
    return [tensors[op["parameters"][role]] for role in roles], len(roles) == 1


def dense(F, op, shape, tensors, x):
    weights, no_bias = weight_and_bias(op, tensors)
    return F.FullyConnected(x, *weights, num_hidden=op["attributes"]["units"], no_bias=no_bias, flatten=False)


def layer_norm(F, op, shape, tensors, x):
    gamma, beta = tensors[op["parameters"]["gamma"]], tensors[op["parameters"]["beta"]]
    return F.LayerNorm(x, gamma, beta, axis=-1, eps=op["attributes"]["epsilon"])


def batch_norm(F, op, shape, tensors, x):
    roles = dict(op["parameters"], **op["buffers"])
    inputs = [tensors[roles[role]] for role in ("gamma", "beta", "running_mean", "running_variance")]
    attributes = {"eps": op["attributes"]["epsilon"], "momentum": op["attributes"]["momentum"]}
    return F.BatchNorm(x, *inputs, fix_gamma=False, use_global_stats=False, axis=1, **attributes)


def dropout(F, op, shape, tensors, x):
    return F.Dropout(x, p=op["attributes"]["rate"]) if op["attributes"]["rate"] else x


def gelu(F, op, shape, tensors, x):
    """MXNet has the formula with erf; the other is x * sigmoid(2 u) for 0.5 * x * (1 + tanh(u)): fewer passes."""
    if op["attributes"]["approximation"] == "erf":
        return F.LeakyReLU(x, act_type="gelu")
    twice = 2 * math.sqrt(2 / math.pi)
    return x * F.Activation(x * (F.square(x) * (0.044715 * twice) + twice), act_type="sigmoid")


# Layers on images.


def padded(F, x, padding, value=0.0):
    """Return ((vertical, horizontal) for the operator itself, x padded as far as the operator cannot)."""
    top, bottom, left, right = padding
    if top == bottom and left == right:
        return (top, left), x
    return (0, 0), F.pad(x, mode="constant", pad_width=(0, 0, 0, 0) + tuple(padding), constant_value=value)


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
    factor = tensors.get(constant_name(op))
    return y if factor is None else F.broadcast_mul(y, factor)


def global_avg_pool(F, op, shape, tensors, x):
    return F.flatten(F.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg"))


def local_response_norm(F, op, shape, tensors, x):
    """Composed: `LRN` takes a gradient in another memory layout than its input's (oneDNN's blocks of 8 or 16 channels,
    from a convolution or pooling behind it) for one in the input's, so what it passes back is wrong; it is slower too.
    """
    size, alpha, beta, k = (op["attributes"][name] for name in ("size", "alpha", "beta", "k"))
    channels, border = shape[0], (size // 2, size // 2)
    squares = F.reshape(F.square(x), shape=(0, 1, channels, -1))  # `pad` leaves the first two axes alone
    squares = F.pad(squares, mode="constant", pad_width=(0, 0, 0, 0) + border + (0, 0))
    neighbours = [F.slice_axis(squares, axis=2, begin=first, end=first + channels) for first in range(size)]
    return x * (F.reshape(F.add_n(*neighbours), shape=(0,) + shape) * (alpha / size) + k) ** -beta


def fused_local_response_norm(F, op, shape, tensors, x):
    """MXNet's own, for inference, where it is right and many times as fast."""
    attributes = op["attributes"]
    exponents = {"alpha": attributes["alpha"], "beta": attributes["beta"]}
    return F.LRN(x, nsize=attributes["size"], knorm=attributes["k"], **exponents)


# Layers on sequences.


def embedding(F, op, shape, tensors, x):
    sizes = {"input_dim": op["attributes"]["vocabulary"], "output_dim": op["attributes"]["width"]}
    return F.Embedding(x, tensors[op["parameters"]["weight"]], **sizes)


def position_embedding(F, op, shape, tensors, x):
    return F.broadcast_add(x, F.expand_dims(tensors[op["parameters"]["weight"]], axis=0))


def lstm(F, op, shape, tensors, x):
    """The fused kernel, positions first; its second bias is a constant zero, so no gradient goes there."""
    weights = [F.reshape(tensors[op["parameters"][role]], shape=(-1,)) for role in ("weight_input", "weight_hidden")]
    packed = F.concat(*weights, tensors[op["parameters"]["bias"]], tensors[constant_name(op)], dim=0)
    units, samples = op["attributes"]["units"], 0 if F is mxnet.sym else x.shape[1]  # 0: not known when traced
    state = F.zeros((1, samples, units))
    return F.RNN(x, packed, state, state, mode="lstm", state_size=units, num_layers=1)


def attention(F, op, shape, tensors, x):
    """Two batched products around a softmax; MXNet's fused products want the heads interleaved, which is slower."""
    (positions, columns), heads = shape, op["attributes"]["heads"]
    size = columns // 3 // heads
    x = F.transpose(F.reshape(x, shape=(0, 0, 3, heads, size)), axes=(2, 0, 3, 1, 4))
    parts = F.split(F.reshape(x, shape=(3, -1, positions, size)), num_outputs=3, axis=0, squeeze_axis=True)
    scores = F.batch_dot(parts[0] * size**-0.5, parts[1], transpose_b=True)
    if op["attributes"]["causal"]:
        scores = F.broadcast_add(scores, tensors[constant_name(op)])
    x = F.reshape(F.batch_dot(F.softmax(scores), parts[2]), shape=(-1, heads, positions, size))
    return F.reshape(F.transpose(x, axes=(0, 2, 1, 3)), shape=(0, 0, -1))


def concat(F, op, shape, tensors, *values):
    return F.concat(*values, dim=op["attributes"]["axis"] + 1)


def reshape(F, op, shape, tensors, x):
    return F.reshape(x, shape=(0,) + tuple(op["attributes"]["to"]))  # 0 keeps the number of samples


OPS = {
    "dense": dense,
    "layer_norm": layer_norm,
    "batch_norm": batch_norm,
    "dropout": dropout,
    "relu": lambda F, op, shape, tensors, x: F.Activation(x, act_type="relu"),
    "sigmoid": lambda F, op, shape, tensors, x: F.Activation(x, act_type="sigmoid"),
    "tanh": lambda F, op, shape, tensors, x: F.Activation(x, act_type="tanh"),
    "gelu": gelu,
    "conv2d": conv2d,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "global_avg_pool": global_avg_pool,
    "local_response_norm": local_response_norm,
    "embedding": embedding,
    "position_embedding": position_embedding,
    "lstm": lstm,
    "attention": attention,
    "add": lambda F, op, shape, tensors, x, y: x + y,
    "multiply": lambda F, op, shape, tensors, x, y: x * y,
    "concat": concat,
    "flatten": lambda F, op, shape, tensors, x: F.flatten(x),
    "reshape": reshape,
    "softmax_cross_entropy": None,  # the loss: gluon's, see Adapter.build
}
INFERENCE_OPS = dict(OPS, local_response_norm=fused_local_response_norm)


def constant_name(op):
    """Return the name under which an op's constant stands among the network's tensors."""
    return op["name"] + ".constant"


def constant(op, shape):
    """Return what an op needs beside its parameters, float32 as they are; None for most ops."""
    if op["op"] == "avg_pool2d":
        factor = window_factor(op, shape)
        return None if factor is None else factor[None, None]
    if op["op"] == "lstm":
        return numpy.zeros(4 * op["attributes"]["units"], numpy.float32)  # the second bias
    if op["op"] == "attention" and op["attributes"]["causal"]:
        later = numpy.triu(numpy.ones((shape[0], shape[0]), bool), 1)
        return numpy.where(later, -numpy.inf, 0.0).astype(numpy.float32)[None]
    return None


def between_lstms(graph):
    """Return the names of the values from LSTM to LSTM only: they stay positions first, as the kernel has them."""
    others = [op for op in graph["ops"] if op["op"] != "lstm"]
    read = {name for op in others for name in op["inputs"]} | {graph["logits"]}
    return {op["name"] for op in graph["ops"] if op["op"] == "lstm"} - read


class Network(gluon.HybridBlock):
    """The graph as one Gluon block: its tensors are the block's parameters, under the graph's names."""

    def __init__(self, graph, weights, ops):
        super(Network, self).__init__()
        self.ops = ops
        self.graph, self.shapes, self.positions_first = graph, shapes(graph), between_lstms(graph)
        for entry in graph["parameters"] + graph["buffers"]:
            trained = "kind" in entry
            rules = {"grad_req": "write" if trained else "null", "differentiable": trained, "init": mxnet.init.Zero()}
            decay = 1.0 if entry.get("kind") == "weight" else 0.0
            parameter = self.params.get(entry["name"], shape=tuple(entry["shape"]), wd_mult=decay, **rules)
            setattr(self, entry["name"], parameter)
            parameter.initialize(ctx=mxnet.cpu())
            parameter.set_data(mxnet.nd.array(weights[entry["name"]]))
        for op in graph["ops"]:
            value = constant(op, self.shapes[op["inputs"][0]])
            if value is not None:
                setattr(self, constant_name(op), self.params.get_constant(constant_name(op), value))
                getattr(self, constant_name(op)).initialize(ctx=mxnet.cpu())

    def computed(self, F, x, tensors):
        """Return {value: array} of the input and of every op but the loss; F is mxnet.nd, or mxnet.sym when traced."""
        values = {self.graph["input"]["value"]: x}
        for op in self.graph["ops"]:
            if op["name"] != self.graph["loss"]:
                inputs = [self.turned(F, op, name, values[name]) for name in op["inputs"]]
                made = self.ops[op["op"]](F, op, self.shapes[op["inputs"][0]], tensors, *inputs)
                values[op["name"]] = self.turned(F, op, op["name"], made)
        return values

    def turned(self, F, op, name, value):
        """Return a value that an LSTM reads or makes with its first two axes swapped, unless it lies between two."""
        return F.swapaxes(value, 0, 1) if op["op"] == "lstm" and name not in self.positions_first else value

    def hybrid_forward(self, F, x, **tensors):
        """Return the logits."""
        return self.computed(F, x, tensors)[self.graph["logits"]]


def host_array(inputs):
    """Return a batch's inputs in what MXNet reads: float32, or int32 for classes: exact below 2^31 of them."""
    inputs = numpy.asarray(inputs)
    return numpy.array(inputs, dtype=numpy.float32 if inputs.dtype.kind == "f" else numpy.int32, order="C")


def device_array(values):
    """Return a copy of the values as MXNet's, in their own type."""
    return mxnet.nd.array(values, dtype=values.dtype)


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
        ops = INFERENCE_OPS if self.cell["mode"] == "infer" else OPS
        self.graph, self.network = graph, Network(graph, weights, ops)
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
        """Keep batch `index`, inputs (N, *shape) and targets (N,) or (N, positions); as NDArrays if resident."""
        batch = host_array(inputs), numpy.array(targets, dtype=numpy.float32)  # labels are floats here
        resident = self.cell["feeding"] == "resident"
        self.batches[index] = tuple(map(device_array, batch)) if resident else batch

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
        self.trainer.step(len(targets))  # divides the sum over the samples; gluon's loss is the mean over positions

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

    def values(self, index):
        """Return {op: array} of every op but the loss, forward in training mode on batch `index`, op by op."""
        with autograd.train_mode():
            found = self.op_by_op(self.batches[index][0])
        found.update((name, found[name].swapaxes(0, 1)) for name in self.network.positions_first)
        return {op["name"]: found[op["name"]].asnumpy() for op in self.graph["ops"] if op["name"] in found}

    def op_by_op(self, inputs):
        """Return {value: NDArray} of a forward pass; the compiled block stays as the steps left it."""
        tensors = {name: parameter.data() for name, parameter in self.tensors.items()}
        return self.network.computed(mxnet.nd, device_array(inputs), tensors)

    def evaluate(self, inputs, targets):
        """Return (loss, logits) in evaluation mode."""
        logits = self.op_by_op(host_array(inputs))[self.graph["logits"]]
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(logits, mxnet.nd.array(targets))
        return float(loss.asnumpy().mean(dtype=numpy.float64)), logits.asnumpy()

    def close(self):
        mxnet.nd.waitall()
        self.batches, self.tensors, self.network, self.trainer, self.smallest = {}, {}, None, None, None
