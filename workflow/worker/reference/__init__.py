"""What every op of a graph means, forward and backward, in NumPy float64: the manual, and the judge of the gate.

Each op is one function `op(inputs, attributes, tensors, context)`:

inputs      list of float64 arrays (batch first, images as batch x channels x height x width)
attributes  the graph's, in full
tensors     {role: float64 array}: the op's parameters and buffers; batch_norm writes its buffers in place
context     a `network.Context`: training or evaluation, targets, and what a run may watch or disturb
returns     (output, backward), where backward(gradient of the loss to the output) returns
            (list of gradients to the inputs, {role: gradient to a parameter})

Nothing here is fast on purpose; everything is meant to be read. Held by central differences and against PyTorch in
float64 (tests/test_reference.py, tests/test_reference_torch.py).
"""

from worker.reference.activation import relu, sigmoid, tanh
from worker.reference.arrangement import add, flatten
from worker.reference.convolution import conv2d
from worker.reference.dense import dense
from worker.reference.dropout import dropout
from worker.reference.loss import softmax_cross_entropy
from worker.reference.normalization import batch_norm
from worker.reference.pooling import avg_pool2d, global_avg_pool, max_pool2d

OPS = {
    each.__name__: each
    for each in (
        add,
        avg_pool2d,
        batch_norm,
        conv2d,
        dense,
        dropout,
        flatten,
        global_avg_pool,
        max_pool2d,
        relu,
        sigmoid,
        softmax_cross_entropy,
        tanh,
    )
}
