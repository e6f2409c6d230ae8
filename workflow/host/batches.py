"""The distinct batches of a cell: cut from a data set in a seeded order, the same files for every framework.

Files are named by the hash of what they hold, so that workers map them into memory and none is written twice. A small
index beside them says which files a (data set, batch, count, seed) has.
"""

import hashlib
import importlib
import io
import json
import os
from pathlib import Path

import numpy

from host import fingerprint


def write(data, shape, batch, count, seed, folder):
    """Return [{"inputs": path, "targets": path}, ...] of `count` distinct batches, written where they are missing.

    data     name of a file of host/datasets
    shape    of the network's input: a text is cut into windows of this length
    batch    samples in a batch
    seed     of the order: the same one gives every framework the same batches
    folder   the cache; made if it is not there
    raises   ValueError if there is no such data set or the batches cannot be distinct
    """
    folder = Path(folder)
    key = {"data": fingerprint.data(data), "shape": list(shape), "batch": batch, "count": count, "seed": seed}
    axes = "x".join(map(str, shape))
    index = folder / "{}-{}-b{}-k{}-s{}.json".format(data, axes, batch, count, seed)
    names = read_index(index, key, folder)
    if names is None:
        inputs, targets = load(data, shape)
        folder.mkdir(parents=True, exist_ok=True)
        names = [
            [store(numpy.ascontiguousarray(inputs[rows]), folder), store(targets[rows], folder)]
            for rows in order(len(inputs), batch, count, seed, data)
        ]
        replace(index, json.dumps({"key": key, "files": names}).encode())
    return [{"inputs": str(folder / first), "targets": str(folder / second)} for first, second in names]


def check_fit(data, batches, graph):
    """Raise ValueError if the batches' shapes, types or classes are not those of the network."""
    for role, described in (("inputs", graph["input"]), ("targets", graph["target"])):
        array = numpy.load(batches[0][role], mmap_mode="r")
        if [array.dtype.name, list(array.shape[1:])] != [described["dtype"], described["shape"]]:
            raise ValueError(
                "network {!r} takes {} of {} {}, the data set {!r} has {} {}: give the cell other data or another "
                "network".format(
                    graph["network"], role, described["dtype"], described["shape"], data, array.dtype, array.shape[1:]
                )
            )
    for role, classes in (("inputs", graph["input"].get("classes")), ("targets", graph["classes"])):
        largest = max(int(numpy.load(batch[role], mmap_mode="r").max()) for batch in batches)
        if classes is not None and largest >= classes:
            raise ValueError(
                "network {!r} has {} classes of {}, the data set {!r} has class {}".format(
                    graph["network"], classes, role, data, largest
                )
            )


def load(data, shape):
    """Return a data set's (inputs, targets) for an input shape, types and lengths checked; raise ValueError."""
    try:
        inputs, targets = importlib.import_module("host.datasets." + data).load(tuple(shape))
    except ValueError as error:
        raise ValueError("data set {!r}: {}".format(data, error)) from None
    if inputs.dtype not in (numpy.float32, numpy.int64) or targets.dtype != numpy.int64 or len(inputs) != len(targets):
        raise ValueError(
            "data set {!r}: load() must return float32 or int64 inputs and as many int64 targets, it returned {} {} "
            "and {} {}".format(data, len(inputs), inputs.dtype, len(targets), targets.dtype)
        )
    return inputs, targets


def order(samples, batch, count, seed, data):
    """Return `count` arrays of `batch` row numbers: a shuffled data set, shuffled again where it is used up."""
    if count > 1 and batch > samples * 4:
        raise ValueError("data set {!r} has {} samples: too few for batches of {}".format(data, samples, batch))
    generator = numpy.random.RandomState(seed)
    rounds = -(-count * batch // samples)
    rows = numpy.concatenate([generator.permutation(samples) for _ in range(rounds)])
    return [rows[number * batch : (number + 1) * batch] for number in range(count)]


def read_index(index, key, folder):
    """Return the file names that an index holds, None if it is another's, damaged, or a file is missing."""
    try:
        content = json.loads(index.read_text(encoding="utf-8"))
        if content["key"] != key or not all((folder / name).is_file() for pair in content["files"] for name in pair):
            return None
        return content["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(array, folder):
    """Write an array as <hash>.npy unless it is there; return the file's name."""
    buffer = io.BytesIO()
    numpy.save(buffer, array, allow_pickle=False)
    content = buffer.getvalue()
    name = hashlib.sha256(content).hexdigest()[:32] + ".npy"
    if not (folder / name).is_file():
        replace(folder / name, content)
    return name


def replace(path, content):
    """Write a file in one step: a reader sees all of it or none."""
    temporary = path.with_name("{}.{}.tmp".format(path.name, os.getpid()))
    temporary.write_bytes(content)
    os.replace(temporary, path)
