"""What every op of a graph means, forward and backward, in NumPy float64: the manual, and the judge of the gate.

Each op is one function `op(inputs, attributes, tensors, context)`:

inputs      list of arrays, batch first: images (batch, channels, height, width), sequences (batch, positions, width),
            all float64, except what embedding reads: int64 classes (batch, positions)
attributes  the graph's, in full
tensors     {role: float64 array}: the op's parameters and buffers; batch_norm writes its buffers in place
context     a `network.Context`: training or evaluation, targets, and what a run may watch or disturb
returns     (output, backward), where backward(gradient of the loss to the output) returns
            (list of gradients to the inputs, {role: gradient to a parameter}); None for an input of classes

Nothing here is fast on purpose; everything is meant to be read. Held by central differences and against PyTorch in
float64 (tests/test_reference_gradients.py, tests/test_reference_torch.py).
"""

from worker.reference.activation import gelu, relu, sigmoid, tanh
from worker.reference.arrangement import add, concat, flatten, multiply, reshape
from worker.reference.attention import attention
from worker.reference.convolution import conv2d
from worker.reference.dense import dense
from worker.reference.dropout import dropout
from worker.reference.embedding import embedding, position_embedding
from worker.reference.loss import softmax_cross_entropy
from worker.reference.normalization import batch_norm, layer_norm, local_response_norm
from worker.reference.pooling import avg_pool2d, global_avg_pool, max_pool2d
from worker.reference.recurrent import lstm

OPS = {
    each.__name__: each
    for each in (
        add,
        attention,
        avg_pool2d,
        batch_norm,
        concat,
        conv2d,
        dense,
        dropout,
        embedding,
        flatten,
        gelu,
        global_avg_pool,
        layer_norm,
        local_response_norm,
        lstm,
        max_pool2d,
        multiply,
        position_embedding,
        relu,
        reshape,
        sigmoid,
        softmax_cross_entropy,
        tanh,
    )
}
