"""Words: twenty clusters of message embeddings, one rule of up to three words each.

The folder named by SPEXPLAIN_DATA must hold newsgroups_words.npz and newsgroups_mpnet.npz.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from spexplain import ClusterRules


def main(picture: str) -> None:
    """Find the rules, and draw how much of each cluster they catch."""
    folder = Path(os.environ["SPEXPLAIN_DATA"])
    with np.load(folder / "newsgroups_words.npz") as file:
        counts = csr_matrix((file["data"], file["indices"], file["indptr"]), shape=file["shape"])
        vectorizer = CountVectorizer(vocabulary=file["words"])
    with np.load(folder / "newsgroups_mpnet.npz") as file:
        clusters = file["kmeans"]
    rules = ClusterRules(max_conditions=3, n_alternatives=0, feature_names=vectorizer, n_jobs=-1)
    records = rules.fit(counts, clusters).rules(output="records")
    records = sorted(records, key=lambda each: -each["f1"])
    for each in records[:3]:
        print(f"F1 {each['f1']:.2f}: {each['rule']}")
    figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    place = np.arange(len(records))
    for at, (name, color) in enumerate((("precision", "#b8c0c8"), ("recall", "#0072b2"))):
        values = [100 * each[name] for each in records]
        ax.barh(place + 0.4 * at - 0.2, values, height=0.36, color=color, label=name)
    texts = [
        each["rule"].replace("contains any of ", "").replace("contains ", "") for each in records
    ]
    ax.set_yticks(place, texts, fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("percent")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
