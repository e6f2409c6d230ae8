"""ResNet-20 for images of 32 x 32: three stages of three residual blocks, 16, 32 and 64 channels.

Source: He et al. 2016, "Deep Residual Learning for Image Recognition", section 4.2 (and figure 5 for the block: batch
normalisation after each convolution and before the ReLU, ReLU after the addition).
Deviations: where a stage halves the image, the shortcut is a 1 x 1 convolution of stride 2 with batch normalisation
(the paper's option B; for CIFAR it uses option A, subsampling and zero channels, which frameworks express less alike).
272 474 parameters: the paper's 269 722 and the two shortcuts' 2 752.
"""

SIZES = {
    "full": {},
    "gate": {"blocks": 1, "widths": (4, 6, 8), "height": 11, "width": 9, "classes": 7},  # n <= 99 * batch
}


def convolve(g, x, channels, kernel, stride, name):
    """Convolution, padded to keep the size at stride 1 and without a bias (beta is one), then normalised."""
    x = g.conv2d(x, channels, kernel, stride=stride, padding=kernel // 2, bias=False, name=name)
    return g.batch_norm(x, name=name + "_norm")


def block(g, x, channels, stride, name):
    """Two 3 x 3 convolutions and the shortcut around them; the first one strides."""
    y = g.relu(convolve(g, x, channels, 3, stride, name + "_a"))
    y = convolve(g, y, channels, 3, 1, name + "_b")
    if stride != 1 or x.shape[0] != channels:
        x = convolve(g, x, channels, 1, stride, name + "_shortcut")
    return g.relu(g.add(x, y))


def network(g, blocks=3, widths=(16, 32, 64), height=32, width=32, classes=10):
    x = g.relu(convolve(g, g.input((3, height, width)), widths[0], 3, 1, "stem"))
    for stage, channels in enumerate(widths, start=1):
        for number in range(1, blocks + 1):
            stride = 2 if stage > 1 and number == 1 else 1
            x = block(g, x, channels, stride, "stage{}_block{}".format(stage, number))
    g.softmax_cross_entropy(g.dense(g.global_avg_pool(x), classes, name="output"))
