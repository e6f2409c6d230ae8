"""sgd: gradient descent with momentum, in the two forms that frameworks have."""

import numpy

MOMENTUM_FORMS = ("outside", "inside")


class Sgd:
    """v <- momentum * v + g;  w <- w - learning_rate * v             ("outside": the learning rate is outside v)
    v <- momentum * v + learning_rate * g;  w <- w - v             ("inside")

    The two differ only when the learning rate changes. g is the gradient of the mean loss, plus weight_decay * w for
    what the graph calls a weight (not for biases, nor for gamma and beta). v starts at 0.
    Source: Polyak 1964; Sutskever et al. 2013, "On the importance of initialization and momentum", without Nesterov.

    options  {"name": "sgd", "learning_rate", "momentum", "weight_decay"} and, if not "outside", "momentum_form"
    kinds    {parameter name: "weight", "bias" or "normalization"}
    raises   ValueError if options names another optimiser or form
    """

    def __init__(self, options, kinds):
        if options["name"] != "sgd":
            raise ValueError("optimizer: {!r}: the reference has only 'sgd'".format(options["name"]))
        self.form = options.get("momentum_form", "outside")
        if self.form not in MOMENTUM_FORMS:
            raise ValueError("momentum_form: {!r}: it must be 'outside' or 'inside'".format(self.form))
        self.learning_rate = options["learning_rate"]
        self.momentum = options["momentum"]
        self.weight_decay = options["weight_decay"]
        self.kinds = kinds
        self.velocity = {}

    def update(self, parameters, gradients):
        """Change the parameters in place by one step."""
        for name, w in parameters.items():
            g = gradients[name]
            if self.kinds[name] == "weight":
                g = g + self.weight_decay * w
            if self.form == "inside":
                g = self.learning_rate * g
            v = self.momentum * self.velocity.get(name, numpy.zeros_like(w)) + g
            self.velocity[name] = v
            w -= v if self.form == "inside" else self.learning_rate * v
