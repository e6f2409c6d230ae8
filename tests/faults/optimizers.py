"""Faults of the optimiser: other formulas than v <- momentum v + g; w <- w - rate v, on top of any framework's own.

A framework's optimiser keeps a velocity. Whatever direction d a formula wants to move in, the gradient that makes the
framework move so is d less what its velocity carries over; so every formula can be planted in every framework through
the gradients alone, its own kernels doing the update.
"""

from faults.kinds import on_networks

NEEDS = ("change_gradients",)


class Formula(object):
    """What an optimiser should do: heavy-ball momentum. Through `Steered` it is what the framework does anyway.

    options  the optimiser's: momentum, weight_decay, learning_rate
    form     where the framework has the learning rate, "outside" the velocity or "inside"
    """

    def __init__(self, options, form):
        self.momentum, self.decay, self.form = options["momentum"], options["weight_decay"], form
        self.rate = self.rate_before = options["learning_rate"]
        self.velocity = {}

    def inside(self):
        """Return what the velocity is multiplied by where the learning rate stands inside it and has changed."""
        return self.rate_before / self.rate if self.form == "inside" else 1.0

    def roll(self, name, gradient, factor=None):
        """Return the new velocity: momentum times the old one, plus the gradient."""
        factor = self.inside() if factor is None else factor
        self.velocity[name] = self.momentum * factor * self.velocity.get(name, 0.0) + gradient
        return self.velocity[name]

    def direction(self, name, gradient, value, decay):
        """Return d, of w <- w - rate d.

        gradient, value  of the parameter, NumPy arrays of one layout, float64
        decay            the weight decay that this parameter should have
        """
        return self.roll(name, gradient + decay * value)


class Steered(object):
    """Makes a framework's momentum follow a formula: `change` gives the gradients that do it."""

    def __init__(self, formula, options, graph, form):
        self.engine, self.formula = Formula(options, form), formula(options, form)
        self.kinds = {entry["name"]: entry["kind"] for entry in graph["parameters"]}
        self.carried, self.changed = {}, set()

    def set_learning_rate(self, value):
        for each in (self.engine, self.formula):
            each.rate_before, each.rate = each.rate, value
        self.changed = set()

    def change(self, name, gradient, value):
        """Return the gradient, without weight decay, with which the framework moves as the formula says."""
        if name in self.changed:  # the second step with this rate: the velocity has been carried over already
            for each in (self.engine, self.formula):
                each.rate_before = each.rate
        self.changed.add(name)
        gradient, value = gradient.astype(float), value.astype(float)
        decay = self.engine.decay if self.kinds[name] == "weight" else 0.0
        wanted = self.formula.direction(name, gradient, value, decay)
        carried = self.engine.momentum * self.engine.inside() * self.carried.get(name, 0.0)
        self.carried[name] = wanted
        return wanted - carried - decay * value


def optimizer(name):
    """Enter the decorated Formula as a kind of fault."""

    def decorate(formula):
        @on_networks(name, needs=NEEDS)
        def plant(fault):
            fault.optimizer = formula

        return formula

    return decorate


@optimizer("Nesterov momentum")
class Nesterov(Formula):
    def direction(self, name, gradient, value, decay):
        gradient = gradient + decay * value
        return gradient + self.momentum * self.roll(name, gradient)


@optimizer("unit-gain momentum")
class UnitGain(Formula):
    """CNTK's default: the gradient enters the velocity times (1 - momentum)."""

    def direction(self, name, gradient, value, decay):
        return self.roll(name, (1.0 - self.momentum) * (gradient + decay * value))


@optimizer("decoupled weight decay")
class Decoupled(Formula):
    """As Keras's weight_decay, and AdamW: the decay does not enter the velocity."""

    def direction(self, name, gradient, value, decay):
        return self.roll(name, gradient) + decay * value


@optimizer("momentum in the other form")
class OtherForm(Formula):
    """The learning rate inside the velocity where the adapter declares outside, and the other way round."""

    def direction(self, name, gradient, value, decay):
        factor = self.rate_before / self.rate if self.form == "outside" else 1.0
        return self.roll(name, gradient + decay * value, factor)


@optimizer("velocity forgotten when the rate changes")
class Forgetful(Formula):
    def direction(self, name, gradient, value, decay):
        return self.roll(name, gradient + decay * value, 0.0 if self.rate_before != self.rate else 1.0)


@optimizer("gradient of the step before")
class Late(Formula):
    """As asynchronous training has it: the update is one step old."""

    def __init__(self, options, form):
        super(Late, self).__init__(options, form)
        self.held = {}

    def direction(self, name, gradient, value, decay):
        used, self.held[name] = self.held.get(name, 0.0 * gradient), gradient
        return self.roll(name, used + decay * value)


@optimizer("weight decay halved")
class HalfDecay(Formula):
    """The constant of decay w^2 / 2 taken for that of decay w^2."""

    def direction(self, name, gradient, value, decay):
        return self.roll(name, gradient + 0.5 * decay * value)
