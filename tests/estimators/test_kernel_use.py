"""Kernel IMM keeps scikit-learn's contract, names what it refuses, and loads no compiler for small tables."""

import re
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from refusals import EXPECTED_TO_FAIL
from spexplain import KernelIMM, datasets

ignores_leaf_counts = pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning")
X = datasets.load("iris").data


@ignores_leaf_counts
@pytest.mark.filterwarnings("ignore::spexplain.exceptions.ClusterCountWarning")
@parametrize_with_checks(
    [
        KernelIMM(),
        KernelIMM(3, n_leaves=5, surrogate="best", expand="mistakes", intervals=False),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "linear"}, 'kernel=\'linear\' must be "rbf" or "laplacian".'),
        ({"gamma": 0}, "gamma=0 must be a positive number."),
        ({"gamma": "scale"}, "gamma='scale' must be a positive number."),
        ({"gamma": float("nan")}, "gamma=nan must be a positive number."),
        ({"surrogate": "fourier"}, "surrogate='fourier' must be"),
        ({"features": "fourier"}, "features='fourier' must be a list of column names"),
        ({"features": "taylor", "kernel": "laplacian"}, 'features="taylor" needs kernel="rbf"'),
        ({"surrogate": "taylor", "kernel": "laplacian"}, 'surrogate="taylor" needs kernel="rbf"'),
        ({"max_anchors": 0}, "max_anchors=0 must be an integer of at least 1."),
        ({"expand": "more"}, "expand='more' must be"),
        ({"intervals": "no"}, "intervals='no' must be True or False."),
        ({"engine": "fast"}, "engine='fast' is not known"),
        ({"n_clusters": 1000}, "n_clusters=1000 is more than the 150 rows of X."),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        KernelIMM(**parameters).fit(X)
    assert "\n" not in str(error.value)


def test_small_fits_load_no_compiler():
    code = (
        "import sys, numpy as np, spexplain\n"
        "assert 'numba' not in sys.modules\n"
        "X = np.arange(20.0).reshape(10, 2)\n"
        "spexplain.KernelIMM(n_leaves=2).fit(X, np.repeat([0, 1], 5)).predict(X)\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
