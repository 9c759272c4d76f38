"""Reference clusterings: the ones scikit-learn lacks, and all of them by name."""

from spexplain.references.kernel_kmeans import KernelKMeans
from spexplain.references.kmedians import KMedians

__all__ = ["KMedians", "KernelKMeans"]
