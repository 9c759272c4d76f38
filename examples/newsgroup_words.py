"""Clusters of document embeddings, explained by the words of the documents: a sparse table.

Embeddings group documents well, but their axes mean nothing. Words do. The 11,314 documents are the 20 Newsgroups;
the folder named by SPEXPLAIN_DATA must hold newsgroups_words.npz and newsgroups_mpnet.npz.
Run with the path of the report as an argument, or without: examples/output/ holds it then.
"""

import os
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from spexplain import SpexClique

REPORT = Path(__file__).parent / "output" / "newsgroup_words.html"


def main(report: Path) -> None:
    """Explain twenty k-means clusters of embeddings by words."""
    folder = os.environ.get("SPEXPLAIN_DATA")
    if folder is None:
        sys.exit(
            "Set SPEXPLAIN_DATA to the folder with newsgroups_words.npz and newsgroups_mpnet.npz."
        )
    with np.load(Path(folder) / "newsgroups_words.npz") as file:
        counts = csr_matrix((file["data"], file["indices"], file["indptr"]), shape=file["shape"])
        vectorizer = CountVectorizer(vocabulary=file["words"])
    with np.load(Path(folder) / "newsgroups_mpnet.npz") as file:
        clusters = file["kmeans"]

    explainer = SpexClique(n_leaves=20, feature_names=vectorizer).fit(counts, clusters)

    print(
        f"{counts.shape[0]:,} documents, {counts.shape[1]:,} words, {counts.nnz:,} counts stored\n"
    )
    for rule in explainer.rules(output="records")[1:]:
        word = rule["rule"].split(" and ")[-1]
        print(
            f"  {rule['size']:>4} documents, {rule['purity']:>4.0%} of cluster {rule['reference']:>2}: {word}"
        )

    # A tree over 19 words needs 19 columns, wherever it is used.
    words = [explainer.tree_.feature[node] for node in explainer.tree_.tests]
    names = vectorizer.get_feature_names_out()[words]
    table = pd.DataFrame(counts[:, words].toarray(), columns=names)
    database = duckdb.connect()
    database.register("documents", table)
    found = database.sql(explainer.to_sql(table="documents", name="leaf_id")).df()["leaf_id"]
    print(
        f"\nrows that SQL and predict agree on: {(found == explainer.predict(counts)).mean():.0%}"
    )

    report.parent.mkdir(parents=True, exist_ok=True)
    explainer.report(report, title="Twenty clusters of documents")
    print(f"\nreport: {report}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPORT)
