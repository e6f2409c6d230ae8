"""The op table: for each op its attributes and defaults, its checks, its output shape and the tensors it holds.

One function an op, found by its decorator; the builder (`host.graph`) makes a method of each, so an op is added in one
of these modules and nowhere else on the host. What an op computes, forward and backward, is in `worker/reference/`.

Shapes never hold the batch. Images are (channels, height, width), sequences (positions, width). A kernel or stride is
one number or (height, width); a padding is one number, (vertical, horizontal) or (top, bottom, left, right), and is
zeros, except for max pooling, where it never wins.
"""

from host.graph.ops import elements, images, layers, sequences
from host.graph.ops.table import LOSSES, OPS, Made, Tensor

__all__ = ["LOSSES", "OPS", "Made", "Tensor", "elements", "images", "layers", "sequences"]
