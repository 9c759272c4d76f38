"""The search in sparse tables: only stored entries are looked at, and the zeros of a node are all its other rows.

The entries of one column, value and cluster make a *piece*. A node is a list of pieces with the number of its
rows in each, and what these weigh; a split moves the entries of its smaller part to a list of their own. Cuts
above zero are known from the pieces on their right, cuts below zero from those on their left, so that a column costs
no more than its pieces.
The cut is the one that `NumpyEngine` finds in the same table with its zeros written out.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Bools, Ints
from spexplain.engines.base import Search
from spexplain.engines.exhaustive import midpoint
from spexplain.ledgers import ledger_of
from spexplain.ledgers.bins import Gaps
from spexplain.ledgers.labels import LabelCounts, LabelLedger, in_labels
from spexplain.objectives import Objective
from spexplain.objectives.bounds import CutSums, admissible_scores, both_sides, has_enough
from spexplain.records import Cut, Side
from spexplain.table.sparse import densified
from spexplain.threads import Threads, count_threads

_BLOCK = 1 << 14  # pieces that a thread sweeps at a time: a megabyte of gaps
_MOST_KEYS = 1 << 16  # values times labels up to which a table of them stays in the cache
_MOST_WHOLE = 1 << 12  # whole numbers that are taken as they are, whether they occur or not
_ALL = slice(None)
_DENSE = 8  # numbers are looked up in a table where it has at most so many entries per number


class Pieces(NamedTuple):
    """The stored entries of a table by column, value and cluster, ascending."""

    of_entry: Array  # int32: the piece of every entry, row by row
    row_starts: Array  # shape (n_rows + 1,): the first entry of every row
    values: Array  # these two: (n_pieces,)
    labels: Array
    column_starts: Ints  # shape (n_columns + 1,): the first piece of every column


class SparseNode(NamedTuple):
    """The rows of a node, what the ledger remembers of them, their sums, and their entries by piece."""

    rows: Array  # int32, ascending
    state: LabelCounts
    side: Side
    own: "PieceCounts"


class PieceCounts(NamedTuple):
    """How many rows of a node are in each piece, and what they add to its cluster, if they weigh something."""

    pieces: Array  # int32, ascending
    counts: Array  # int32
    amounts: Array | None = None  # int64

    def some(self, part: Any) -> "PieceCounts":
        """Return some of the pieces."""
        amounts = None if self.amounts is None else self.amounts[part]
        return PieceCounts(self.pieces[part], self.counts[part], amounts)

    @property
    def added(self) -> Array:
        """What the rows of each piece add to the sums of its cluster."""
        return self.counts if self.amounts is None else self.amounts


class SparseSearch:
    """The cuts of one sparse table under one objective on cliques. Every node is split once at most.

    Of weighted rows, pieces have amounts too; only the number of rows on a side does not depend on them.

    Parameters
    ----------
    X : csc_array of shape (n_samples, n_features)
        The table: rows of a column ascend, no zeros are stored.
    objective : Objective
        The graph, one of cliques, and the formulas.
    ledger : LabelLedger
        The ledger of the graph.
    threads : Threads
        Share the columns.
    min_samples_leaf : int
        Samples that a cut must leave on both sides.
    """

    def __init__(
        self,
        X: Any,
        objective: Objective,
        ledger: LabelLedger,
        threads: Threads,
        min_samples_leaf: int,
    ) -> None:
        self.X, self.objective, self.ledger, self.threads = X, objective, ledger, threads
        self.n_samples, self.n_features = X.shape
        self.min_samples_leaf = min_samples_leaf
        self.amounts: Array | None = getattr(ledger, "amounts", None)  # of rows
        self.pieces = self._cut(X, ledger.labels, ledger.n_labels)
        # Whether there are values below zero, and above.
        self.signs = [each for each in (False, True) if np.any((self.pieces.values > 0) == each)]

    def root(self) -> SparseNode:
        rows = np.arange(self.n_samples, dtype=np.int32)
        pieces = np.arange(len(self.pieces.values), dtype=np.int32)
        own = PieceCounts(pieces, self._counts(), self._added())
        return self._node(rows, self.ledger.root(), own)

    def _counts(self, moving: Bools | slice = _ALL) -> Array:
        """Return how many entries, of all or some, are in each piece."""
        of_entry, n_pieces = self.pieces.of_entry[moving], len(self.pieces.values)
        return np.bincount(of_entry, minlength=n_pieces).astype(np.int32)

    def _added(self, moving: Bools | slice = _ALL) -> Array | None:
        """Return what their rows add to the sums of its cluster; None where rows do not weigh."""
        if self.amounts is None:
            return None
        added = np.repeat(self.amounts, np.diff(self.pieces.row_starts))[moving]
        n_pieces, of_entry = len(self.pieces.values), self.pieces.of_entry[moving]
        return np.bincount(of_entry, added, n_pieces).astype(np.int64)  # floats hold them exactly

    def _node(self, rows: Array, state: LabelCounts, own: PieceCounts) -> SparseNode:
        return SparseNode(rows, state, self.ledger.node(state, rows), own)

    def size(self, node: SparseNode) -> int:
        return len(node.rows)

    def value(self, node: SparseNode) -> float:
        return self.objective.leaf_value(node.side)

    def split(self, node: SparseNode, cut: Cut) -> tuple[SparseNode, SparseNode]:
        is_left = self._passing(node.rows, cut)
        left, right = self.ledger.split(node.state, node.rows, is_left, cut)
        smaller_is_left = 2 * np.count_nonzero(is_left) <= len(is_left)
        own, rest = self._parted(node, node.rows[is_left if smaller_is_left else ~is_left])
        parts = (own, rest) if smaller_is_left else (rest, own)
        return (
            self._node(node.rows[is_left], left, parts[0]),
            self._node(node.rows[~is_left], right, parts[1]),
        )

    def best_cuts(self, nodes: Sequence[SparseNode], rival: float = np.inf) -> list[Cut | None]:
        return [self._best_cut(node) for node in nodes]

    def _best_cut(self, node: SparseNode) -> Cut | None:
        is_flat = self.objective.flat_if_pure and self.ledger.is_pure(node.state)
        best: Cut | None = None

        def search(block: slice) -> Cut | None:
            return self._best_in_block(node, block, first=is_flat)

        blocks = self._blocks(node.own.pieces)
        if is_flat:  # all cuts tie: the first one found is the answer
            best = next((cut for cut in map(search, blocks) if cut is not None), None)
        else:
            with self.threads as threads:
                cuts = [cut for cut in threads.map(search, blocks) if cut is not None]
            best = min(cuts, key=lambda cut: cut.score, default=None)  # the first of equals
        if best is None:
            return None
        return best._replace(priority=float(self.objective.priority(best.score, node.side)))

    def _blocks(self, pieces: Array) -> list[slice]:
        """Return parts of a list of pieces that begin where a column does."""
        if len(pieces) <= _BLOCK:
            return [slice(0, len(pieces))]
        starts = self.pieces.column_starts
        wanted = pieces[_BLOCK : len(pieces) : _BLOCK]
        columns = np.searchsorted(starts, wanted, side="right") - 1
        borders = np.searchsorted(pieces, starts[np.unique(columns)]).tolist()
        ends = [*borders, len(pieces)]
        return [slice(a, b) for a, b in zip([0, *borders], ends, strict=True) if a < b]

    def _best_in_block(self, node: SparseNode, block: slice, *, first: bool) -> Cut | None:
        cuts = []
        for is_above in self.signs:
            gaps = self._gaps(node, block, is_above=is_above)
            score, place = self._best(node, gaps.fields, first=first)
            if score < np.inf:
                low, high = gaps.around[:, place].tolist()
                cuts.append(Cut(int(gaps.which[place]), midpoint(low, high), score, score))
        return min(cuts, key=lambda cut: (first or cut.score, *cut[:2]), default=None)

    def _passing(self, rows: Array, cut: Cut) -> Bools:
        """Return which rows go left."""
        start, stop = self.X.indptr[cut.feature : cut.feature + 2]
        x = self.X.data[start:stop].astype(np.float64)
        passes = np.full(self.n_samples, cut.lower < 0 <= cut.threshold)
        passes[self.X.indices[start:stop]] = (cut.lower < x) & (x <= cut.threshold)
        return passes[rows]

    # What compiled code does faster.

    def _cut(self, X: Any, labels: Array, n_labels: int) -> Pieces:
        return cut_to_pieces(X, labels, n_labels)

    def _parted(self, node: SparseNode, rows: Array) -> tuple[PieceCounts, PieceCounts]:
        """Return pieces and counts of some rows of a node, and of its other rows."""
        moves = np.zeros(self.n_samples, dtype=bool)
        moves[rows] = True
        moving = np.repeat(moves, np.diff(self.pieces.row_starts))
        pieces, counts, amounts = node.own
        n_moved, added = self._counts(moving)[pieces], self._added(moving)
        moved = None if added is None else added[pieces]
        stay = None if amounts is None else amounts - moved
        return (
            PieceCounts(pieces, n_moved, moved).some(n_moved > 0),
            PieceCounts(pieces, counts - n_moved, stay).some(counts > n_moved),
        )

    def _gaps(self, node: SparseNode, block: slice, *, is_above: bool) -> Gaps:
        """Return the gaps above zero, or below, of some columns, ascending."""
        side, own = node.side, node.own.some(block)
        pieces, counts = own.pieces, own.counts.astype(np.int64)
        values = self.pieces.values[pieces].astype(np.float64)
        columns = np.searchsorted(self.pieces.column_starts, pieces, side="right") - 1
        n_stored = np.bincount(columns, counts, self.n_features)
        # From the outside to zero: the highest value first above zero, the lowest below.
        step = -1 if is_above else 1
        met = np.flatnonzero((values > 0) == is_above)[::step]
        label, m = self.pieces.labels[pieces[met]].astype(np.int64), own.added[met].astype(np.int64)
        column, value = columns[met], values[met]
        n_before = _running(m[None], column * self.ledger.n_labels + label)[0] - m
        weight, degree, size = self.ledger.per_cluster[:, label] * m
        parted = weight * (2 * (node.state.totals[label] - n_before) - m - 1)
        joined = weight * (2 * n_before + m - 1)
        sums = _running(np.stack([parted, joined, degree, size, counts[met]]), column)
        following = np.clip(met + step, 0, len(values) - 1)
        is_inside = (following != met) & (columns[following] == column)
        beyond = np.where(is_inside, values[following], 0.0)
        has_zeros = n_stored[column] < len(node.rows)
        beyond = np.where(has_zeros & ((beyond > 0) != is_above), 0.0, beyond)
        is_gap = (beyond != value) & (is_inside | has_zeros)
        inner, n = np.array([side.inner - sums[0], sums[1]]), sums[4]
        if is_above:
            fields = [*inner, side.volume - sums[2], side.size - sums[3], len(node.rows) - n]
            around = [beyond, value]
        else:
            fields, around = [*inner[::-1], sums[2], sums[3], n], [value, beyond]
        ascending = np.flatnonzero(is_gap)[::step]
        return Gaps(
            np.stack([*fields, fields[-1]])[:, ascending],
            np.stack(around)[:, ascending],
            column[ascending],
        )

    def _best(self, node: SparseNode, fields: Ints, *, first: bool) -> tuple[float, int]:
        """Return score and place of the best cut, or of the first; infinity if there is none."""
        if not fields.shape[1]:
            return np.inf, 0
        left, right = both_sides(fields, node.side)
        valid = has_enough(fields[5], len(node.rows), self.min_samples_leaf)
        sums = CutSums(left, right, fields[4], fields[5])
        scores = admissible_scores(self.objective, sums, node.side, valid)
        place = int(np.argmax(scores < np.inf) if first else np.argmin(scores))
        return float(scores[place]), place


class CompiledSparseSearch(SparseSearch):
    """The same with compiled loops."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        from spexplain.engines.histogram.scores import scores_of

        self.scores = scores_of(self.objective, self.ledger)
        n_pieces = len(self.pieces.values)
        self.room = np.zeros(n_pieces, dtype=np.int32)
        weighs = self.amounts is not None
        self.amount_room = np.zeros(n_pieces, dtype=np.int64) if weighs else None
        weight, degree, size = self.ledger.per_cluster
        self.clusters = np.stack([weight, 2 * weight, degree, size], axis=1)

    def _cut(self, X: Any, labels: Array, n_labels: int) -> Pieces:
        return cut_to_pieces_compiled(X, labels, n_labels)

    def _counts(self, moving: Bools | slice = _ALL) -> Array:
        from spexplain.kernels.sparse import count_pieces

        counts = np.zeros(len(self.pieces.values), dtype=np.int32)
        count_pieces(self.pieces.of_entry[moving], counts)
        return counts

    def _parted(self, node: SparseNode, rows: Array) -> tuple[PieceCounts, PieceCounts]:
        from spexplain.kernels.sparse import part_pieces

        starts, (pieces, _, amounts) = self.pieces.row_starts, node.own
        n_most = min(len(pieces), int(np.sum(starts[rows + 1] - starts[rows], dtype=np.int64))) + 1
        weighs = amounts is not None
        own = PieceCounts(
            np.empty(n_most, dtype=np.int32),
            np.empty(n_most, dtype=np.int32),
            np.empty(n_most, dtype=np.int64) if weighs else None,
        )
        n_own, n_rest = part_pieces(
            starts,
            self.pieces.of_entry,
            rows,
            self.amounts,
            *node.own,
            self.room,
            self.amount_room,
            *own,
        )
        return _shortened(own, n_own), _shortened(node.own, n_rest)

    def _gaps(self, node: SparseNode, block: slice, *, is_above: bool) -> Gaps:
        from spexplain.kernels.sparse import sweep_pieces

        own = node.own.some(block)
        pieces = own.pieces
        gaps = Gaps(  # what belongs to a gap lies side by side
            np.empty((len(pieces), self.ledger.n_fields), dtype=np.int64).T,
            np.empty((len(pieces), 2)).T,
            np.empty(len(pieces), dtype=np.int64),
        )
        clusters = self.clusters.copy()
        clusters[:, 1] *= node.state.totals - 1
        n_gaps = sweep_pieces(
            pieces,
            own.counts,
            own.added,
            self.pieces.column_starts,
            self.pieces.values,
            self.pieces.labels,
            clusters,
            np.array([*node.side, len(node.rows)]),
            is_above,
            np.zeros(self.ledger.n_labels, dtype=np.int64),
            *gaps,
        )
        found = gaps.first(n_gaps)
        if not is_above:
            return found
        return Gaps(found.fields[:, ::-1], found.around[:, ::-1], found.which[::-1])

    def _best(self, node: SparseNode, fields: Ints, *, first: bool) -> tuple[float, int]:
        from spexplain.engines.histogram.scores import SearchedNode

        if not fields.shape[1]:
            return np.inf, 0
        n_rows = len(node.rows)
        searched = SearchedNode(node.state, node.side, n_rows, n_rows, self.min_samples_leaf)
        return self.scores.best(searched, fields, first=first)


def searched_entries(
    engine: Any, kind: type[SparseSearch], X: Any, objective: Objective, min_samples_leaf: int
) -> Search:
    """Return the search of a sparse table; where its zeros are needed, that of the table with all of them."""
    ledger = in_labels(ledger_of(objective.graph, objective.trend))
    if ledger is not None:
        threads = Threads(count_threads(engine.n_jobs))
        return kind(X, objective, ledger, threads, min_samples_leaf)
    dense = densified(X, f"The objective {objective.name}", "take fewer rows or columns")
    search: Search = engine.bind(dense, objective, min_samples_leaf=min_samples_leaf)
    return search


def _by_row(X: Any, of_entry: Array) -> tuple[Array, Array]:
    """Return what belongs to the entries of a table, column by column, row by row; and where rows start."""
    turned = sparse.csc_array((of_entry, X.indices, X.indptr), shape=X.shape).tocsr()
    return turned.data, turned.indptr


def _by_row_compiled(X: Any, of_entry: Array) -> tuple[Array, Array]:
    """Return the same in less memory."""
    from spexplain.kernels.sparse import count_pieces, turn_entries

    starts = np.zeros(X.shape[0] + 1, dtype=X.indptr.dtype)
    count_pieces(X.indices, starts[1:])
    np.cumsum(starts, out=starts)
    turned = np.empty_like(of_entry)
    turn_entries(X.indices, of_entry, starts[:-1].copy(), turned)
    return turned, starts


def cut_to_pieces(X: Any, labels: Array, n_labels: int, by_row: Any = _by_row) -> Pieces:
    """Return the stored entries of a table by column, value and label of their row.

    A few columns at a time: what is needed on the way then takes little memory.
    """
    piece = np.empty(X.nnz, dtype=np.int32)
    starts, values, own_labels = [np.zeros(1, dtype=np.int64)], [X.data[:0]], [labels[:0]]
    n_pieces = first = 0
    while first < X.shape[1]:
        n_until = X.indptr[first] + _BLOCK
        last = max(first + 1, int(np.searchsorted(X.indptr, n_until, side="right")) - 1)
        block = slice(X.indptr[first], X.indptr[last])
        distinct, rank = _ranked(X.data[block])
        n_values = max(len(distinct), 1)
        firsts = np.arange(last - first + 1, dtype=np.int64) * n_values
        keys = rank + np.repeat(firsts[:-1], np.diff(X.indptr[first : last + 1]))
        cells, cell = _numbered(keys, int(firsts[-1]))
        keys = cell * np.int64(n_labels) + labels[X.indices[block]]
        pieces, numbers = _numbered(keys, len(cells) * n_labels)
        piece[block] = numbers + n_pieces
        own_cells, own = np.divmod(pieces, n_labels)
        own_cells = cells[own_cells]
        values.append(distinct[own_cells % n_values])
        own_labels.append(own.astype(labels.dtype))
        starts.append(n_pieces + np.searchsorted(own_cells, firsts[1:]))
        n_pieces, first = n_pieces + len(pieces), last
    joined = [_joined(each) for each in (values, own_labels, starts)]
    return Pieces(*by_row(X, piece), *joined)


def _joined(parts: list[Array]) -> Array:
    """Return arrays as one; the list is emptied, to free them."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def cut_to_pieces_compiled(X: Any, labels: Array, n_labels: int) -> Pieces:
    """Return the same; column by column where there are few values."""
    if len(np.unique(X.data[:_MOST_KEYS])) * n_labels > _MOST_KEYS:  # so are those of all
        return cut_to_pieces(X, labels, n_labels, _by_row_compiled)
    distinct, rank = _ranked(X.data)
    n_keys = len(distinct) * n_labels
    if n_keys > _MOST_KEYS:
        return cut_to_pieces(X, labels, n_labels, _by_row_compiled)
    from spexplain.kernels.sparse import number_pieces

    piece, keys = np.empty(X.nnz, dtype=np.int32), np.empty(X.nnz, dtype=np.uint16)
    rank = rank.astype(np.uint16)
    room, met = np.zeros(n_keys, dtype=np.int32), np.empty(n_keys + 1, dtype=np.int32)
    starts = np.empty(X.shape[1] + 1, dtype=np.int64)
    n = number_pieces(X.indptr, X.indices, rank, labels, n_labels, room, met, piece, keys, starts)
    del rank, room, met  # memory for what follows
    values, own_labels = np.divmod(keys[:n], n_labels)
    del keys
    own_labels, short = own_labels.astype(labels.dtype), distinct.astype(np.float32)
    if np.array_equal(short, distinct):  # less to read
        distinct = short
    own_values = distinct[values]
    del values
    return Pieces(*_by_row_compiled(X, piece), own_values, own_labels, starts)


def _ranked(values: Array) -> tuple[Array, Array]:
    """Return values, ascending, and the place of every given one among them."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    n_values = high - low + 1
    if n_values <= _MOST_WHOLE and low == np.floor(low):
        rank = np.empty(len(values), dtype=np.int32)
        for start in range(0, len(values), _BLOCK):
            some = values[start : start + _BLOCK]
            if not np.array_equal(np.floor(some), some):
                break
            rank[start : start + _BLOCK] = some - values.dtype.type(low)
        else:
            return (low + np.arange(n_values)).astype(values.dtype), rank
    distinct, numbers = np.unique(values, return_inverse=True)
    return distinct, numbers.astype(np.int32)


def _numbered(keys: Array, n_keys: int) -> tuple[Array, Array]:
    """Return the distinct keys, ascending, and the number of every key among them."""
    if n_keys > _DENSE * len(keys):
        distinct, numbers = np.unique(keys, return_inverse=True)
        return distinct, numbers.astype(np.int32)
    is_there = np.zeros(n_keys, dtype=bool)
    is_there[keys] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there, dtype=np.int32) - 1)[keys]


def _shortened(own: PieceCounts, n: int) -> PieceCounts:
    """Return the first n pieces, copied if much of their room is not used."""
    return own.some(slice(n) if 2 * n > len(own.pieces) else np.arange(n))


def _running(amounts: Ints, group: Ints) -> Ints:
    """Return the running sums of amounts within each group."""
    order = np.argsort(group, kind="stable")
    ordered, own = np.cumsum(amounts[:, order], axis=1), group[order]
    is_first = np.append(True, own[1:] != own[:-1])[: len(own)]
    starts = np.flatnonzero(is_first)
    before = np.concatenate([np.zeros((len(amounts), 1), dtype=np.int64), ordered], axis=1)
    ordered -= before[:, starts][:, np.cumsum(is_first) - 1]
    found = np.empty_like(ordered)
    found[:, order] = ordered
    return found
