"""Write a table as Parquet, CSV, Markdown and LaTeX.

    python -m host.results.tables --name NAME --cells cells.parquet --out DIR

The table is a file of workflow/tables with `table(cells)`; it may say HEADINGS {column: text} and
ONLY_IN_FILES, columns that are not printed; `printed(table)` returns the columns to print in their own words, where
there is one; LANDSCAPE = True turns LaTeX's pages. With READS = "gate" it gets gate.parquet, which lies beside the
cells, in their place.
Parquet and CSV hold every column in full precision. Markdown and LaTeX are for reading: four digits, an axis with one
value moves into the caption, and reasons become notes below.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

from host.catalogue import Mistake
from host.results import plugins
from host.results.derive import CELL_AXES

DIGITS = 4
NOTE = "reason"  # the column whose texts become notes
LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {character: "\\" + character for character in "&%$#_{}"}
)


def write(name, cells, folder):
    """Write NAME.parquet, .csv, .md and .tex of the table into the folder."""
    module = plugins.load("table", name)
    table = module.table(cells)
    folder.mkdir(parents=True, exist_ok=True)
    table.to_parquet(folder / (name + ".parquet"), index=False)
    table.to_csv(folder / (name + ".csv"), index=False, lineterminator="\n")
    hidden = [column for column in getattr(module, "ONLY_IN_FILES", ()) if column in table]
    shown = module.printed(table) if hasattr(module, "printed") else table.drop(columns=hidden)
    printed, notes, constant = for_reading(shown, getattr(module, "HEADINGS", {}))
    caption = "{} {}".format(plugins.question(module), constant).strip()
    exploratory = bool(cells.loc[cells["mode"] != "gate", "exploratory"].any())
    if exploratory:
        caption += " Exploratory: no ranking is claimed."
    (folder / (name + ".md")).write_text(markdown(printed, notes, caption), encoding="utf-8")
    write_latex = latex_landscape if getattr(module, "LANDSCAPE", False) else latex
    (folder / (name + ".tex")).write_text(write_latex(printed, notes, caption, name), encoding="utf-8")


def for_reading(table, headings):
    """Return (DataFrame of texts, notes, sentence): constant axes moved into the sentence, reasons into notes."""
    constant = [name for name in CELL_AXES if name in table and len(table) and table[name].nunique(dropna=False) == 1]
    sentence = ", ".join("{} {}".format(name.replace("_", " "), text_of(table[name].iloc[0])) for name in constant)
    notes = list(dict.fromkeys(text for text in table.get(NOTE, ()) if text))
    shown = table.drop(columns=constant)
    if NOTE in shown:
        shown[NOTE] = [str(notes.index(text) + 1) if text else "" for text in shown[NOTE]]
    columns = {name: headings.get(name, name.replace("_", " ")) for name in shown}
    columns[NOTE] = "note"
    texts = pd.DataFrame({columns[name]: [text_of(value) for value in shown[name]] for name in shown}, dtype=object)
    return texts, notes, "All rows: {}.".format(sentence) if constant else ""


def text_of(value):
    """Return a value for reading: four digits of a number, an en dash where there is none."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return "–"
    if isinstance(value, float):
        return digits(value)
    return str(value)


def digits(value):
    """Return a number with four significant digits and without an exponent where it is of ordinary size."""
    if value and not 1e-4 <= abs(value) < 1e7:
        return "{:.{}g}".format(value, DIGITS)
    rounded = "{:.{}g}".format(value, DIGITS)
    if abs(value) < 1:
        return rounded
    return "{:.{}f}".format(float(rounded), max(0, DIGITS - len(str(int(abs(float(rounded)))))))


def markdown(table, notes, caption):
    """Return the table as GitHub Markdown with its caption above and its notes below."""
    cells = table.map(lambda text: text.replace("|", "\\|").replace("\n", " "))
    lines = [caption, "", cells.to_markdown(index=False, disable_numparse=True, colalign=alignment(table)), ""]
    return "\n".join(lines + ["{}. {}".format(number, flat(note)) for number, note in enumerate(notes, 1)] + [""])


def latex(table, notes, caption, label):
    """Return the table as a LaTeX float for the package booktabs, everything escaped, notes below."""
    frame = table.map(escape).rename(columns=escape)
    kinds = "".join("r" if kind == "right" else "l" for kind in alignment(table))
    tabular = frame.to_latex(index=False, escape=False, column_format=kinds)
    below = ["\\par\\smallskip\\raggedright " + " ".join(notes_text(notes))] if notes else []
    head = ["\\begin{table}", "\\centering\\footnotesize", "\\caption{" + escape(caption) + "}"]
    label = "\\label{tab:" + label.replace("_", "-") + "}"
    return "\n".join(
        ["% needs \\usepackage{booktabs}"] + head + [label, tabular.strip()] + below + ["\\end{table}", ""]
    )


def latex_landscape(table, notes, caption, label):
    """Return the table as LaTeX on turned pages, for the packages booktabs, longtable and pdflscape."""
    frame = table.map(escape).rename(columns=escape)
    kinds = "".join("r" if kind == "right" else "l" for kind in alignment(table))
    label = "tab:" + label.replace("_", "-")
    text = frame.to_latex(
        index=False, escape=False, column_format=kinds, longtable=True, caption=escape(caption), label=label
    )
    below = ["\\noindent " + " ".join(notes_text(notes))] if notes else []
    head = ["% needs \\usepackage{booktabs,longtable,pdflscape}", "\\begin{landscape}"]
    small = ["\\scriptsize\\setlength{\\tabcolsep}{3pt}"]
    return "\n".join(head + small + [text.strip()] + below + ["\\end{landscape}", ""])


def notes_text(notes):
    """Return the numbered notes, escaped for LaTeX."""
    return ["({}) {}.".format(number, escape(flat(note).rstrip("."))) for number, note in enumerate(notes, 1)]


def flat(text):
    """Return a text on one line."""
    return " ".join(text.split())


def escape(text):
    """Return a text as LaTeX shows it; characters that LaTeX gives a meaning are escaped, and dashes are its own."""
    return text.translate(LATEX).replace("–", "--")


def alignment(table):
    """Return `right` for columns of numbers, `left` for others."""
    return tuple("right" if is_numeric(table[name]) else "left" for name in table)


def is_numeric(column):
    """Return whether every text of a column is a number or a dash, at least one a number."""
    numbers = pd.to_numeric(column.where(column != "–"), errors="coerce")
    return bool(numbers.notna().any() and (numbers.notna() | (column == "–")).all())


def main(arguments=None):
    """Write one table."""
    parser = argparse.ArgumentParser(prog="python -m host.results.tables", description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--cells", required=True, type=Path, metavar="cells.parquet")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    try:
        source = options.cells.with_name(plugins.reads("table", options.name) + ".parquet")
        write(options.name, pd.read_parquet(source), options.out)
    except Mistake as wrong:
        sys.exit(str(wrong))


if __name__ == "__main__":
    main()
