"""The datasets that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from spexplain.datasets.readers import make_bunch

if TYPE_CHECKING:
    from sklearn.utils import Bunch

IRIS_DESCR = (
    "Iris plants: 150 flowers, 50 of each of three species (setosa, versicolor, virginica), "
    "described by the length and width of sepal and petal in centimetres. This is the copy that "
    "comes with scikit-learn, which has Fisher's numbers. Reference: R. A. Fisher, The use of "
    "multiple measurements in taxonomic problems, Annals of Eugenics 7(2), 1936. Also at the UCI "
    "Machine Learning Repository (id 53) under CC BY 4.0."
)

IRIS_UCI_DESCR = (
    "Iris plants as the UCI Machine Learning Repository (id 53, CC BY 4.0) has them: 150 flowers, "
    "50 of each of three species (setosa, versicolor, virginica), described by the length and "
    "width of sepal and petal in centimetres. Made from the copy that comes with scikit-learn by "
    "giving the rows 34 and 37 (counted from 0) the values 4.9, 3.1, 1.5, 0.1, in which UCI's file "
    "departs from the article. Reference: R. A. Fisher, The use of multiple measurements in taxonomic "
    "problems, Annals of Eugenics 7(2), 1936."
)

CANCER_DESCR = (
    "Breast Cancer Wisconsin (diagnostic): 569 tumours, 212 malignant and 357 benign, described by "
    "30 numbers on the cell nuclei seen in an image of a fine needle aspirate. This is the copy "
    "that comes with scikit-learn; the original is at the UCI Machine Learning Repository (id 17) "
    "under CC BY 4.0. Reference: W. N. Street, W. H. Wolberg and O. L. Mangasarian, Nuclear "
    "feature extraction for breast tumor diagnosis, IS&T/SPIE Symposium on Electronic Imaging, 1993."
)


def load_iris() -> Bunch:
    """Return scikit-learn's iris data.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        The dataset.
    """
    from sklearn import datasets

    source = datasets.load_iris()
    return make_bunch(
        np.asarray(source.data, dtype=np.float64),
        source.target,
        feature_names=source.feature_names,
        target_names=source.target_names,
        descr=IRIS_DESCR,
    )


def load_iris_uci() -> Bunch:
    """Return the iris data with the two rows in which UCI's file differs.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        The dataset.
    """
    iris = load_iris()
    data = iris.data.copy()
    data[[34, 37]] = [4.9, 3.1, 1.5, 0.1]
    iris.update(data=data, DESCR=IRIS_UCI_DESCR)
    return iris


def load_cancer() -> Bunch:
    """Return scikit-learn's breast cancer data.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        The dataset.
    """
    from sklearn import datasets

    source = datasets.load_breast_cancer()
    return make_bunch(
        np.asarray(source.data, dtype=np.float64),
        source.target,
        feature_names=source.feature_names,
        target_names=source.target_names,
        descr=CANCER_DESCR,
    )


BUNDLED: dict[str, Callable[[], Bunch]] = {
    "iris": load_iris,
    "iris-uci": load_iris_uci,
    "cancer": load_cancer,
}
