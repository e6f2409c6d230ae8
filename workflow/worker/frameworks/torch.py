"""PyTorch: functional operators, autograd and torch.optim.SGD, on the CPU or one CUDA GPU.

Source: PyTorch documentation, `torch.nn.functional`, `torch.optim.SGD` (its note on momentum: the learning rate stands
outside the velocity), `torch.nn.BatchNorm2d` (the running variance is the unbiased one), `torch.nn.LSTM` (gate order,
two biases; its `torch.lstm` is the fused kernel: oneDNN's on the CPU, cuDNN's on the GPU), `torch.library` (operators
that torch.compile takes as they are), "Channels Last Memory Format" (oneDNN's convolutions prefer it), "CUDA semantics"
(TF32; GPU work is asynchronous, so `synchronize` must wait).
"""

import re
from typing import List, Tuple

import numpy
import torch
from torch.nn import functional

from worker.frameworks import KNOBS, VERSIONS, Unsupported, require, require_ops
from worker.lowering import forward_pass, window_factor, window_padding

PROCESSES = "one"
ENVIRONMENT = {}
EXECUTIONS = ("eager", "compiled")
REVIEWED = "not reviewed"
MOMENTUM_FORM = "outside"
RUNNING_VARIANCE = "unbiased"
PRECISIONS = {"cpu": ("float32",), "cuda": ("float32", "tf32")}


# Layers on vectors, and at each position of a sequence alike.


def dense(op, tensors, shape):
    weight, bias = tensors[op["parameters"]["weight"]], tensors.get(op["parameters"].get("bias"))
    return lambda training, x: functional.linear(x, weight, bias)


def layer_norm(op, tensors, shape):
    gamma, beta = tensors[op["parameters"]["gamma"]], tensors[op["parameters"]["beta"]]
    width, epsilon = shape[-1:], op["attributes"]["epsilon"]
    return lambda training, x: functional.layer_norm(x, width, gamma, beta, epsilon)


def batch_norm(op, tensors, shape):
    gamma, beta = tensors[op["parameters"]["gamma"]], tensors[op["parameters"]["beta"]]
    mean, variance = tensors[op["buffers"]["running_mean"]], tensors[op["buffers"]["running_variance"]]
    share, epsilon = 1.0 - op["attributes"]["momentum"], op["attributes"]["epsilon"]  # torch: the new batch's share
    return lambda training, x: functional.batch_norm(x, mean, variance, gamma, beta, training, share, epsilon)


def dropout(op, tensors, shape):
    rate = op["attributes"]["rate"]
    return lambda training, x: functional.dropout(x, rate, training)


def gelu(op, tensors, shape):
    formula = {"erf": "none", "tanh": "tanh"}[op["attributes"]["approximation"]]
    return lambda training, x: functional.gelu(x, approximate=formula)


# Layers on images.


def sides(padding):
    """Return (top, bottom, left, right) in the order of `functional.pad`: last axis first."""
    return padding[2], padding[3], padding[0], padding[1]


def conv2d(op, tensors, shape):
    weight, bias = tensors[op["parameters"]["weight"]], tensors.get(op["parameters"].get("bias"))
    stride, groups, padding = op["attributes"]["stride"], op["attributes"]["groups"], op["attributes"]["padding"]
    if padding[0] == padding[1] and padding[2] == padding[3]:
        both = padding[::2]
        return lambda training, x: functional.conv2d(x, weight, bias, stride, both, groups=groups)
    border = sides(padding)
    return lambda training, x: functional.conv2d(functional.pad(x, border), weight, bias, stride, groups=groups)


def own_padding(attributes):
    """Return (vertical, horizontal) if torch's pooling can pad so by itself, else None."""
    (top, bottom, left, right), kernel = attributes["padding"], attributes["kernel"]
    return (top, left) if top == bottom <= kernel[0] // 2 and left == right <= kernel[1] // 2 else None


def max_pool2d(op, tensors, shape):
    kernel, stride, both = op["attributes"]["kernel"], op["attributes"]["stride"], own_padding(op["attributes"])
    if both:
        ceil = op["attributes"]["rounding"] == "ceil"
        return lambda training, x: functional.max_pool2d(x, kernel, stride, both, ceil_mode=ceil)
    border = sides(window_padding(op, shape))
    return lambda training, x: functional.max_pool2d(functional.pad(x, border, value=-numpy.inf), kernel, stride)


def avg_pool2d(op, tensors, shape):
    kernel, stride, both = op["attributes"]["kernel"], op["attributes"]["stride"], own_padding(op["attributes"])
    if both:
        ceil, count = op["attributes"]["rounding"] == "ceil", op["attributes"]["count_padding"]
        return lambda training, x: functional.avg_pool2d(x, kernel, stride, both, ceil, count)
    border, factor = sides(window_padding(op, shape)), window_factor(op, shape)
    factor = torch.tensor(1.0 if factor is None else factor, device=tensors["device"])
    return lambda training, x: functional.avg_pool2d(functional.pad(x, border), kernel, stride) * factor


def local_response_norm(op, tensors, shape):
    size, alpha, beta, k = (op["attributes"][name] for name in ("size", "alpha", "beta", "k"))
    return lambda training, x: functional.local_response_norm(x, size, alpha, beta, k)


# Layers on sequences.


def embedding(op, tensors, shape):
    weight = tensors[op["parameters"]["weight"]]
    return lambda training, x: functional.embedding(x, weight)


def position_embedding(op, tensors, shape):
    weight = tensors[op["parameters"]["weight"]]
    return lambda training, x: x + weight


def attention(op, tensors, shape):
    heads, causal = op["attributes"]["heads"], op["attributes"]["causal"]

    def attend(training, x):
        parts = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in x.chunk(3, dim=2))
        return functional.scaled_dot_product_attention(*parts, is_causal=causal).transpose(1, 2).flatten(2)

    return attend


def lstm(op, tensors, shape):
    """torch's kernels have a second bias; it is a constant zero here."""
    weights = [tensors[op["parameters"][role]] for role in ("weight_input", "weight_hidden", "bias")]
    weights.append(torch.zeros_like(weights[-1], requires_grad=False))
    units, onednn = op["attributes"]["units"], torch.backends.mkldnn.is_available() and not weights[0].is_cuda
    if weights[0].is_cuda:  # in one piece of memory, as nn.LSTM keeps them, or cuDNN's call copies them each time
        with torch.no_grad():
            torch._cudnn_rnn_flatten_weight(weights, 4, shape[1], LSTM_MODE, units, 0, 1, True, False)

    def run(training, x):
        if training and onednn and torch.compiler.is_compiling():
            return trained_lstm(x.transpose(0, 1).contiguous(), *weights)[0].transpose(0, 1)
        state = x.new_zeros(1, len(x), units)
        return torch.lstm(x, (state, state), weights, True, 1, 0.0, training, False, True)[0]

    return run


# Where an LSTM is trained, torch.compile unrolls torch.lstm over its positions: for 32 of them it compiles two minutes.
# So there the kernel that torch.lstm uses on the CPU is an operator of its own, which torch.compile takes as it is.
LSTM_MODE = 2  # torch's number for it among its recurrent kernels


@torch.library.custom_op("levelfield::trained_lstm", mutates_args=())
def trained_lstm(
    x: torch.Tensor, weight_input: torch.Tensor, weight_hidden: torch.Tensor, bias: torch.Tensor, zeros: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (hidden states, last cell state, oneDNN's workspace) of x (positions, N, width)."""
    units = weight_hidden.shape[1]
    state = x.new_zeros(x.shape[1], units)
    how = (False, [], LSTM_MODE, units, 1, True, False, False, True)
    with torch.enable_grad():  # or there is no workspace
        made = torch.mkldnn_rnn_layer(x, weight_input, weight_hidden, bias, zeros, state, state, *how)
    return made[0], made[2], made[3]


@trained_lstm.register_fake
def trained_lstm_shapes(x, weight_input, weight_hidden, bias, zeros):
    units = weight_hidden.shape[1]
    workspace = x.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.uint8)  # only oneDNN knows its size
    return x.new_empty(x.shape[0], x.shape[1], units), x.new_empty(x.shape[1], units), workspace


@torch.library.custom_op("levelfield::trained_lstm_backward", mutates_args=())
def trained_lstm_backward(gradient: torch.Tensor, saved: List[torch.Tensor]) -> List[torch.Tensor]:
    """Return the gradients of x, weight_input, weight_hidden and bias; `saved` is what trained_lstm read and made."""
    x, weight_input, weight_hidden, bias, zeros, states, cell, workspace = saved
    units = weight_hidden.shape[1]
    state = x.new_zeros(x.shape[1], units)
    made = (states, states[-1], cell, gradient, None, None)
    how = (False, LSTM_MODE, units, 1, True, True, False, [], False, workspace)
    read = (x, weight_input, weight_hidden, bias, zeros, state, state)
    return list(torch.ops.aten.mkldnn_rnn_layer_backward(*read, *made, *how)[:4])


trained_lstm_backward.register_fake(lambda gradient, saved: [torch.empty_like(tensor) for tensor in saved[:4]])
trained_lstm.register_autograd(
    lambda ctx, gradient, *_: (*trained_lstm_backward(gradient.contiguous(), list(ctx.saved_tensors)), None),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs, *output),
)

# Ops that put elements elsewhere.


def concat(op, tensors, shape):
    axis = op["attributes"]["axis"] + 1
    return lambda training, *values: torch.cat(values, axis)


def reshape(op, tensors, shape):
    to = op["attributes"]["to"]
    return lambda training, x: x.reshape(len(x), *to)  # by the order of the axes, whatever the memory format


OPS = {
    "dense": dense,
    "layer_norm": layer_norm,
    "batch_norm": batch_norm,
    "dropout": dropout,
    "relu": lambda op, tensors, shape: lambda training, x: functional.relu(x),
    "sigmoid": lambda op, tensors, shape: lambda training, x: torch.sigmoid(x),
    "tanh": lambda op, tensors, shape: lambda training, x: torch.tanh(x),
    "gelu": gelu,
    "conv2d": conv2d,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "global_avg_pool": lambda op, tensors, shape: lambda training, x: x.mean((2, 3)),
    "local_response_norm": local_response_norm,
    "embedding": embedding,
    "position_embedding": position_embedding,
    "attention": attention,
    "lstm": lstm,
    "add": lambda op, tensors, shape: lambda training, x, y: x + y,
    "multiply": lambda op, tensors, shape: lambda training, x, y: x * y,
    "concat": concat,
    "flatten": lambda op, tensors, shape: lambda training, x: x.flatten(1),
    "reshape": reshape,
    "softmax_cross_entropy": None,  # the loss: see `cross_entropy`
}


def cross_entropy(logits, targets):
    """Return the mean over the samples, and their positions where they have any."""
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten())


def array(tensor):
    """Return a copy of a tensor as NumPy's, in the graph's layout."""
    return numpy.array(tensor.detach().cpu().numpy(), order="C")


class Adapter:
    """The cell's training or inference step. Raise Unsupported, with the reason, if it cannot be run here."""

    def __init__(self, cell, rank=0, ranks=1):
        cell = dict(cell, accelerator=cell.get("accelerator", "cpu"), ranks=ranks)
        require(cell, accelerator=("cpu", "cuda") if torch.cuda.is_available() else ("cpu",))
        require(cell, precision=PRECISIONS[cell["accelerator"]], execution=EXECUTIONS, optimizer=("sgd",))
        require(cell, mode=("train", "infer", "gate"), feeding=("step", "resident"), devices=(1,), ranks=(1,))
        self.cell, self.device = cell, torch.device(cell["accelerator"])
        torch.set_num_threads(cell["threads"])
        if torch.get_num_interop_threads() != cell["threads"]:  # may be set once in a process
            torch.set_num_interop_threads(cell["threads"])
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = cell["precision"] == "tf32"
        torch.backends.cudnn.benchmark = True  # shapes do not change: let cuDNN try its algorithms once
        self.batches, self.last_loss, self.last_logits, self.last_targets = {}, None, None, None

    def versions(self):
        """Return what PyTorch is built with, by name; None for what this build lacks."""
        config = torch.__config__.show()
        found = [re.search(pattern, config) for pattern in (r"Math Kernel Library Version (\S+)", r"MKL-DNN v(\S+)")]
        blas, onednn = (match and match.group(1) for match in found)
        blas = blas and "MKL " + blas
        cudnn = torch.backends.cudnn.version() if torch.version.cuda else None
        known = {"blas": blas, "onednn": onednn, "cuda": torch.version.cuda, "cudnn": cudnn and str(cudnn)}
        return dict(VERSIONS, torch=torch.__version__, **known)

    def knobs(self):
        """Return what is in force now, in the words that all adapters share."""
        on_gpu, onednn = self.device.type == "cuda", torch.backends.mkldnn
        known = {
            "device": torch.cuda.get_device_name(self.device) if on_gpu else "cpu",
            "layout": "NHWC" if self.memory_format is torch.channels_last else "NCHW",
            "threads": torch.get_num_threads(),
            "interop_threads": torch.get_num_interop_threads(),
            "tf32": on_gpu and torch.backends.cuda.matmul.allow_tf32,
            "autotune": on_gpu and torch.backends.cudnn.benchmark,
            "compiler": "inductor" if self.cell["execution"] == "compiled" else None,
            "blas": self.versions()["blas"],
            "onednn": onednn.is_available() and onednn.enabled,
            "deterministic": torch.are_deterministic_algorithms_enabled(),
        }
        return dict(KNOBS, **known)

    def build(self, graph, weights, optimizer):
        """Make the parameters and buffers from {name: float32 array}, the forward pass and the optimiser."""
        require_ops(self.cell, graph, OPS)
        self.graph, images = graph, len(graph["input"]["shape"]) == 3
        channels_last = images and self.device.type == "cpu"  # oneDNN gains from it, cuDNN in float32 need not
        self.memory_format = torch.channels_last if channels_last else torch.contiguous_format
        tensors = {name: self.place(torch.tensor(array)) for name, array in weights.items()}
        for parameter in graph["parameters"]:
            tensors[parameter["name"]].requires_grad_(self.cell["mode"] != "infer")
        self.tensors = dict(tensors)
        tensors["device"] = self.device
        forward = forward_pass(graph, OPS, tensors)
        self.forward = self.eager = forward
        if self.cell["execution"] == "compiled":
            self.forward = torch.compile(forward, fullgraph=True, dynamic=False)
        if self.cell["mode"] != "infer":
            self.optimizer = self.make_optimizer(graph, optimizer)

    def make_optimizer(self, graph, optimizer):
        """Return torch's SGD; weight decay, where there is any, touches only the parameters of kind weight."""
        decay, groups = optimizer["weight_decay"], {}
        for parameter in graph["parameters"]:
            decayed = decay if parameter["kind"] == "weight" else 0.0
            groups.setdefault(decayed, []).append(self.tensors[parameter["name"]])
        groups = [{"params": members, "weight_decay": decayed} for decayed, members in groups.items()]
        return torch.optim.SGD(groups, lr=optimizer["learning_rate"], momentum=optimizer["momentum"], fused=True)

    def place(self, tensor):
        """Return a host tensor on the device, images and their kernels in the memory format in use."""
        if tensor.dim() == 4:
            tensor = tensor.to(memory_format=self.memory_format)  # contiguous() leaves one channel as it was
        return tensor.to(self.device)

    def feed(self, index, inputs, targets):
        """Keep batch `index`, inputs (N, *shape) and targets (N,) or (N, positions); on the device if resident."""
        inputs, targets = torch.tensor(inputs), torch.tensor(targets)
        if inputs.dim() == 4:
            inputs = inputs.to(memory_format=self.memory_format)
        if self.cell["feeding"] == "resident":
            inputs, targets = inputs.to(self.device), targets.to(self.device)
        self.batches[index] = inputs, targets

    def step(self, index):
        """Run one step on batch `index`, its copy to the device included; the first one compiles."""
        inputs, targets = self.batches[index]
        try:
            self.run(inputs.to(self.device), targets.to(self.device))  # nothing to copy on the CPU
        except RuntimeError as error:
            cause = getattr(error, "inner_exception", error)
            if type(cause).__name__ not in ("InvalidCxxCompiler", "CppCompileError"):
                raise
            reason = "execution 'compiled': torch.compile needs a C++ compiler and Python's headers: {}"
            raise Unsupported(reason.format(str(cause)[:300])) from error

    def run(self, inputs, targets):
        if self.cell["mode"] == "infer":
            with torch.inference_mode():
                self.last_logits, self.last_targets, self.last_loss = self.forward(inputs, False), targets, None
            return
        self.optimizer.zero_grad(set_to_none=True)
        self.last_logits = self.forward(inputs, True)
        self.last_loss = cross_entropy(self.last_logits, targets)
        self.last_loss.backward()
        self.optimizer.step()

    def synchronize(self):
        """Return only when everything is done: on the CPU operators have returned, on the GPU they are queued."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def loss(self):
        if self.last_loss is None:  # inference computes none in its step
            return float(cross_entropy(self.last_logits, self.last_targets))
        return float(self.last_loss.detach())

    def logits(self):
        return self.last_logits.detach().cpu().numpy()

    def parameters(self):
        return {entry["name"]: array(self.tensors[entry["name"]]) for entry in self.graph["parameters"]}

    def buffers(self):
        return {entry["name"]: array(self.tensors[entry["name"]]) for entry in self.graph["buffers"]}

    def gradients(self):
        """Return the last step's gradients of the loss, weight decay not included."""
        return {entry["name"]: array(self.tensors[entry["name"]].grad) for entry in self.graph["parameters"]}

    def values(self, index):
        """Return {op: array} of every op but the loss, forward in training mode on batch `index`, op by op."""
        kept = {}
        with torch.no_grad():
            self.eager(self.batches[index][0].to(self.device), True, kept)
        return {name: array(value) for name, value in kept.items()}

    def set_learning_rate(self, value):
        for group in self.optimizer.param_groups:
            group["lr"] = value

    def evaluate(self, inputs, targets):
        """Return (loss, logits) in evaluation mode."""
        with torch.no_grad():
            logits = self.eager(self.place(torch.tensor(inputs)), False)
            loss = cross_entropy(logits, torch.tensor(targets).to(self.device))
        return float(loss), logits.cpu().numpy()

    def close(self):
        if self.cell["execution"] == "compiled":
            torch.compiler.reset()  # what was compiled belongs to this network
        self.batches, self.tensors, self.optimizer, self.forward, self.eager = {}, {}, None, None, None
