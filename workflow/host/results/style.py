"""How figures look: sizes in print, fonts, and one colour and marker a framework that never change.

Colours: Okabe and Ito 2008, "Color Universal Design", seven colours that stay apart for colour-blind readers; markers
differ too, so that grey print suffices. A framework's colour and marker follow from its name alone, so that one more
framework recolours no other and nothing needs registering. Two frameworks may meet in a colour: then their markers
differ, or else only their labels. SALT is the first number for which torch, tensorflow, mxnet, jax, theano, cntk and
caffe have seven colours and seven markers; changing it recolours every figure.
"""

import zlib

import matplotlib

COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SALT = 15093

MILLIMETRE = 1 / 25.4  # in inches
SINGLE_COLUMN, DOUBLE_COLUMN = 88 * MILLIMETRE, 180 * MILLIMETRE  # widths of a journal's column and page

PARAMETERS = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same everywhere
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "pdf.fonttype": 42,  # TrueType, embedded: journals refuse type 3
    "svg.fonttype": "path",
    "svg.hashsalt": "levelfield",  # or element names differ from run to run
    "savefig.dpi": 300,
    "figure.dpi": 100,
}
# Dates off, so that the same records give the same bytes.
METADATA = {
    "pdf": {"CreationDate": None, "ModDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}


def appearance(framework):
    """Return (colour, marker) of a framework key; keys of one adapter (torch, torch-2.4) share the colour."""
    return COLOURS[number(framework.split("-", 1)[0]) % len(COLOURS)], MARKERS[
        number(framework) // len(COLOURS) % len(MARKERS)
    ]


def number(name):
    """Return a number that depends on the name and SALT only."""
    return zlib.crc32("{}:{}".format(SALT, name).encode("utf-8"))


def context():
    """Return the context in which figures are drawn: matplotlib's defaults and PARAMETERS, nothing of the user's."""
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **PARAMETERS, "backend": "agg"})
