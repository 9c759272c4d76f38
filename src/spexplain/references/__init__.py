"""Reference clusterings: those that scikit-learn lacks, and all of them by name.

Import the estimators from here, and `cluster`, which takes a name, from `spexplain.references.named`.
"""

from spexplain.references.kernel_kmeans import KernelKMeans
from spexplain.references.kmedians import KMedians

__all__ = ["KMedians", "KernelKMeans"]
