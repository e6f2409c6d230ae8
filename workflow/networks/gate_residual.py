"""A small residual network made to be got wrong: every trap of convolutional layers that the gate must see.

Source: ours, from the differences between frameworks that their documentations name: padding on one side of a
strided convolution, pooling whose last window does not fit (floor and ceil differ), padding counted in an average,
batch normalisation's epsilon and running statistics, an addition on two paths, flattening in the right order. The
input is odd and not square. It is no benchmark: `full` and `gate` are the same network.
"""

SIZES = {"full": {}, "gate": {}}


def network(g):
    x = g.input((3, 21, 17))
    x = g.conv2d(x, 8, kernel=3, stride=2, padding=(1, 2, 0, 1), bias=False, name="stem")  # 8 x 11 x 8: n = 88 * batch
    x = g.relu(g.batch_norm(x, name="stem_norm"))
    x = g.max_pool2d(x, 3, stride=2)  # 8 x 5 x 3; ceil would make 8 x 5 x 4
    y = g.conv2d(x, 8, kernel=3, padding=1, bias=False, name="first")
    y = g.relu(g.batch_norm(y, name="first_norm"))
    y = g.batch_norm(g.conv2d(y, 8, kernel=3, padding=1, bias=False, name="second"), name="second_norm")
    x = g.relu(g.add(x, y))
    x = g.avg_pool2d(x, 3, stride=2, padding=1, count_padding=True)  # 8 x 3 x 2
    x = g.dropout(g.flatten(x), 0.25)
    g.softmax_cross_entropy(g.dense(x, 10, name="output"))
