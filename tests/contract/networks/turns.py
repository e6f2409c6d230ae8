"""What changes kind or is joined: images, vectors and sequences made from one another, side by side on every axis.

Source: ours. A framework that keeps channels last must give each of these the order of the elements that the graph has;
one that keeps them first must count the axes alike. No two lengths of a value are alike.
"""

SIZES = {"full": {}, "gate": {}}


def network(g):
    x = g.input((4, 6, 5))
    upper = g.conv2d(x, 3, kernel=1, name="upper")
    lower = g.conv2d(x, 3, kernel=(3, 1), name="lower")
    x = g.concat(upper, lower, axis=1)  # 3 x 10 x 5: heights
    x = g.concat(x, g.conv2d(x, 3, kernel=(1, 2), name="right"), axis=2)  # 3 x 10 x 9: widths
    x = g.reshape(g.tanh(x), (5, 9, 6))  # an image of other axes
    vector = g.dense(g.gelu(g.flatten(x), "erf"), 8, name="vector")
    gated = g.multiply(g.layer_norm(g.flatten(x), name="flattened"), g.sigmoid(g.flatten(x)))
    sequence = g.lstm(g.reshape(gated, (9, 30)), 7, name="recurrent")  # 9 positions, from a vector
    sequence = g.concat(sequence, g.dense(sequence, 5, name="wide"), axis=1)  # 9 x 12: widths
    sequence = g.concat(sequence, g.dense(sequence, 12, name="long"), axis=0)  # 18 x 12: positions
    image = g.conv2d(g.reshape(sequence, (3, 8, 9)), 6, kernel=3, name="image")  # 6 x 6 x 7, from a sequence
    pooled = g.global_avg_pool(g.local_response_norm(image, size=5, alpha=0.3, beta=0.6, k=1.2))
    g.softmax_cross_entropy(g.dense(g.concat(vector, g.flatten(image), pooled), 7, name="output"))
