"""lstm: a layer that reads a sequence one position after the other and keeps a state between them."""

import numpy

from worker.reference.activation import logistic


def lstm(inputs, attributes, tensors, context):
    """y[n, t] = h[n, t], the hidden state (H = units numbers) after each position t = 0, 1, ...

        z[n, t] = weight_input . x[n, t] + weight_hidden . h[n, t-1] + bias        (4 H numbers)
        i, f, o = 1 / (1 + exp(-z)) of z's first, second and fourth H numbers; g = tanh of the third
        c[n, t] = f * c[n, t-1] + i * g
        h[n, t] = o * tanh(c[n, t])                                                h[n, -1] = c[n, -1] = 0
    where (weight . v)[k] = sum over j of weight[k, j] * v[j], and the last three lines are element by element.
    i lets new content in, f keeps old content, o lets content out, g is the new content itself. There is one bias
    (cuDNN and what follows it have two, which only ever act by their sum) and no peephole.

    Backward goes from the last position to the first. dh and dc are the gradients of the loss to h[n, t] and c[n, t]
    over every path: dh = dy[n, t] + dz[n, t+1] . weight_hidden, and dc has f[n, t+1] * dc[n, t+1] beside what comes
    through h[n, t]; see `backward`. The parameters sum over samples and positions:
        dweight_input[k, j] = sum of dz[n, t, k] * x[n, t, j]
        dweight_hidden[k, j] = sum of dz[n, t, k] * h[n, t-1, j]
        dbias[k] = sum of dz[n, t, k]
    Source: Hochreiter & Schmidhuber 1997, "Long short-term memory"; the forget gate f: Gers, Schmidhuber & Cummins
    2000, "Learning to forget", equations 5 to 9; the backward pass: Werbos 1990, "Backpropagation through time".
    """
    (x,) = inputs
    weight_input, weight_hidden = tensors["weight_input"], tensors["weight_hidden"]
    batch, positions = x.shape[:2]
    units = attributes["units"]
    from_input = numpy.matmul(x, weight_input.T) + tensors["bias"]
    # Position t is at index t + 1 of h and c: index 0 is the state before the first, zeros.
    h, c = numpy.zeros((2, positions + 1, batch, units))
    i, f, g, o = numpy.empty((4, positions, batch, units))
    for t in range(positions):
        z = numpy.split(from_input[:, t] + h[t].dot(weight_hidden.T), 4, axis=1)
        i[t], f[t], g[t], o[t] = logistic(z[0]), logistic(z[1]), numpy.tanh(z[2]), logistic(z[3])
        c[t + 1] = f[t] * c[t] + i[t] * g[t]
        h[t + 1] = o[t] * numpy.tanh(c[t + 1])

    def backward(dy):
        dz = numpy.empty((positions, batch, 4 * units))
        dh_later = dc_later = numpy.zeros((batch, units))  # what reaches h[t] and c[t] through position t + 1
        for t in reversed(range(positions)):
            squashed = numpy.tanh(c[t + 1])
            dh = dy[:, t] + dh_later
            dc = dc_later + dh * o[t] * (1.0 - squashed * squashed)
            di, df, dg, do = dc * g[t], dc * c[t], dc * i[t], dh * squashed
            to_gates = (
                di * i[t] * (1.0 - i[t]),
                df * f[t] * (1.0 - f[t]),
                dg * (1.0 - g[t] * g[t]),
                do * o[t] * (1.0 - o[t]),
            )
            dz[t] = numpy.concatenate(to_gates, axis=1)
            dh_later = dz[t].dot(weight_hidden)
            dc_later = dc * f[t]
        gradients = {
            "weight_input": numpy.tensordot(dz, x, axes=((0, 1), (1, 0))),
            "weight_hidden": numpy.tensordot(dz, h[:-1], axes=((0, 1), (0, 1))),
            "bias": dz.sum(axis=(0, 1)),
        }
        return [numpy.matmul(dz, weight_input).transpose(1, 0, 2)], gradients

    return h[1:].transpose(1, 0, 2), backward
