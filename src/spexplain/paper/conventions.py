"""What a table measures and how, in sentences for readers."""

from spexplain.paper.protocol import NEIGHBORS

_SCORES = (
    "ARI and AMI compare the leaves with the classes, REF is the ARI with the reference clustering of the group "
    "(for SpEx-kNN: with the spectral reference). One leaf per class."
)
ABOUT: dict[str, tuple[str, ...]] = {
    "small": (_SCORES,),
    "large": (
        _SCORES,
        "The k-means references of the embeddings are mini-batch k-means on the raw columns, seed 0: of "
        "16 settings tried on Newsgroups the one whose scores come closest to the printed ones.",
    ),
    "neighbors": (
        f"SpEx-kNN with {', '.join(map(str, NEIGHBORS[:-1]))} and {NEIGHBORS[-1]} neighbours; REF is the ARI with "
        "spectral clustering on as many neighbours.",
    ),
    "leaves": (
        "Two leaves per class. Every leaf is first mapped to a cluster of the reference, and the mapped "
        "labels are compared with the classes. Convention of the mapping: with a k-means reference, the "
        "centre with the least summed squared distance to the leaf's rows; with a spectral reference, the "
        "cluster with most rows in the leaf; ExKMC's leaves carry their own centre.",
        "The spectral reference has 50 neighbours here: with the 20 of the other tables the printed numbers "
        "do not come out. "
        "The k-means references are single k-means++ starts on the raw table.",
    ),
    "price": (
        "k-means cost of the tree's clustering over that of the reference: plain k-means on the raw table, "
        "seed 1234. One leaf per class, two for ExKMC.",
        'Conventions, by who serves the rows of a leaf. "reference": the reference centre that is cheapest '
        'for the leaf as a whole, several leaves may share one. "own": the centre that the leaf stands for,'
        ' which the theorems on IMM and EMN bound; other trees have none. "reoptimized": the mean of the '
        "leaf itself (ExKMC: of all leaves of one centre).",
        "The paper prints no such table.",
    ),
    "runtime": (
        "Our seconds on this machine beside the paper's seconds on its authors' machine: these are "
        "different machines, so the ratio (paper over ours) is a rough comparison of two programs on two "
        "computers.",
        "Reference, graph and tree are timed apart, as in the paper; SpEx-Clique and CART explain the "
        "spectral reference, EMN the k-means reference. The seconds of the spectral reference count its "
        "neighbour search. Ours is the median of five runs (also in the paper), or a single run of a step "
        "that takes more than two seconds; what is compiled on first use has been compiled before. Our "
        "k-means references of R15, Pathbased and Cancer are the best of 30 starts.",
    ),
}
MEASURES = {
    "ari": "ARI",
    "ami": "AMI",
    "ref": "REF",
    "reference": "reference",
    "own": "own",
    "reoptimized": "reoptimized",
    "seconds": "seconds",
}
