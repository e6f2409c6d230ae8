"""The gate's tolerances: computed from measured noise, per network, check and tensor; floors, factors and caps once.

Measured on seven frameworks (CPU): every correct one has a margin of at least 3 to these, every planted mistake
exceeds them by at least 3. Errors are relative L2 norms per tensor. docs/gate.md has the table and its origin.
"""

from dataclasses import dataclass

import numpy

UNIT = 2.0**-24  # half a unit in the last place of float32 at 1
LOSS = 1e-5  # constant: the noise of a loss says nothing about honest error there
BUFFER = 1.5e-5  # batch-norm running statistics
LAYER = 1e-5  # the value of an op: only to say where a disagreement begins, so as coarse as the logits
PRECISION = 3e-5  # worst gradient without batch-norm: honest float32 stays below 4e-6, TF32 is above 2e-4
CAP = 1e-3  # above it the network is unfit as a gate network: another seed, never another cap
NOISE_FACTOR = 20.0  # on the change under perturbed weights and inputs
REDUCTION_FACTOR = 10.0  # on the change under perturbed batch-norm reductions
SUBTRACTION_FACTOR = 4.0  # on the rounding of the parameter that an update was subtracted from
GRADIENT_FLOOR = 1.5e-5
UPDATE_FLOOR = 5e-5
NEGLIGIBLE = 1e-6  # a tensor this small beside the largest is compared absolutely, scaled by the largest


@dataclass(frozen=True)
class Noise:
    """The reference's own noise for one tensor of one check, relative L2."""

    operands: float  # weights and inputs perturbed by one unit in the last place
    reductions: float  # batch-norm's reductions perturbed

    def bound(self, floor):
        """Return min(cap, max(floor, 20 operands, 10 reductions))."""
        return min(CAP, max(floor, NOISE_FACTOR * self.operands, REDUCTION_FACTOR * self.reductions))


def gradient(noise):
    """Return the tolerance of a gradient (check G2), relative L2."""
    return noise.bound(GRADIENT_FLOOR)


def update(noise, parameter_norm, update_norm):
    """Return the tolerance of an update (checks G3 and G4): its noise and the rounding of the parameter it moved."""
    rounding = SUBTRACTION_FACTOR * UNIT * parameter_norm / update_norm if update_norm > 0 else 0.0
    return noise.bound(UPDATE_FLOOR) + rounding


def relative_error(found, expected, largest):
    """Return ||found - expected|| / ||expected||, or / `largest` where the tensor is negligible beside it.

    found, expected  arrays of one shape
    largest          the largest norm of the tensors of this check
    returns          inf if anything found is not finite
    """
    found, expected = numpy.asarray(found, numpy.float64), numpy.asarray(expected, numpy.float64)
    if not numpy.isfinite(found).all():
        return float("inf")
    size = float(numpy.linalg.norm(expected))
    base = size if size > NEGLIGIBLE * largest else largest
    difference = float(numpy.linalg.norm(found - expected))
    return difference / base if base > 0 else (0.0 if difference == 0 else float("inf"))
