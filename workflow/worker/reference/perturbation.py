"""How far a correct float32 computation may be from this one: the same network, disturbed as rounding would.

The gate runs the reference again and again with these and takes the largest change as the noise of each tensor:
`elements` disturbs weights and inputs (eta), `Sums` the four reductions inside batch normalisation (eta_red), whose
rounding errors the disturbed inputs do not excite.
"""

import numpy


def signs(generator, shape):
    """Return random -1.0 and 1.0 of this shape."""
    return 2.0 * generator.randint(0, 2, size=shape) - 1.0


def elements(values, generator, relative=2.0**-23):
    """Return values in float64, each element multiplied by 1 + relative or 1 - relative (default: one float32 ulp)."""
    return values.astype(numpy.float64) * (1.0 + relative * signs(generator, values.shape))


class Sums:
    """A sum over the batch and all positions that is wrong by as much as a float32 sum may be.

    Each channel's sum of n terms changes by + or - half_ulp * sqrt(n) * sum of |term|, with one random sign.
    Give it to a `network.Network` as `total`.
    """

    def __init__(self, generator, half_ulp=2.0**-24):
        self.generator = generator
        self.half_ulp = half_ulp

    def __call__(self, terms):
        axes = (0,) + tuple(range(2, terms.ndim))
        total = terms.sum(axis=axes, keepdims=True)
        n = terms.size // terms.shape[1]
        size = self.half_ulp * numpy.sqrt(n) * numpy.abs(terms).sum(axis=axes, keepdims=True)
        return total + signs(self.generator, total.shape) * size
