"""float32 rounded to formats with a shorter mantissa."""

import numpy

BITS = {"bfloat16": 7, "TF32": 10}  # explicit bits of the mantissa; float32 has 23


def rounded(array, bits):
    """Return the array, float32, each element rounded to a mantissa of so many explicit bits (ties to even)."""
    drop = 23 - bits
    raw = numpy.array(array, dtype=numpy.float32, order="C").view(numpy.uint32)
    half = numpy.uint32((1 << (drop - 1)) - 1)
    odd = (raw >> numpy.uint32(drop)) & numpy.uint32(1)
    kept = numpy.uint32(0xFFFFFFFF - ((1 << drop) - 1))
    return ((raw + half + odd) & kept).view(numpy.float32)
