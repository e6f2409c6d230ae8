"""A language model of characters: embedding, two layers of LSTM, and at each position the next character.

Source: Graves 2013, "Generating sequences with recurrent neural networks", for the task; Hochreiter & Schmidhuber 1997,
"Long short-term memory", with the forget gate of Gers, Schmidhuber & Cummins 2000, for the layer; Karpathy 2015,
"The unreasonable effectiveness of recurrent neural networks", for the size (two layers of 128).
Deviations: one bias vector a layer; the state starts at zero in every window of 32 characters and nothing is carried
over; no dropout. 248 928 parameters (6 144 + 98 816 + 131 584 + 12 384), held by tests/test_graph.py.
"""

SIZES = {
    "full": {},
    "gate": {"positions": 5, "vocabulary": 11, "width": 6, "units": (7, 9)},  # no two lengths alike
}


def network(g, positions=32, vocabulary=96, width=64, units=(128, 128)):
    x = g.embedding(g.input((positions,), classes=vocabulary), vocabulary, width, name="characters")
    for number, count in enumerate(units, start=1):
        x = g.lstm(x, count, name="lstm{}".format(number))
    g.softmax_cross_entropy(g.dense(x, vocabulary, name="output"))
