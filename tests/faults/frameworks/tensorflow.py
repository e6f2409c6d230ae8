"""Faults in TensorFlow's and Keras's own terms."""

import numpy
import tensorflow as tf

from faults import makers

OFFERS = (
    "change_gradients",
    "seed",
    "scaled",
    "elements",
    "softmax",
    "detached",
    "batch_norm_unbiased",
    "batch_norm_evaluation",
    "dropout_always",
    "dropout_unscaled",
)
OWN = {"nesterov_of_its_own": "", "weight_decay_of_its_own": ""}


def change_gradients(adapter, change, reported):
    """Change what the tape gives while a step runs."""
    names, run = [entry["name"] for entry in adapter.graph["parameters"]], adapter.run

    class Tape(tf.GradientTape):
        true = None

        def gradient(self, target, sources, **more):
            Tape.true = [tf.convert_to_tensor(g) for g in super().gradient(target, sources, **more)]
            changed = []
            for place, name in enumerate(names):
                made = change(name, Tape.true[place].numpy(), sources[place].numpy())
                changed.append(tf.constant(made, tf.float32))
            return changed

    def changed_run(*batch):
        own, tf.GradientTape = tf.GradientTape, Tape
        try:
            result = run(*batch)
        finally:
            tf.GradientTape = own
        return result if reported else dict(result, gradients=Tape.true)

    adapter.run = changed_run


def seed(value):
    tf.random.set_seed(value)


def operations(module):
    def scaled(op, tensors, shape):
        factors = numpy.asarray(op["attributes"]["factors"], numpy.float32)
        return lambda training, x: x * factors

    def elements(op, tensors, shape):
        order = op["attributes"]["order"]
        return lambda training, x: tf.reshape(tf.gather(tf.reshape(x, (x.shape[0], -1)), order, axis=1), x.shape)

    return dict(
        makers.variants(module.OPS),
        scaled=scaled,
        elements=elements,
        softmax=lambda op, tensors, shape: lambda training, x: tf.nn.softmax(x),
        detached=lambda op, tensors, shape: lambda training, x: tf.stop_gradient(x) + 0.0 * x,
    )


def nesterov_of_its_own(adapter):
    def finish():
        if adapter.cell["mode"] != "infer":
            adapter.optimizer.nesterov = True

    return finish


def weight_decay_of_its_own(adapter):
    """Keras's: decoupled from the gradient."""

    def finish():
        if adapter.cell["mode"] != "infer":
            adapter.optimizer.weight_decay = max(adapter.decays) or None
            adapter.decays = [0.0] * len(adapter.decays)

    return finish
