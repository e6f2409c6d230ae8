"""What the op table has for vectors: batch-norm of them, flattened images that no dense layer reads first, dropout.

Source: ours. A framework that keeps channels last must not let the order of a flattened image leak.
"""

SIZES = {"full": {}, "gate": {}}


def network(g):
    x = g.input((4, 7, 5))
    y = g.global_avg_pool(g.tanh(g.conv2d(x, 6, kernel=3, stride=2, padding=(1, 1, 1, 0), bias=False, name="image")))
    x = g.batch_norm(g.flatten(x), name="flattened_norm")
    x = g.dropout(g.relu(g.dense(x, 6, bias=False, name="one")), 0.2)
    x = g.batch_norm(g.add(x, y), name="vector_norm")
    g.softmax_cross_entropy(g.dense(g.relu(x), 9, name="output"))
