"""Reference clusterings: those that scikit-learn lacks, and all of them by name (`named.cluster`)."""

from spexplain.references.kernel_kmeans import KernelKMeans
from spexplain.references.kmedians import KMedians

__all__ = ["KMedians", "KernelKMeans"]
