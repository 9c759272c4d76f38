"""The one shape in which every dataset is handed out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from sklearn.utils import Bunch


def make_bunch(
    data: NDArray[np.floating[Any]],
    target: ArrayLike,
    *,
    feature_names: Iterable[str],
    target_names: Iterable[str],
    descr: str,
    **extra: NDArray[np.int64],
) -> Bunch:
    """Collect the parts of a dataset, with the types that `load` promises.

    Parameters
    ----------
    data : ndarray of shape (n_samples, n_features)
        Kept as it is.
    target : array-like of shape (n_samples,)
        Classes as 0, 1, ...
    feature_names, target_names : iterable of str
        Names of the columns and of the classes.
    descr : str
        Text for the key ``DESCR``.
    **extra : ndarray
        Further keys.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        The dataset.
    """
    from sklearn.utils import Bunch

    return Bunch(
        data=data,
        target=np.asarray(target, dtype=np.int64),
        feature_names=[str(name) for name in feature_names],
        target_names=np.array([str(name) for name in target_names]),
        DESCR=descr,
        **extra,
    )
