"""Datasets to try the estimators on, each as a :class:`sklearn.utils.Bunch`.

:func:`load` gives any of them by name:

- ``iris``, ``iris-uci``, ``cancer``: the copies that come with scikit-learn;
- ``two_moons``, ``three_clusters``: generated, see the functions of the same names;
- ``r15``, ``pathbased``, ``ecoli``, ``beans``: read from a file, which is downloaded once;
- ``newsgroups``, ``caltech101``, ``cifar10``, ``mnist``: texts and pictures, as vectors. Precomputed
  vectors are read from a file that the user provides; otherwise a model computes them, which needs the extra
  ``spexplain[embed]``.

A file is first searched in the folder that the environment variable ``SPEXPLAIN_DATA`` names, then
in a cache: the folder that ``SPEXPLAIN_CACHE`` names, or else the usual cache folder of the operating
system. Files in neither place are downloaded into the cache; this needs ``pooch``, which the extra
``spexplain[datasets]`` installs.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from spexplain.datasets.bundled import BUNDLED
from spexplain.datasets.embedded import OPTIONS, load_embedding
from spexplain.datasets.encoders import ClipEncoder, Encoder, SbertEncoder
from spexplain.datasets.generators import three_clusters, two_moons
from spexplain.datasets.readers import load_table
from spexplain.datasets.registry import EMBEDDINGS, TABLES

if TYPE_CHECKING:
    from sklearn.utils import Bunch

__all__ = ["ClipEncoder", "Encoder", "SbertEncoder", "load", "three_clusters", "two_moons"]

_GENERATORS = {"two_moons": two_moons, "three_clusters": three_clusters}


def load(name: str, *, full: bool = False, **options: Any) -> Bunch:
    """Load a dataset by name.

    Parameters
    ----------
    name : str
        One of ``"iris"``, ``"iris-uci"``, ``"cancer"``, ``"two_moons"``, ``"three_clusters"``,
        ``"r15"``, ``"pathbased"``, ``"ecoli"``, ``"beans"``, ``"newsgroups"``, ``"caltech101"``,
        ``"cifar10"`` and ``"mnist"``.
    full : bool, default=False
        Whether to keep the classes of fewer than ten members, which are left out by default. Only
        ``"ecoli"`` has such classes.
    **options
        For ``"two_moons"`` and ``"three_clusters"``: parameters of the functions of these names.

        For the texts and pictures (``"newsgroups"``, ``"caltech101"``, ``"cifar10"``, ``"mnist"``), all of
        them optional; `folder`, `weights` and `encoder` compute new vectors, even if the folder
        ``SPEXPLAIN_DATA`` holds precomputed ones:

        - ``folder``: where the texts or pictures are: a folder for every class (``class/name.jpg``), or the
          files as published; by default they are downloaded;
        - ``weights``: a local folder (for pictures also a file) with the weights, or a name on the hub; by
          default the paper's: the sentence transformer all-mpnet-base-v2 for texts, CLIP ViT-B/32 with
          OpenAI's weights for pictures;
        - ``encoder``: another model instead of `weights` and `device`, see :class:`Encoder`;
        - ``batch_size``: texts (64) or pictures (256) in memory at a time;
        - ``device``: ``"cpu"``, ``"cuda"``, ...; by default a GPU if there is one.

        The vectors are stored in the cache; after an interruption, the next call continues where it stopped.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        The dataset, with the keys

        - ``data``: ndarray of shape (n_samples, n_features), float64 (float32 for embeddings);
        - ``target``: ndarray of shape (n_samples,), int64, the classes as 0, 1, ...;
        - ``feature_names``: list of str;
        - ``target_names``: ndarray of str, the name of each class;
        - ``DESCR``: description, origin and licence of the dataset;
        - ``spectral``, ``kmeans``: reference labels, int64, for embeddings that come with them.

    Raises
    ------
    ValueError
        If there is no such dataset, if `full` does not apply to it, if an option has a wrong value, or
        if a file does not hold what it should (a wrong checksum included).
    TypeError
        If there is no such option.
    OSError
        If a file is not there and cannot be downloaded.
    ImportError
        If a download or a model is needed and the extra for it is not installed.

    Examples
    --------
    >>> from spexplain import datasets
    >>> iris = datasets.load("iris")
    >>> iris.data.shape
    (150, 4)
    >>> iris.target_names.tolist()
    ['setosa', 'versicolor', 'virginica']
    >>> datasets.load("two_moons", n_samples=100).data.shape
    (100, 2)
    """
    known = [*BUNDLED, *_GENERATORS, *TABLES, *EMBEDDINGS]
    if name not in known:
        close = get_close_matches(str(name).lower(), known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"There is no dataset {name!r}{hint}, only {', '.join(known)}.")
    if full and not (name in TABLES and TABLES[name].min_class_size):
        complete = ", ".join(repr(table) for table in TABLES if TABLES[table].min_class_size)
        raise ValueError(
            f"The dataset {name!r} is always complete: full=True applies to {complete} only."
        )
    if name in _GENERATORS:
        return _GENERATORS[name](**options)
    if name in EMBEDDINGS and set(options) <= set(OPTIONS):
        return load_embedding(EMBEDDINGS[name], **options)
    if options:
        taken = OPTIONS if name in EMBEDDINGS else ()
        wrong = next(option for option in options if option not in taken)
        raise TypeError(
            f"The dataset {name!r} has no parameter {wrong!r}: "
            f"it takes {', '.join(taken) if taken else 'none'}."
        )
    if name in BUNDLED:
        return BUNDLED[name]()
    return load_table(TABLES[name], full=full)
