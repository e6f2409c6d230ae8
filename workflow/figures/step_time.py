"""How long does one step take? Every repeat as a dot: a line a framework, a panel a network and mode.

Below the dots stands the median over repeats as a tick, with its exact order-statistic interval as a line from five
repeats on. Hollow dots are cells that were not shown to compute the same as the reference. A cross stands at the axis
for each cell with repeats that have no time, beside it how they ended. A dagger marks doubtful numbers: the caption
says why. Steps are synchronised one by one; the axis starts at zero, or is logarithmic where the times of a panel span
more than a factor of 20.
"""

import numpy as np

from host.results.style import appearance

ESTIMATOR = "a dot is the median over one process's steps after warm-up, synchronised after every step"
ROW_MILLIMETRES = 8.5  # a framework
LOG_FROM = 20
FIRST, LAST = -0.36, 0.08  # of a row: between these the repeats are spread, in their order, so that none hides another
INTERVAL = 0.3  # of a row: where the median and its interval stand


def draw(table, axes):
    """Draw one panel.

    table  a row a repeat of this panel's cells, with row (place from the top), framework, repeat, step_seconds (NaN
           without one), those of the cell: cell_step_seconds, step_seconds_low and _high (NaN below five), equivalence,
           note (text beside the row) and ended (how repeats without a time ended)
    axes   matplotlib Axes, whose rows run from 0 at the top
    """
    times = table["step_seconds"].dropna()
    if len(times) > 1 and times.max() > LOG_FROM * times.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlim(1e3 * times.min() / 1.6, 1e3 * times.max() * 1.6)
    elif len(times):
        axes.set_xlim(0, 1e3 * times.max() * 1.08)
    else:
        axes.set_xticks([])
    for row, cell in table.groupby("row"):
        draw_cell(axes, row, cell)
    axes.set_xlabel("time per step (ms)")


def draw_cell(axes, row, repeats):
    """Draw one cell's dots, interval and median, the cross of repeats without a time, and the note beside it."""
    cell = repeats.iloc[0]
    colour, marker = appearance(cell["framework"])
    times = 1e3 * repeats.sort_values("repeat")["step_seconds"].dropna().to_numpy()
    if len(times):
        places = row + (np.linspace(FIRST, LAST, len(times)) if len(times) > 1 else np.zeros(1))
        face = colour if cell["equivalence"] == "equivalent" else "white"
        axes.scatter(times, places, s=9, marker=marker, facecolor=face, edgecolor=colour, linewidth=0.7, zorder=3)
    if len(times) > 1:
        line = {"color": colour, "linewidth": 1.1, "zorder": 4}
        axes.plot(1e3 * cell["cell_step_seconds"], row + INTERVAL, "|", markersize=6, markeredgewidth=1.4, color=colour)
        ends = [1e3 * cell["step_seconds_low"], 1e3 * cell["step_seconds_high"]]
        if np.isfinite(ends).all():
            axes.plot(ends, [row + INTERVAL] * 2, marker="|", markersize=3, markeredgewidth=0.8, **line)
    beside = axes.get_yaxis_transform()  # across in shares of the panel, down in rows
    if len(times) < len(repeats):
        axes.plot([0.0], [row], "x", color="black", markersize=4.5, transform=beside, clip_on=False, zorder=5)
        if not len(times):
            axes.text(0.05, row, cell["ended"], transform=beside, va="center", fontsize=6.5, style="italic")
    axes.text(1.03, row, cell["note"], transform=beside, va="center", fontsize=6, linespacing=1.15)
