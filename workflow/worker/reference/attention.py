"""attention: every position takes a weighted mean of what the others say, weighted by how well they answer it."""

import math

import numpy


def attention(inputs, attributes, tensors, context):
    """y[n, t, h * size + e] = sum over s of share[n, h, t, s] * value[n, h, s, e], size = width / heads.

    x[n, t] is queries, keys and values side by side, `width` of each, and head h has columns h * size to
    (h + 1) * size of each: query[n, h, t, e] = x[n, t, h * size + e], key[n, h, t, e] = x[n, t, width + h * size + e],
    value[n, h, t, e] = x[n, t, 2 * width + h * size + e].
        score[n, h, t, s] = sum over e of query[n, h, t, e] * key[n, h, s, e] / sqrt(size)
        share[n, h, t, s] = exp(score[n, h, t, s]) / sum over r of exp(score[n, h, t, r])
    where s and r run over all positions or, if `causal`, over those up to and with t: share is 0 for the later ones.
    Backward, with dy as dy[n, h, t, e] too:
        dvalue[s, e] = sum over t of share[t, s] * dy[t, e]
        dshare[t, s] = sum over e of dy[t, e] * value[s, e]
        dscore[t, s] = share[t, s] * (dshare[t, s] - sum over r of share[t, r] * dshare[t, r])
        dquery[t, e] = sum over s of dscore[t, s] * key[s, e] / sqrt(size)
        dkey[s, e] = sum over t of dscore[t, s] * query[t, e] / sqrt(size)
    Source: Vaswani et al. 2017, "Attention is all you need", sections 3.2.1 to 3.2.3 (the projections before and after
    are `dense` ops of the graph).
    """
    (x,) = inputs
    heads = attributes["heads"]
    query, key, value = (split_heads(each, heads) for each in numpy.split(x, 3, axis=2))
    scale = 1.0 / math.sqrt(query.shape[3])
    score = scale * numpy.matmul(query, turned(key))
    if attributes["causal"]:
        score = numpy.where(numpy.tri(x.shape[1], dtype=bool), score, -numpy.inf)
    share = softmax(score)

    def backward(dy):
        dy = split_heads(dy, heads)
        to_value = numpy.matmul(turned(share), dy)
        to_share = numpy.matmul(dy, turned(value))
        to_score = share * (to_share - (share * to_share).sum(axis=3, keepdims=True))
        to_query = scale * numpy.matmul(to_score, key)
        to_key = scale * numpy.matmul(turned(to_score), query)
        return [numpy.concatenate([join_heads(each) for each in (to_query, to_key, to_value)], axis=2)], {}

    return join_heads(numpy.matmul(share, value)), backward


def split_heads(x, heads):
    """Return (batch, heads, positions, size) of (batch, positions, heads * size)."""
    return x.reshape(x.shape[:2] + (heads, -1)).transpose(0, 2, 1, 3)


def join_heads(x):
    """Return (batch, positions, heads * size) of (batch, heads, positions, size)."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def turned(x):
    """Return x with its last two axes exchanged."""
    return x.transpose(0, 1, 3, 2)


def softmax(score):
    """Return exp(score) / its sum over the last axis; the largest is subtracted first, so that exp cannot overflow."""
    grown = numpy.exp(score - score.max(axis=-1, keepdims=True))
    return grown / grown.sum(axis=-1, keepdims=True)
