"""Every way to pool and to pad that the op table has, and grouped convolution, in one network.

Source: ours. On each axis: rounding up with and without a window that hangs over, padding on one side, padding counted
in an average and not. The input is odd and not square.
"""

SIZES = {"full": {}, "gate": {}}


def network(g):
    x = g.conv2d(g.input((3, 23, 19)), 8, kernel=(3, 5), padding=(0, 1, 2, 1), name="first")
    x = g.max_pool2d(g.relu(x), (3, 2), stride=(2, 2), rounding="ceil")
    x = g.conv2d(x, 8, kernel=3, padding=1, groups=4, name="grouped")
    a = g.max_pool2d(x, 3, stride=1, padding=(2, 0, 0, 2))
    b = g.avg_pool2d(x, 3, stride=1, padding=1, count_padding=False)
    c = g.avg_pool2d(x, 3, stride=1, padding=(0, 2, 1, 1), count_padding=True)
    d = g.avg_pool2d(x, 3, stride=1, padding=(2, 0, 0, 2), count_padding=False)
    x = g.add(g.add(a, b), g.add(c, d))
    a = g.avg_pool2d(x, (3, 2), stride=2, padding=(0, 1, 0, 0), rounding="ceil")
    b = g.avg_pool2d(x, (3, 2), stride=2, padding=(1, 0, 0, 1), rounding="ceil", count_padding=False)
    c = g.max_pool2d(x, (3, 2), stride=2, padding=(0, 1, 1, 0), rounding="floor")
    x = g.avg_pool2d(g.add(a, b), 2, stride=2, padding=1, rounding="ceil", count_padding=True)
    y = g.max_pool2d(c, 2, stride=2, padding=1, rounding="ceil")
    x = g.dense(g.flatten(x), 12, name="left")
    y = g.dense(g.tanh(g.flatten(y)), 12, name="right")
    g.softmax_cross_entropy(g.dense(g.sigmoid(g.add(x, y)), 10, name="output"))
