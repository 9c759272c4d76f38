"""What is left to look at, from the bounds of all bins."""

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.jit import jit


@jit
def survey_bins(
    bounds: Floats,
    sums: Ints,
    score: float,
    feature: int,
    worth: Array,
    lowest: Floats,
    n_members: Ints,
) -> None:
    """Write which bins can hold a cut better than `score`, or an equal one of an earlier feature or the same.

    And, feature by feature, their lowest bound and the members that they hold, for which `sums` has
    the members left of every border in the last field but one. Shapes: bounds and worth (d, n_bins),
    sums (d, n_fields, n_bins + 1), lowest and n_members (d,). Cost O(d n_bins).
    """
    n_features, n_bins = bounds.shape
    field = sums.shape[1] - 2
    for f in range(n_features):
        least, n = np.inf, 0
        ties_win = f <= feature and score < np.inf
        for b in range(n_bins):
            bound = bounds[f, b]
            can_win = bound <= score if ties_win else bound < score
            worth[f, b] = can_win
            if can_win:
                least = bound if bound < least else least
                n += sums[f, field, b + 1] - sums[f, field, b]
        lowest[f], n_members[f] = least, n
