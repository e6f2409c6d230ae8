"""Every operation on images that gate_residual lacks, made to be got wrong; and two ways out of an image.

Source: ours, from the differences between frameworks that their documentations name: groups, padding on one side,
windows that hang over the edge and padding that an average leaves out, the divisor of local response normalisation,
the order of channels where maps are joined, gates that are multiplied, the two formulas called GELU, and the order of
elements where an image becomes a vector or a sequence. The input is odd and not square, and the first layer has 16
channels: fewer would not reach the kernels that keep channels in blocks of 8 or 16. It is no benchmark: `full` and
`gate` are the same network.
"""

SIZES = {"full": {}, "gate": {}}


def network(g):
    x = g.input((4, 13, 9))
    x = g.tanh(g.conv2d(x, 16, kernel=3, padding=(0, 1, 2, 0), groups=2, name="grouped"))  # 16 x 12 x 9
    x = g.local_response_norm(x, size=3, alpha=0.5, beta=0.75, k=1.5)  # so large that each constant is felt
    x = g.conv2d(x, 8, kernel=1, bias=False, name="mixed")  # 8 x 12 x 9: nothing else reads what was normalised
    left = g.max_pool2d(x, 2, rounding="ceil")  # 8 x 6 x 5: the last column of windows hangs over
    right = g.avg_pool2d(left, 3, stride=1, padding=(2, 0, 1, 1), count_padding=False)  # 8 x 6 x 5
    right = g.conv2d(right, 5, kernel=(3, 1), padding=(1, 1, 0, 0), name="tall")
    x = g.concat(left, right)  # 13 x 6 x 5
    gate = g.sigmoid(g.conv2d(x, 8, kernel=1, name="gate"))
    x = g.multiply(g.gelu(g.conv2d(x, 8, kernel=1, name="gated"), "erf"), gate)  # 8 x 6 x 5
    x = g.avg_pool2d(x, (3, 2), stride=(2, 1), padding=(0, 0, 1, 0), rounding="ceil", count_padding=False)  # 8 x 3 x 5
    x = g.reshape(x, (4, 30))  # 4 positions, each two channels of the image
    sequence = g.dense(x, 18, name="projection")
    sequence = g.flatten(g.attention(sequence, heads=2, causal=False))
    vector = g.gelu(g.layer_norm(g.dense(g.flatten(x), 12, name="vector"), name="vector_norm"), "tanh")
    g.softmax_cross_entropy(g.dense(g.concat(sequence, vector), 7, name="output"))
