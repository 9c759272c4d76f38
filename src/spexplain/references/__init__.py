"""Reference clusterings: estimators that scikit-learn lacks, and access to all clusterings by name.

Import the estimators from here, and `cluster`, which takes a name, from `spexplain.references.named`.
"""

from typing import TYPE_CHECKING

from spexplain.lazy import names_of

if TYPE_CHECKING:
    from spexplain.references.kernel_kmeans import KernelKMeans
    from spexplain.references.kmedians import KMedians

__all__ = ["KMedians", "KernelKMeans"]

__getattr__ = names_of(
    __name__,
    {
        "KMedians": "kmedians",
        "KernelKMeans": "kernel_kmeans",
    },
)
