"""Penguins: three species by the size of bills and flippers, with two birds that nobody measured."""

import sys

import matplotlib.pyplot as plt
from palmerpenguins import load_penguins

from spexplain import BestTree


def main(picture: str) -> None:
    """Explain the species by two columns; gaps have strips of their own."""
    penguins = load_penguins()
    table = penguins[["bill_length_mm", "flipper_length_mm"]]
    explainer = BestTree().fit(table, penguins["species"])
    print(explainer.to_text())
    print(explainer.verdict_.sentences[0])
    figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    explainer.plot_cuts(ax=ax)
    ax.set_title("Rows in a leaf of another species are ringed", fontsize=10)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
