"""A small decoder-only transformer on characters: GPT-2's blocks, four of them, 128 wide.

Source: Radford et al. 2019, "Language models are unsupervised multitask learners", section 2.3 (normalisation before
each part of a block and once more at the end), on Vaswani et al. 2017, "Attention is all you need"; GELU by its tanh
formula, as in GPT-2's code, and queries, keys and values by one projection, as there.
Deviations: the sizes are ours; the output layer has a weight of its own (GPT-2: the embedding's) and a bias.
826 208 parameters, held by tests/test_graph.py.
"""

SIZES = {
    "full": {},
    "gate": {"positions": 6, "vocabulary": 11, "width": 12, "heads": 3, "blocks": 2},
}


def block(g, x, width, heads, name):
    """Attention and a feed-forward part of four times the width, each behind its own normalisation and added."""
    y = g.dense(g.layer_norm(x, name=name + "_norm1"), 3 * width, name=name + "_qkv")
    y = g.dense(g.attention(y, heads=heads, causal=True), width, name=name + "_merge")
    x = g.add(x, g.dropout(y, 0.1))
    y = g.gelu(g.dense(g.layer_norm(x, name=name + "_norm2"), 4 * width, name=name + "_expand"), "tanh")
    return g.add(x, g.dropout(g.dense(y, width, name=name + "_contract"), 0.1))


def network(g, positions=64, vocabulary=96, width=128, heads=4, blocks=4):
    x = g.embedding(g.input((positions,), classes=vocabulary), vocabulary, width, name="characters")
    x = g.dropout(g.position_embedding(x, name="positions"), 0.1)
    for number in range(1, blocks + 1):
        x = block(g, x, width, heads, "block{}".format(number))
    g.softmax_cross_entropy(g.dense(g.layer_norm(x, name="norm"), vocabulary, name="output"))
