"""JAX: jax.numpy and jax.lax, automatic differentiation and SGD by hand, channels last, on the CPU or one GPU.

Source: JAX documentation, "Asynchronous dispatch" (on the CPU too: `synchronize` must block on everything that a step
makes), "Buffer donation", `jax.lax.conv_general_dilated`, `jax.lax.reduce_window`, `jax.lax.scan`,
`jax.default_matmul_precision` (a GPU's default may round to TF32). Where JAX has no layer of its own the formulas are
those of its layer library Flax (`BatchNorm`: the running variance is the biased one) and of its optimiser library Optax
(`sgd`: the learning rate stands outside the velocity).
"""

import functools
import re

import jax
import jaxlib
import numpy
from jax import lax
from jax import numpy as jnp

from worker import lowering
from worker.frameworks import KNOBS, VERSIONS, Unsupported, require, require_ops

PROCESSES = "one"
ENVIRONMENT = {"PJRT_NPROC": "{threads}"}  # of XLA's pool on the CPU; without it one for every core that it may use
EXECUTIONS = ("compiled", "eager")
REVIEWED = "not reviewed"
MOMENTUM_FORM = "outside"
RUNNING_VARIANCE = "biased"
PRECISIONS = {"cpu": ("float32",), "cuda": ("float32", "tf32")}
IMAGES = ("NHWC", "HWIO", "NHWC")  # XLA's convolutions on the CPU are faster so; on a GPU it chooses for itself


def bias_adder(op, tensors):
    """Return the function that adds the layer's bias, if it has one."""
    bias = tensors.get(op["parameters"].get("bias"))
    return (lambda x: x) if bias is None else (lambda x: x + bias)


def dense(op, tensors, shape):
    weight, add_bias = tensors[op["parameters"]["weight"]], bias_adder(op, tensors)
    # one matrix of all positions: XLA's gradient of a product with three axes takes twice as long on the CPU
    return lambda training, x: add_bias(x.reshape(-1, shape[-1]) @ weight).reshape(*x.shape[:-1], -1)


def conv2d(op, tensors, shape):
    weight, add_bias = tensors[op["parameters"]["weight"]], bias_adder(op, tensors)
    padding, settings = op["attributes"]["padding"], {"window_strides": op["attributes"]["stride"]}
    settings.update(padding=(padding[:2], padding[2:]), feature_group_count=op["attributes"]["groups"])
    settings["dimension_numbers"] = IMAGES
    return lambda training, x: add_bias(lax.conv_general_dilated(x, weight, **settings))


def window(op, shape):
    """Return (window, strides, padding) of a pooling for `lax.reduce_window`, all four axes."""
    padding, attributes = lowering.window_padding(op, shape), op["attributes"]
    return (1, *attributes["kernel"], 1), (1, *attributes["stride"], 1), ((0, 0), padding[:2], padding[2:], (0, 0))


def max_pool2d(op, tensors, shape):
    where = window(op, shape)
    return lambda training, x: lax.reduce_window(x, -jnp.inf, lax.max, *where)


def avg_pool2d(op, tensors, shape):
    where, factor = window(op, shape), lowering.window_factor(op, shape)
    share = numpy.float32(1.0 / (op["attributes"]["kernel"][0] * op["attributes"]["kernel"][1]))
    share = share if factor is None else share * factor[:, :, None]
    return lambda training, x: lax.reduce_window(x, 0.0, lax.add, *where) * share


def local_response_norm(op, tensors, shape):
    size, beta, k = op["attributes"]["size"], op["attributes"]["beta"], op["attributes"]["k"]
    share, half = op["attributes"]["alpha"] / size, (size - 1) // 2
    where = (1, 1, 1, size), (1, 1, 1, 1), ((0, 0), (0, 0), (0, 0), (half, half))
    return lambda training, x: x * (k + share * lax.reduce_window(x * x, 0.0, lax.add, *where)) ** -beta


def dropout(op, tensors, shape):
    """Draw from a key that the step hands on: JAX has no generator of its own, every process starts at key 0."""
    rate = op["attributes"]["rate"]

    def drop(training, x):
        if not training or not rate:
            return x
        tensors["key"], key = jax.random.split(tensors["key"])
        return jnp.where(jax.random.bernoulli(key, 1.0 - rate, x.shape), x / (1.0 - rate), 0.0)

    return drop


def normalized(x, mean, variance, epsilon, gamma, beta):
    return (x - mean) * (lax.rsqrt(variance + epsilon) * gamma) + beta


def batch_norm(op, tensors, shape):
    gamma, beta = (tensors[op["parameters"][role]] for role in ("gamma", "beta"))
    running = [op["buffers"][role] for role in ("running_mean", "running_variance")]
    kept, epsilon = op["attributes"]["momentum"], op["attributes"]["epsilon"]

    def normalize(training, x):
        statistics = [tensors[name] for name in running]
        if training:
            batch = x.mean(range(x.ndim - 1)), x.var(range(x.ndim - 1))
            for name, old, new in zip(running, statistics, batch):
                tensors[name] = kept * old + (1.0 - kept) * new
            statistics = batch
        return normalized(x, *statistics, epsilon, gamma, beta)

    return normalize


def layer_norm(op, tensors, shape):
    gamma, beta = (tensors[op["parameters"][role]] for role in ("gamma", "beta"))
    epsilon = op["attributes"]["epsilon"]
    return lambda training, x: normalized(x, x.mean(-1, keepdims=True), x.var(-1, keepdims=True), epsilon, gamma, beta)


def embedding(op, tensors, shape):
    weight = tensors[op["parameters"]["weight"]]
    return lambda training, x: weight[x]


def position_embedding(op, tensors, shape):
    weight = tensors[op["parameters"]["weight"]]
    return lambda training, x: x + weight


@jax.jit  # a layer is one operation when the step is not compiled: a scan of its own would be compiled in every step
def recurrence(x, weight_input, weight_hidden, bias):
    """Return the hidden states (positions, N, units) of inputs (positions, N, width).

    As in Flax, each position's input is multiplied in its turn: one product of all before the scan is slower here.
    """

    def cell(state, now):
        hidden, memory = state
        i, f, g, o = jnp.split(now @ weight_input + hidden @ weight_hidden + bias, 4, axis=-1)
        memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
        return (hidden, memory), hidden

    zeros = jnp.zeros((x.shape[1], weight_hidden.shape[0]), x.dtype)
    return lax.scan(cell, (zeros, zeros), x)[1]


def lstm(op, tensors, shape):
    held = [tensors[op["parameters"][role]] for role in ("weight_input", "weight_hidden", "bias")]
    return lambda training, x: recurrence(x.swapaxes(0, 1), *held).swapaxes(0, 1)


def attention(op, tensors, shape):
    """Written out: the gradient of `jax.nn.dot_product_attention` takes half as long again on the CPU."""
    heads, positions, causal = op["attributes"]["heads"], shape[0], op["attributes"]["causal"]
    size = shape[1] // (3 * heads)
    scale, seen = numpy.float32(size**-0.5), numpy.tri(positions, dtype=bool)

    def attend(training, x):
        queries, keys, values = x.reshape(-1, positions, 3, heads, size).transpose(2, 0, 3, 1, 4)
        scores = queries @ keys.swapaxes(2, 3) * scale
        scores = jnp.where(seen, scores, -jnp.inf) if causal else scores
        return (jax.nn.softmax(scores) @ values).swapaxes(1, 2).reshape(-1, positions, heads * size)

    return attend


def gelu(op, tensors, shape):
    approximate = op["attributes"]["approximation"] == "tanh"
    return lambda training, x: jax.nn.gelu(x, approximate)


def concat(op, tensors, shape):
    axis = op["attributes"]["axis"]
    axis = (3, 1, 2)[axis] if len(shape) == 3 else axis + 1
    return lambda training, *values: jnp.concatenate(values, axis)


def channels_first(x):
    return x.transpose(0, 3, 1, 2)


def flatten(op, tensors, shape):
    if len(shape) == 3 and op["name"] in tensors["channels first"]:
        return lambda training, x: channels_first(x).reshape(len(x), -1)
    return lambda training, x: x.reshape(len(x), -1)


def reshape(op, tensors, shape):
    to = op["attributes"]["to"]

    def put(training, x):
        x = (channels_first(x) if x.ndim == 4 else x).reshape(len(x), *to)
        return x.transpose(0, 2, 3, 1) if x.ndim == 4 else x

    return put


OPS = {
    "dense": dense,
    "conv2d": conv2d,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "global_avg_pool": lambda op, tensors, shape: lambda training, x: x.mean((1, 2)),
    "local_response_norm": local_response_norm,
    "relu": lambda op, tensors, shape: lambda training, x: jax.nn.relu(x),
    "sigmoid": lambda op, tensors, shape: lambda training, x: jax.nn.sigmoid(x),
    "tanh": lambda op, tensors, shape: lambda training, x: jnp.tanh(x),
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
    "flatten": flatten,
    "reshape": reshape,
    "softmax_cross_entropy": None,  # the loss: see cross_entropy
}


def cross_entropy(logits, targets):
    """Return the mean of -log softmax(logits)[target] over the samples, and their positions if they have any."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1).mean()


@functools.lru_cache(maxsize=None)
def cpu_threads():
    """Return how many threads XLA runs one op with on the CPU, told by its compiler: the parts of a large one."""
    shape = jax.ShapeDtypeStruct((4096, 4096), jnp.float32)
    with jax.default_device(jax.devices("cpu")[0]):
        text = jax.jit(jnp.sin).lower(shape).compile().as_text()
    parts = re.search(r'"outer_dimension_partitions":\["(\d+)"', text)
    return int(parts.group(1)) if parts else 1


class Adapter:
    """The cell's training or inference step. Raise Unsupported, with the reason, if it cannot be run here."""

    def __init__(self, cell, rank=0, ranks=1):
        cell = dict(cell, accelerator=cell.get("accelerator", "cpu"), ranks=ranks)
        require(cell, accelerator=("cpu", "cuda") if jax.default_backend() == "gpu" else ("cpu",))
        require(cell, precision=PRECISIONS[cell["accelerator"]], execution=EXECUTIONS, optimizer=("sgd",))
        require(cell, mode=("train", "infer", "gate"), feeding=("step", "resident"), devices=(1,), ranks=(1,))
        if cpu_threads() != cell["threads"]:  # its pool is made when the first array is
            reason = "threads {}: XLA was started with {}; PJRT_NPROC must be set before JAX makes its first array"
            raise Unsupported(reason.format(cell["threads"], cpu_threads()))
        precision = "tensorfloat32" if cell["precision"] == "tf32" else "highest"
        jax.config.update("jax_default_matmul_precision", precision)
        self.cell, self.device, self.batches = cell, jax.devices(cell["accelerator"])[0], {}
        self.state, self.last, self.last_targets = None, {}, None

    def versions(self):
        """Return the versions of JAX and of jaxlib, which holds XLA; CUDA's as XLA tells it."""
        cuda = re.search(r"cuda (\d+)", self.device.client.platform_version)
        known = {"jax": jax.__version__, "jaxlib": jaxlib.__version__}
        return dict(VERSIONS, cuda=cuda and cuda.group(1), **known)

    def knobs(self):
        """Return what is in force now, in the words that all adapters share."""
        on_gpu, compiled = self.cell["accelerator"] == "cuda", self.cell["execution"] == "compiled"
        known = {"device": self.device.device_kind, "layout": IMAGES[0], "threads": cpu_threads(), "autotune": on_gpu}
        known["tf32"] = on_gpu and jax.config.jax_default_matmul_precision != "highest"
        return dict(KNOBS, compiler="XLA" if compiled else None, **known)

    def build(self, graph, weights, optimizer):
        """Make the state from {name: float32 array}, and the functions that run on it."""
        require_ops(self.cell, graph, OPS)
        self.graph, (self.permuted, self.transposed) = graph, lowering.flattened_images(graph)
        self.tables = lowering.tables(graph)
        made = {name: self.place(self.from_graph(name, array)) for name, array in weights.items()}
        parameters, buffers = ([entry["name"] for entry in graph[kind]] for kind in ("parameters", "buffers"))
        self.state = {"parameters": {name: made[name] for name in parameters}}
        self.state.update(buffers={name: made[name] for name in buffers}, key=self.place(jax.random.key(0)))
        compiled = self.cell["execution"] == "compiled"
        self.evaluation = jax.jit(self.infer) if compiled else self.infer
        self.run = self.evaluation
        if self.cell["mode"] != "infer":
            self.state["velocity"] = jax.tree.map(jnp.zeros_like, self.state["parameters"])
            self.momentum, decay = optimizer["momentum"], optimizer["weight_decay"]
            self.decays = {each["name"]: decay * (each["kind"] == "weight") for each in graph["parameters"]}
            self.set_learning_rate(optimizer["learning_rate"])
            self.run = jax.jit(self.train, donate_argnums=0) if compiled else self.train

    def place(self, array):
        """Return a copy on the device: what is donated must be nobody else's."""
        return jax.device_put(jnp.array(array), self.device)

    def from_graph(self, name, array):
        """Return a parameter or buffer in JAX's layout."""
        return array if name in self.tables else lowering.to_channels_last(array, self.permuted.get(name))

    def to_graph(self, arrays):
        """Return {name: array in the graph's layout} of {name: array in JAX's}."""
        arrays, images = {name: numpy.array(array) for name, array in arrays.items()}, self.permuted
        for name in set(arrays) - self.tables:
            arrays[name] = lowering.from_channels_last(arrays[name], images.get(name))
        return arrays

    def forward(self, state, inputs, training, kept=None):
        """Return the logits and what the pass makes of the state's buffers and key; `kept` as lowering has it."""
        tensors = dict(state["parameters"], **state["buffers"])
        tensors.update({"key": state["key"], "channels first": self.transposed})
        logits = lowering.forward_pass(self.graph, OPS, tensors)(inputs, training, kept)
        return logits, {"buffers": {name: tensors[name] for name in state["buffers"]}, "key": tensors["key"]}

    def train(self, state, rate, inputs, targets):
        """The training step as a function: (the new state, loss, logits and, in the gate, gradients)."""

        def loss_of(parameters):
            logits, changed = self.forward(dict(state, parameters=parameters), inputs, True)
            return cross_entropy(logits, targets), (logits, changed)

        parameters, velocity = dict(state["parameters"]), dict(state["velocity"])
        (loss, (logits, changed)), gradients = jax.value_and_grad(loss_of, has_aux=True)(parameters)
        for name, decay in self.decays.items():
            gradient = gradients[name] + decay * parameters[name] if decay else gradients[name]
            velocity[name] = self.momentum * velocity[name] + gradient
            parameters[name] = parameters[name] - rate * velocity[name]
        result = {"loss": loss, "logits": logits}
        if self.cell["mode"] == "gate":
            result["gradients"] = gradients
        return dict(changed, parameters=parameters, velocity=velocity), result

    def infer(self, state, inputs):
        """The inference step as a function: the logits."""
        return self.forward(state, inputs, False)[0]

    def native_batch(self, inputs, targets):
        """Return copies in JAX's layout and types, still NumPy's: images channels last, classes int32."""
        inputs = inputs.transpose(0, 2, 3, 1) if inputs.ndim == 4 else inputs
        kind = numpy.float32 if inputs.dtype.kind == "f" else numpy.int32
        return numpy.array(inputs, kind, order="C"), numpy.array(targets, numpy.int32)

    def feed(self, index, inputs, targets):
        """Keep batch `index`: inputs (N, *shape), int64 targets (N,) or (N, positions); on the device if resident."""
        batch = self.native_batch(inputs, targets)
        resident = self.cell["feeding"] == "resident"
        self.batches[index] = jax.device_put(batch, self.device) if resident else batch

    def step(self, index):
        """Dispatch one step on batch `index`, its copy to the device included: a compiled function makes it itself."""
        inputs, targets = self.batches[index]
        if self.cell["execution"] == "eager":
            inputs, targets = jax.device_put((inputs, targets), self.device)
        if self.cell["mode"] == "infer":
            self.last, self.last_targets = {"logits": self.run(self.state, inputs)}, targets
        else:
            self.state, self.last = self.run(self.state, self.rate, inputs, targets)

    def synchronize(self):
        """Return only when the step is done, updated weights included: the loss alone is ready earlier."""
        jax.block_until_ready((self.state, self.last))

    def loss(self):
        if "loss" not in self.last:  # inference computes none in its step
            return float(cross_entropy(self.last["logits"], self.last_targets))
        return float(self.last["loss"])

    def logits(self):
        return numpy.array(self.last["logits"])

    def parameters(self):
        return self.to_graph(self.state["parameters"])

    def buffers(self):
        return self.to_graph(self.state["buffers"])

    def gradients(self):
        """Return the last step's gradients of the loss, weight decay not included; the step keeps them in the gate."""
        return self.to_graph(self.last["gradients"])

    def values(self, index):
        """Return {op: its value on batch `index`, float32, graph layout}, forward in training mode, op by op."""
        kept, images = {}, lowering.flattened_values(self.graph, self.transposed)
        self.forward(self.state, jax.device_put(self.batches[index][0], self.device), True, kept)
        return {name: lowering.value_from_channels_last(numpy.array(x), images.get(name)) for name, x in kept.items()}

    def set_learning_rate(self, value):
        self.rate = numpy.float32(value)  # an argument of the compiled step: another value compiles nothing

    def evaluate(self, inputs, targets):
        """Return (loss, logits) in evaluation mode."""
        inputs, targets = jax.device_put(self.native_batch(inputs, targets), self.device)
        logits = self.evaluation(self.state, inputs)
        return float(cross_entropy(logits, targets)), numpy.array(logits)

    def close(self):
        self.batches, self.state, self.last, self.run, self.evaluation = {}, None, {}, None, None
