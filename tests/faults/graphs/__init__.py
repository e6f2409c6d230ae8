"""Faults of the network: an adapter that computes another graph than the one it was given."""

from faults.graphs import arrangement, elements, images, layers, sequences

__all__ = ["arrangement", "elements", "images", "layers", "sequences"]
