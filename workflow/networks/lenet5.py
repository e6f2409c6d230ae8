"""LeNet-5, the smallest convolutional network of the study: a cell takes seconds, so tests use it.

Source: LeCun et al. 1998, "Gradient-Based Learning Applied to Document Recognition", section II.B.
Deviations: c3 sees all six maps (paper: table I); ReLU, max pooling and softmax (paper: tanh, trained
subsampling, RBF), as in the frameworks' own examples. Layer names and sizes are the paper's.
"""

SIZES = {
    "full": {},
    "gate": {"height": 20, "width": 16},  # not square, so that swapped axes show; every layer as in the paper
}


def network(g, height=28, width=28):
    x = g.input((1, height, width))
    x = g.max_pool2d(g.relu(g.conv2d(x, 6, kernel=5, padding=2, name="c1")), 2)  # 6 x 14 x 14
    x = g.max_pool2d(g.relu(g.conv2d(x, 16, kernel=5, name="c3")), 2)  # 16 x 5 x 5
    x = g.relu(g.dense(g.flatten(x), 120, name="c5"))
    x = g.relu(g.dense(x, 84, name="f6"))
    g.softmax_cross_entropy(g.dense(x, 10, name="output"))  # 61 706 parameters, held by tests/test_graph.py
