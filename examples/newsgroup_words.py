"""Clusters of document embeddings, explained by the words of the documents: one rule per cluster, and a tree.

Embeddings group documents well, but their axes mean nothing. Words do. The 11,314 documents are the 20 Newsgroups;
the folder named by SPEXPLAIN_DATA must hold newsgroups_words.npz and newsgroups_mpnet.npz.
Pass the path of the report as an argument; without one, it is written to examples/output/.
"""

import os
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from spexplain import ClusterRules, SpexClique

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

    print(
        f"{counts.shape[0]:,} documents, {counts.shape[1]:,} words, {counts.nnz:,} counts stored\n"
    )
    print("One rule of three words for every cluster:\n")
    rules = ClusterRules(max_conditions=3, feature_names=vectorizer, n_jobs=-1).fit(
        counts, clusters
    )
    for rule in rules.rules(output="records"):
        print(f"  F1 {rule['f1']:.2f}  cluster {rule['cluster']:>2}: {rule['rule']}")
    print(f"\nmacro-F1 of what they predict: {rules.macro_f1_:.3f}")

    print("\nThe same clusters in a tree of twenty leaves:\n")
    explainer = SpexClique(n_leaves=20, feature_names=vectorizer).fit(counts, clusters)
    for leaf in explainer.rules(output="records")[1:]:
        word = leaf["rule"].split(" and ")[-1]
        print(
            f"  {leaf['size']:>4} documents, {leaf['purity']:>4.0%} of cluster {leaf['reference']:>2}: {word}"
        )

    # Rules over a few dozen words need these columns only, wherever they are used.
    used = rules.explanation_.used
    names = vectorizer.get_feature_names_out()
    database = duckdb.connect()
    database.register("documents", pd.DataFrame(counts[:, used].toarray(), columns=names[used]))
    found = database.sql(rules.to_sql(table="documents", name="cluster_id")).df()["cluster_id"]
    same = found.fillna(-1).to_numpy() == rules.predict(counts)
    print(f"\nrows that SQL and predict agree on: {same.mean():.0%}")

    # The texts are not stored beside their counts; whoever has them passes them as they are.
    texts = [" ".join(names[row.indices]) for row in counts]
    report.parent.mkdir(parents=True, exist_ok=True)
    rules.report(report, title="Twenty clusters of documents", texts=texts)
    tree_report = report.with_name(f"{report.stem}_tree.html")
    explainer.report(tree_report, title="Twenty clusters of documents in a tree", texts=texts)
    print(f"\nreport of the tree: {tree_report.name}")
    print(f"report: {report}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPORT)
