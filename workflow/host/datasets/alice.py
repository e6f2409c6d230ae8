"""Alice's Adventures in Wonderland as windows of characters, each with the character that follows at every position.

Source: Lewis Carroll 1865, in the public domain; the text beside this file is the Millennium Fulcrum Edition 2.9, which
compression benchmarks know as `alice29.txt`, from chapter I on, with plain line ends and no blanks before them.
Classes: 0 is the line's end, 1 to 95 are the printable characters of ASCII from the blank (32) to the tilde (126).
"""

from pathlib import Path

import numpy

FIRST = 32  # the blank; the line's end takes class 0 in front of it
CLASSES = 96


def load(shape):
    """Return (inputs int64 (windows, positions), targets int64 of the same shape): windows that do not overlap.

    shape   (positions,) of the network's input
    raises  ValueError for another kind of shape
    """
    if len(shape) != 1:
        raise ValueError("it gives windows of shape (positions,), the network takes {}".format(tuple(shape)))
    text = numpy.frombuffer(Path(__file__).with_suffix(".txt").read_bytes(), dtype=numpy.uint8).astype(numpy.int64)
    classes = numpy.where(text == ord("\n"), 0, text - FIRST + 1)
    windows = (len(classes) - 1) // shape[0]
    inputs, targets = (classes[first : first + windows * shape[0]].reshape(windows, -1) for first in (0, 1))
    return inputs, targets
