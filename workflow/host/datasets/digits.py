"""1797 real handwritten digits, 8 x 8 pixels, as 28 x 28 images in 10 classes; they come with scikit-learn.

Source: Alpaydin & Kaynak 1998, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository (its test
part), as `sklearn.datasets.load_digits` ships it. Each pixel is repeated threefold in both directions (24 x 24) and
framed by 2 pixels of background, the shape of MNIST's images; the grey levels 0 to 16 are divided by 16.
"""

import numpy


def load(shape):
    """Return (inputs float32 (1797, 1, 28, 28) from 0 to 1, targets int64 (1797,) from 0 to 9).

    shape  of the network's input: there is only this one here, and whoever cuts batches compares them
    """
    from sklearn.datasets import load_digits  # takes a second to import: only when batches are cut

    digits = load_digits()
    images = (digits.images / 16.0).repeat(3, axis=1).repeat(3, axis=2)
    images = numpy.pad(images, ((0, 0), (2, 2), (2, 2)))
    return images[:, None, :, :].astype(numpy.float32), digits.target.astype(numpy.int64)
