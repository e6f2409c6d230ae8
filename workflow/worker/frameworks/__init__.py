"""The adapters, one framework a file, found by listing this folder; and what they refuse in the same words."""

import importlib
import os

# What every adapter's versions() has besides the framework itself, and the words of knobs(). None: it does not tell.
VERSIONS = dict.fromkeys(("cuda", "cudnn", "blas", "onednn"))
KNOBS = dict.fromkeys(
    (
        "device",  # "cpu" or the GPU's name
        "layout",  # of images: "NCHW" or "NHWC"
        "threads",  # of one operation
        "interop_threads",  # operations side by side
        "tf32",  # whether float32 products may be rounded to TF32
        "autotune",  # whether kernels are chosen by trying them
        "compiler",  # what compiles the step: "tf.function", "inductor", ...; None is nothing
        "blas",
        "onednn",  # whether its kernels are used
        "deterministic",
    )
)


class Unsupported(Exception):
    """This framework cannot run the cell; the text is the reason, in words that a user understands."""


def load(framework_key):
    """Return the module of an adapter by a framework key: `torch` for `torch` and for `torch-2.4`.

    raises  ValueError if there is no such adapter, naming those there are; what the framework itself raises on import
    """
    name = framework_key.split("-")[0]
    there = names()
    if name not in there:
        problem = "framework '{}': there is no workflow/worker/frameworks/{}.py. There are: {}."
        raise ValueError(problem.format(framework_key, name, ", ".join(there)))
    return importlib.import_module("{}.{}".format(__name__, name))


def names():
    """Return the sorted names of the adapters in this folder."""
    files = os.listdir(os.path.dirname(os.path.abspath(__file__)))
    return sorted(file[:-3] for file in files if file.endswith(".py") and not file.startswith("_"))


def require(cell, **supported):
    """Raise Unsupported if the cell's value of an axis is not one that the adapter has.

    cell       dict of axes; an axis that is missing counts as None
    supported  axis=(values that the adapter has)
    """
    for axis in sorted(supported):
        value = cell.get(axis)
        if value not in supported[axis]:
            reason = "{} {!r}: the {} adapter has {}"
            there = ", ".join(repr(known) for known in supported[axis])
            raise Unsupported(reason.format(axis, value, cell.get("framework"), there))


def require_ops(cell, graph, there):
    """Raise Unsupported if the graph has an op that is not among the adapter's, naming op and layer."""
    for op in graph["ops"]:
        if op["op"] not in there:
            reason = "operation {!r} (layer {!r}): the {} adapter does not have it yet"
            raise Unsupported(reason.format(op["op"], op["name"], cell.get("framework")))
