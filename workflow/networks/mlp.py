"""A multi-layer perceptron on images of 28 x 28: 784-512-256-10 with ReLU, nothing but matrix products.

Source: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors", Nature 323, for the
network; Nair & Hinton 2010, "Rectified linear units improve restricted Boltzmann machines", for the activation.
Deviations: the layer sizes are ours, between those of the frameworks' own MNIST examples (Caffe and MXNet 128-64,
Keras and PyTorch 512-512); softmax cross-entropy, no dropout. 535 818 parameters.
"""

SIZES = {
    "full": {},
    "gate": {"shape": (1, 9, 7), "hidden": (23, 17), "classes": 7},  # no two lengths alike
}


def network(g, shape=(1, 28, 28), hidden=(512, 256), classes=10):
    x = g.flatten(g.input(shape))
    for number, units in enumerate(hidden, start=1):
        x = g.relu(g.dense(x, units, name="hidden{}".format(number)))
    g.softmax_cross_entropy(g.dense(x, classes, name="output"))
