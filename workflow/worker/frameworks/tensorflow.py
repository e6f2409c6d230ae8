"""TensorFlow: tf.nn operators in one tf.function, Keras's SGD, channels last, on the CPU; XLA compiles it on request.

Source: TensorFlow documentation, `tf.nn.conv2d` (explicit padding; "SAME" pads another side than other frameworks),
`tf.raw_ops.FusedBatchNormV3` (fused, where Keras 3's own layer is not; its running variance is the unbiased one; the
public wrapper raises epsilon to 1.001e-5), `tf.keras.optimizers.SGD` (the learning rate stands inside the velocity; its
weight_decay is decoupled from the gradient, so the decay is added to the gradient here), `tf.IndexedSlices`,
`tf.nn.local_response_normalization` (its alpha is not divided by the size), `keras.layers.LSTM` (`unroll`; on CPUs it
has no fused layer, and `tf.raw_ops.BlockLSTMV2` was slower), "Better performance with tf.function", "XLA".
"""

import keras
import numpy
import tensorflow as tf
from tensorflow.python.util import _pywrap_util_port

from worker import lowering
from worker.frameworks import KNOBS, VERSIONS, require, require_ops

PROCESSES = "one"
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "2", "KERAS_BACKEND": "tensorflow"}
EXECUTIONS = ("compiled", "eager", "xla")
REVIEWED = "not reviewed"
MOMENTUM_FORM = "inside"
RUNNING_VARIANCE = "unbiased"
COMPILERS = {"compiled": "tf.function", "eager": None, "xla": "XLA"}
LONGEST_UNROLLED = 64  # positions; a longer LSTM is a loop: tracing takes 25 ms a position, which no faster step repays


def padded(op, padding, shape, value=None):
    """Return (function that pads as the op says, padding mode for the operator after it).

    Explicit padding takes the slow path of TensorFlow's operators on the CPU: "VALID" and "SAME" where they are exactly
    this padding, else a tf.pad before "VALID", as Keras's own ResNet has it. Averages (no value) never take "SAME": it
    divides by the cells inside the image.
    """
    same = []
    for size, kernel, stride in zip(shape[1:], op["attributes"]["kernel"], op["attributes"]["stride"]):
        total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
        same += [total // 2, total - total // 2]
    if not any(padding):
        return (lambda x: x), "VALID"
    if list(padding) == same and value is not None:
        return (lambda x: x), "SAME"
    border = [[0, 0], list(padding[:2]), list(padding[2:]), [0, 0]]
    return (lambda x: tf.pad(x, border, constant_values=value or 0.0)), "VALID"


def bias_adder(op, tensors):
    """Return the function that adds the layer's bias, if it has one."""
    bias = tensors.get(op["parameters"].get("bias"))
    return (lambda x: x) if bias is None else (lambda x: tf.nn.bias_add(x, bias.value))


def dense(op, tensors, shape):
    """One product of two matrices, positions or not: what TensorFlow makes of three axes by itself is slower."""
    weight, add_bias = tensors[op["parameters"]["weight"]].value, bias_adder(op, tensors)
    if len(shape) == 1:
        return lambda training, x: add_bias(tf.matmul(x, weight))
    rows, back = (-1, shape[-1]), [-1] + op["output_shape"]
    return lambda training, x: tf.reshape(add_bias(tf.matmul(tf.reshape(x, rows), weight)), back)


def conv2d(op, tensors, shape):
    weight, add_bias = tensors[op["parameters"]["weight"]].value, bias_adder(op, tensors)
    stride, (pad, mode) = op["attributes"]["stride"], padded(op, op["attributes"]["padding"], shape, 0.0)
    return lambda training, x: add_bias(tf.nn.conv2d(pad(x), weight, stride, mode))


def max_pool2d(op, tensors, shape):
    kernel, stride = op["attributes"]["kernel"], op["attributes"]["stride"]
    pad, mode = padded(op, lowering.window_padding(op, shape), shape, -numpy.inf)
    return lambda training, x: tf.nn.max_pool2d(pad(x), kernel, stride, mode)


def avg_pool2d(op, tensors, shape):
    kernel, stride = op["attributes"]["kernel"], op["attributes"]["stride"]
    pad, factor = padded(op, lowering.window_padding(op, shape), shape)[0], lowering.window_factor(op, shape)
    if factor is None:
        return lambda training, x: tf.nn.avg_pool2d(pad(x), kernel, stride, "VALID")
    return lambda training, x: tf.nn.avg_pool2d(pad(x), kernel, stride, "VALID") * factor[:, :, None]


def local_response_norm(op, tensors, shape):
    size, beta, k = op["attributes"]["size"], op["attributes"]["beta"], op["attributes"]["k"]
    settings = {"depth_radius": size // 2, "bias": k, "alpha": op["attributes"]["alpha"] / size, "beta": beta}
    return lambda training, x: tf.nn.local_response_normalization(x, **settings)


def dropout(op, tensors, shape):
    rate = op["attributes"]["rate"]
    return lambda training, x: tf.nn.dropout(x, rate) if training and rate else x


def batch_norm(op, tensors, shape):
    gamma, beta = (tensors[op["parameters"][role]].value for role in ("gamma", "beta"))
    mean, variance = (tensors[op["buffers"][role]].value for role in ("running_mean", "running_variance"))
    share, epsilon = 1.0 - op["attributes"]["momentum"], op["attributes"]["epsilon"]

    def normalize(training, x):
        image = x if len(shape) == 3 else x[:, None, None, :]
        settings = {"epsilon": epsilon, "exponential_avg_factor": share, "is_training": training}
        y, new_mean, new_variance = tf.raw_ops.FusedBatchNormV3(
            x=image, scale=gamma, offset=beta, mean=mean, variance=variance, **settings
        )[:3]
        if training:
            mean.assign(new_mean)
            variance.assign(new_variance)
        return y if len(shape) == 3 else y[:, 0, 0, :]

    return normalize


def layer_norm(op, tensors, shape):
    gamma, beta = (tensors[op["parameters"][role]].value for role in ("gamma", "beta"))
    epsilon = op["attributes"]["epsilon"]

    def normalize(training, x):  # an eighth faster than Keras's layer, which multiplies out the mean
        centred = x - tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
        return centred * tf.math.rsqrt(variance + epsilon) * gamma + beta

    return normalize


def embedding(op, tensors, shape):
    weight = tensors[op["parameters"]["weight"]].value
    return lambda training, x: tf.nn.embedding_lookup(weight, x)


def position_embedding(op, tensors, shape):
    weight = tensors[op["parameters"]["weight"]].value
    return lambda training, x: x + weight


def recurrence(gates, weight, unrolled):
    """Return the hidden states (N, positions, units) from the inputs' share of the gates (N, positions, 4 units)."""

    def cell(share, hidden, memory):
        i, f, g, o = tf.split(share + tf.matmul(hidden, weight), 4, 1)
        memory = tf.sigmoid(f) * memory + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(memory), memory

    positions, units = gates.shape[1], weight.shape[0]
    hidden = memory = tf.zeros((tf.shape(gates)[0], units))
    if unrolled:
        states = []
        for share in tf.unstack(gates, axis=1):
            hidden, memory = cell(share, hidden, memory)
            states.append(hidden)
        return tf.stack(states, 1)

    def advance(position, hidden, memory, states):
        hidden, memory = cell(shares.read(position), hidden, memory)
        return position + 1, hidden, memory, states.write(position, hidden)

    shares = tf.TensorArray(tf.float32, positions).unstack(tf.transpose(gates, (1, 0, 2)))
    states = tf.TensorArray(tf.float32, positions, element_shape=hidden.shape)
    start, settings = (0, hidden, memory, states), {"maximum_iterations": positions}
    states = tf.while_loop(lambda position, *_: position < positions, advance, start, **settings)[3]
    return tf.transpose(states.stack(), (1, 0, 2))


def lstm(op, tensors, shape):
    roles, unrolled = ("weight_input", "weight_hidden", "bias"), shape[0] <= tensors["longest unrolled"]
    weight_input, weight_hidden, bias = (tensors[op["parameters"][role]].value for role in roles)
    rows, back = (-1, shape[1]), (-1, shape[0], 4 * op["attributes"]["units"])

    def run(training, x):
        gates = tf.nn.bias_add(tf.matmul(tf.reshape(x, rows), weight_input), bias)  # of all positions at once
        return recurrence(tf.reshape(gates, back), weight_hidden, unrolled)

    return run


def attention(op, tensors, shape):
    heads, (positions, width) = op["attributes"]["heads"], op["output_shape"]
    split, scale = (-1, positions, 3, heads, width // heads), (width // heads) ** -0.5
    mask = numpy.triu(numpy.full((positions, positions), -numpy.inf, numpy.float32), 1)  # hides what comes later

    def attend(training, x):
        queries, keys, values = tf.unstack(tf.transpose(tf.reshape(x, split), (2, 0, 3, 1, 4)))
        scores = tf.matmul(queries * scale, keys, transpose_b=True)
        scores = scores + mask if op["attributes"]["causal"] else scores
        seen = tf.matmul(tf.nn.softmax(scores), values)  # (N, heads, positions, size)
        return tf.reshape(tf.transpose(seen, (0, 2, 1, 3)), (-1, positions, width))

    return attend


def gelu(op, tensors, shape):
    approximate = op["attributes"]["approximation"] == "tanh"
    return lambda training, x: tf.nn.gelu(x, approximate)


def concat(op, tensors, shape):
    axis = op["attributes"]["axis"]
    axis = (3, 1, 2)[axis] if len(shape) == 3 else axis + 1
    return lambda training, *values: tf.concat(values, axis)


def reshape(op, tensors, shape):
    """Elements keep the graph's order, channels first; a flattened image that only dense layers read need not."""
    to = op["output_shape"]
    turned = len(shape) == 3 and (op["op"] == "reshape" or op["name"] in tensors["channels first"])

    def put(training, x):
        y = tf.reshape(tf.transpose(x, (0, 3, 1, 2)) if turned else x, [-1] + to)
        return tf.transpose(y, (0, 2, 3, 1)) if len(to) == 3 else y

    return put


OPS = {
    "dense": dense,
    "conv2d": conv2d,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "global_avg_pool": lambda op, tensors, shape: lambda training, x: tf.reduce_mean(x, (1, 2)),
    "local_response_norm": local_response_norm,
    "relu": lambda op, tensors, shape: lambda training, x: tf.nn.relu(x),
    "sigmoid": lambda op, tensors, shape: lambda training, x: tf.sigmoid(x),
    "tanh": lambda op, tensors, shape: lambda training, x: tf.tanh(x),
    "gelu": gelu,
    "dropout": dropout,
    "batch_norm": batch_norm,
    "layer_norm": layer_norm,
    "embedding": embedding,
    "position_embedding": position_embedding,
    "lstm": lstm,
    "attention": attention,
    "add": lambda op, tensors, shape: lambda training, x, y: x + y,
    "multiply": lambda op, tensors, shape: lambda training, x, y: x * y,
    "concat": concat,
    "flatten": reshape,
    "reshape": reshape,
    "softmax_cross_entropy": None,  # the loss: see Adapter.build
}


class Adapter:
    """The cell's training or inference step. Raise Unsupported, with the reason, if it cannot be run here."""

    def __init__(self, cell, rank=0, ranks=1):
        cell = dict(cell, accelerator=cell.get("accelerator", "cpu"), ranks=ranks)
        require(cell, accelerator=("cpu",), precision=("float32",), execution=EXECUTIONS, optimizer=("sgd",))
        require(cell, mode=("train", "infer", "gate"), feeding=("step", "resident"), devices=(1,), ranks=(1,))
        self.cell, threading = cell, tf.config.threading
        if threading.get_intra_op_parallelism_threads() != cell["threads"]:  # may be set until the first operation
            threading.set_intra_op_parallelism_threads(cell["threads"])
            threading.set_inter_op_parallelism_threads(cell["threads"])
        self.batches, self.last, self.last_targets = {}, {}, None

    def versions(self):
        """Return the versions of TensorFlow and Keras; it does not tell those of Eigen and oneDNN inside it."""
        return dict(VERSIONS, tensorflow=tf.__version__, keras=keras.__version__)

    def knobs(self):
        """Return what is in force now, in the words that all adapters share."""
        threading, compiler = tf.config.threading, COMPILERS[self.cell["execution"]]
        known = {"device": "cpu", "layout": "NHWC", "tf32": False, "autotune": False, "compiler": compiler}
        known["threads"] = threading.get_intra_op_parallelism_threads()
        known["interop_threads"] = threading.get_inter_op_parallelism_threads()
        return dict(KNOBS, blas="Eigen", onednn=bool(_pywrap_util_port.IsMklEnabled()), **known)

    def build(self, graph, weights, optimizer):
        """Make the variables from {name: float32 array}, the optimiser and the step."""
        require_ops(self.cell, graph, OPS)
        self.graph, (self.permuted, transposed) = graph, lowering.flattened_images(graph)
        self.transposed, self.tables, self.variables = transposed, lowering.tables(graph), {}
        for entry in graph["parameters"] + graph["buffers"]:
            array = weights[entry["name"]]
            if entry["name"] not in self.tables:
                array = lowering.to_channels_last(array, self.permuted.get(entry["name"]))
            self.variables[entry["name"]] = keras.Variable(array, dtype="float32", trainable="kind" in entry)
        longest = 0 if self.cell["execution"] == "xla" else LONGEST_UNROLLED  # XLA compiles a loop faster
        tensors = dict(self.variables, **{"channels first": transposed, "longest unrolled": longest})
        self.forward = lowering.forward_pass(graph, OPS, tensors)
        step = self.infer if self.cell["mode"] == "infer" else self.train
        if step == self.train:
            self.make_optimizer(graph, optimizer)
        xla = self.cell["execution"] == "xla" or None  # None leaves the rest to TensorFlow
        self.run = step if self.cell["execution"] == "eager" else tf.function(step, autograph=False, jit_compile=xla)

    def make_optimizer(self, graph, optimizer):
        """Make Keras's SGD, built for the trained variables in the graph's order."""
        self.trained = [self.variables[parameter["name"]] for parameter in graph["parameters"]]
        decay = optimizer["weight_decay"]
        self.decays = [decay if parameter["kind"] == "weight" else 0.0 for parameter in graph["parameters"]]
        self.optimizer = keras.optimizers.SGD(optimizer["learning_rate"], momentum=float(optimizer["momentum"]))
        self.optimizer.build(self.trained)

    def train(self, inputs, targets):
        """The training step: losses, logits, in the gate gradients, and a scalar that waits for every update."""
        values = [variable.value for variable in self.trained]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(values)
            logits = self.forward(inputs, True)
            loss = self.mean_loss(targets, logits)
        gradients = [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, values)]  # an embedding's too
        decayed = [g + decay * value if decay else g for g, decay, value in zip(gradients, self.decays, values)]
        self.optimizer.apply(decayed, self.trained)
        with tf.control_dependencies([variable.value.read_value() for variable in self.variables.values()]):
            result = {"loss": loss, "logits": logits, "updated": tf.identity(loss)}
        return dict(result, gradients=gradients) if self.cell["mode"] == "gate" else result

    def infer(self, inputs, targets):
        """The inference step: logits, and a scalar of them to wait for."""
        logits = self.forward(inputs, False)
        return {"logits": logits, "one": tf.reshape(logits, (-1,))[0]}

    @staticmethod
    def mean_loss(targets, logits):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))

    def arrays(self, tensors):
        """Return {name: array in the graph's layout} of {name: tensor in TensorFlow's}."""
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        for name in set(arrays) - self.tables:
            arrays[name] = lowering.from_channels_last(arrays[name], self.permuted.get(name))
        return arrays

    def native_inputs(self, inputs):
        return numpy.array(inputs.transpose(0, 2, 3, 1) if inputs.ndim == 4 else inputs, order="C")

    def feed(self, index, inputs, targets):
        """Keep batch `index`, inputs (N, *shape), targets int64 (N,) or (N, positions); as tensors if resident."""
        batch = self.native_inputs(inputs), numpy.array(targets)
        self.batches[index] = tuple(map(tf.constant, batch)) if self.cell["feeding"] == "resident" else batch

    def step(self, index):
        """Run one step on batch `index`, its way from NumPy into TensorFlow included unless it is resident."""
        batch = self.batches[index]
        batch = tuple(map(tf.constant, batch)) if self.cell["feeding"] == "step" else batch
        self.last, self.last_targets = self.run(*batch), batch[1]

    def synchronize(self):
        """Read the loss and the scalar that waits for the updates; the loss alone may be ready earlier."""
        for name in ("one",) if self.cell["mode"] == "infer" else ("loss", "updated"):
            self.last[name].numpy()

    def loss(self):
        if "loss" not in self.last:  # inference computes none in its step
            return float(self.mean_loss(self.last_targets, self.last["logits"]))
        return float(self.last["loss"].numpy())

    def logits(self):
        return self.last["logits"].numpy()

    def parameters(self):
        return self.arrays({entry["name"]: self.variables[entry["name"]] for entry in self.graph["parameters"]})

    def buffers(self):
        return self.arrays({entry["name"]: self.variables[entry["name"]] for entry in self.graph["buffers"]})

    def gradients(self):
        """Return the last step's gradients of the loss, weight decay not included; the step keeps them in the gate."""
        names = [entry["name"] for entry in self.graph["parameters"]]
        return self.arrays(dict(zip(names, self.last["gradients"])))

    def values(self, index):
        """Return {op: its value on batch `index`, float32, graph layout}, forward in training mode, op by op."""
        kept, images = {}, lowering.flattened_values(self.graph, self.transposed)
        self.forward(tf.constant(self.batches[index][0]), True, kept)
        return {name: lowering.value_from_channels_last(x.numpy(), images.get(name)) for name, x in kept.items()}

    def set_learning_rate(self, value):
        self.optimizer.learning_rate = value

    def evaluate(self, inputs, targets):
        """Return (loss, logits) in evaluation mode."""
        logits = self.forward(tf.constant(self.native_inputs(inputs)), False)
        return float(self.mean_loss(tf.constant(targets), logits)), logits.numpy()

    def close(self):
        self.batches, self.last, self.variables, self.run, self.forward = {}, {}, {}, None, None
