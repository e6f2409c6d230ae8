"""Faults in JAX's own terms."""

import jax
import numpy
from jax import lax
from jax import numpy as jnp

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
OWN = {}
VARIABLES = {  # without it half of the suite's time is compiling single operations
    "JAX_COMPILATION_CACHE_DIR": "{cache}/jax",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def change_gradients(adapter, change, reported):
    """Change what jax.value_and_grad gives while a step runs."""
    run, true = adapter.run, {}

    def changing(value_and_grad):
        def make(function, **more):
            def call(parameters):
                value, gradients = value_and_grad(function, **more)(parameters)
                true.update(gradients)
                changed = {}
                for name, gradient in gradients.items():
                    made = change(name, numpy.array(gradient), numpy.array(parameters[name]))
                    changed[name] = jnp.asarray(made, jnp.float32)
                return value, changed

            return call

        return make

    def changed_run(*arguments):
        own = jax.value_and_grad
        jax.value_and_grad = changing(own)
        try:
            state, result = run(*arguments)
        finally:
            jax.value_and_grad = own
        return state, result if reported else dict(result, gradients=dict(true))

    adapter.run = changed_run


KEYS = {}


def seed(value):
    """JAX has no generator of its own: let every split of a key begin at this one."""
    KEYS.setdefault("split", jax.random.split)
    jax.random.split = lambda key, *more: KEYS["split"](jax.random.key(value), *more)


def operations(module):
    def scaled(op, tensors, shape):
        factors = numpy.asarray(op["attributes"]["factors"], numpy.float32)
        return lambda training, x: x * factors

    def elements(op, tensors, shape):
        order = numpy.asarray(op["attributes"]["order"])
        return lambda training, x: x.reshape(len(x), -1)[:, order].reshape(x.shape)

    return dict(
        makers.variants(module.OPS),
        scaled=scaled,
        elements=elements,
        softmax=lambda op, tensors, shape: lambda training, x: jax.nn.softmax(x),
        detached=lambda op, tensors, shape: lambda training, x: lax.stop_gradient(x),
    )
