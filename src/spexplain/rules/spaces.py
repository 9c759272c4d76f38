"""The spaces of rules: regions of columns joined by "and", and words joined by "any of"."""

from collections.abc import Sequence
from functools import cached_property
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.rules.search import Clauses, FoundRule, Literal, Space
from spexplain.rules.task import Task
from spexplain.table.base import Table
from spexplain.table.storage import is_sparse
from spexplain.tree import Column, Region
from spexplain.tree.rule import Condition, Rule

_ORDERED, _SET = 0, 1  # kinds of columns, as `kernels.rules` knows them
_N_BINS = 32
_MOST_CATEGORIES = 512  # of a column that is searched in pairs
_MOST_WRITTEN = 256  # columns of a sparse table of numbers that are written out
_ROWS_OF_PAIRS = 4_000_000_000  # rows that are looked at for the bounds of pairs, and beyond them
_N_TELLING = 20  # words by which examples are chosen
_MOST_WORDS = 2000  # first words of pairs
_TINY = 1e-12
_JUST = 1e-9  # below a value, so that it is found again
_TIE = 1e-10  # what a tie is broken by


def space_of(table: Table, columns: Ints, codes: Array) -> Space:
    """Return the rules over some columns of a table.

    Parameters
    ----------
    table : Table
        A table on the host, dense or sparse.
    columns : array of int
        The columns that rules may use.
    codes : array of int, shape (n_rows,)
        Cluster of every row, by which columns are chosen where a sparse table has too many numbers.
    """
    kinds = table.kinds
    if len(table.columns) and (
        kinds == "word" or (not isinstance(kinds, str) and set(kinds) == {"word"})
    ):
        return Words(sparse.csr_array(table.values), columns)
    if is_sparse(table.values):
        columns = _telling_columns(table.values, columns, codes)
        values = np.asarray(table.values[:, columns].toarray())
    else:
        values = table.to_host()[:, columns]
    return Regions(values, columns, [table.columns[each] for each in columns.tolist()])


def _telling_columns(entries: Any, columns: Ints, codes: Array) -> Ints:
    """Return the columns of a sparse table whose stored entries separate the clusters best, in their order."""
    if len(columns) <= _MOST_WRITTEN:
        return columns
    known = codes >= 0
    n_clusters = int(codes.max()) + 1
    has = sparse.csc_array(entries[:, columns] != 0).astype(np.float64)
    belongs = sparse.csr_array(
        (np.ones(known.sum()), (codes[known], np.flatnonzero(known))),
        shape=(n_clusters, len(codes)),
    )
    tp = (belongs @ has).toarray()
    size, total = tp.sum(axis=0), np.asarray(belongs.sum(axis=1))[:, None]
    present = 2 * tp / (size + total)
    absent = 2 * (total - tp) / (total.sum() - size + total)
    best = np.maximum(present, absent).max(axis=0)
    return np.sort(columns[np.argsort(-best, kind="stable")[:_MOST_WRITTEN]])


class _Best(NamedTuple):
    value: float
    region: Any  # first and last value and missing, or values


def best_region(
    kind: int,
    tp: Floats,
    fp: Floats,
    task: Task,
    *,
    barred: int | None = None,
    start: float | None = None,
) -> _Best:
    """Return the best region of one column, from the sums over its values; the last is that of missing ones.

    The plain twin of the loops in `kernels.rules`. One value can be barred from it. Where it is known how
    good the region is, the search starts just below.
    """
    value, region = task.nothing, None
    if start is not None:
        value = max(value, start - _JUST)
    while True:
        up, down, _ = task.gains(value)
        gains = up * tp + down * fp
        # A region never pays across a loss greater than all gains; much greater losses would only cost digits.
        most = -1.0 - np.maximum(gains, 0.0).sum()
        gains = np.maximum(gains, most)
        if barred is not None:
            gains[barred] = most
        if kind == _SET:
            found: Any = tuple(np.flatnonzero(gains > 0).tolist())
            inside = gains > 0
        else:
            sums = np.concatenate([[0.0], np.cumsum(gains[:-1])])
            least = np.minimum.accumulate(sums)
            last = int(np.argmax(sums[1:] - least[:-1])) if len(gains) > 1 else -1
            inside = np.zeros(len(tp), dtype=np.bool_)
            first = 0
            if last >= 0 and sums[last + 1] > least[last]:
                first = int(np.flatnonzero(sums[: last + 1] == least[last])[-1])
                inside[first : last + 1] = True
            else:
                last = -1
            inside[-1] = gains[-1] > 0
            found = (first, last, bool(inside[-1]))
        if not inside.any():
            return _Best(value, region)
        better = float(task.value(tp[inside].sum(), fp[inside].sum()))
        if better <= value:
            return _Best(value, region)
        value, region = better, found


def _summed(codes: Array, weights: Floats, length: int) -> Floats:
    """Return the sums of weights by code."""
    return np.bincount(codes, weights, length).astype(np.float64, copy=False)


class Regions(Space):
    """Rules "column in region and column in region ..." over columns of numbers, dates and categories.

    Parameters
    ----------
    values : array of float, shape (n_rows, n_columns)
        The columns, NaN for missing values.
    numbers : array of int, shape (n_columns,)
        The numbers of these columns in the table.
    described : sequence of Column
        What they hold.
    """

    def __init__(self, values: Any, numbers: Ints, described: Sequence[Column]) -> None:
        self.n_rows = len(values)
        self.numbers, self.described = numbers, described
        n_columns = len(described)
        self.codes = np.empty((n_columns, self.n_rows), dtype=np.int32)
        self.kinds = np.zeros(n_columns, dtype=np.int64)
        self.sizes = np.zeros(n_columns, dtype=np.int64)
        self.values: list[Floats] = []
        for place, column in enumerate(described):
            x = np.asarray(values[:, place], dtype=np.float64)
            missing = np.isnan(x)
            if column.kind == "category":
                self.kinds[place], different = _SET, np.arange(len(column.categories), dtype=float)
                codes = np.where(missing, len(different), x)
            else:
                different, codes = np.unique(x, return_inverse=True)
                different = different[: len(different) - bool(missing.any())]
                codes = np.minimum(codes, len(different))  # NaN is the last
            self.codes[place], self.sizes[place] = codes, len(different)
            self.values.append(different)
        self._place = {int(number): place for place, number in enumerate(numbers)}

    @cached_property
    def _bins(self) -> tuple[Array, Ints, Ints, Bools]:
        """Codes of bins, their number, their first values and whether they hold a single value."""
        n_columns = len(self.described)
        n_bins = np.array(
            [
                size if kind == _SET else min(size, _N_BINS)
                for kind, size in zip(self.kinds, self.sizes, strict=True)
            ]
        )
        widest = int(n_bins.max(initial=1)) + 2
        binned = np.empty_like(self.codes)
        starts = np.zeros((n_columns, widest), dtype=np.int64)
        whole = np.ones((n_columns, widest), dtype=np.bool_)
        for place in range(n_columns):
            size, wanted = int(self.sizes[place]), int(n_bins[place])
            if size == wanted:
                bin_of = np.arange(size + 1)
            else:  # bins of about as many rows
                counts = np.bincount(self.codes[place], minlength=size + 1)[:size]
                middle = np.cumsum(counts) - counts / 2
                bin_of = np.unique(
                    np.floor(middle * wanted / counts.sum()).astype(np.int64), return_inverse=True
                )[1]
                n_bins[place] = bin_of[-1] + 1
                bin_of = np.append(bin_of, bin_of[-1] + 1)
            binned[place] = bin_of[self.codes[place]]
            sizes = np.bincount(bin_of[:size], minlength=int(n_bins[place]))
            starts[place, 1 : len(sizes) + 1] = np.cumsum(sizes)
            whole[place, : len(sizes)] = sizes == 1
        return binned, n_bins, starts, whole

    def _sums(self, place: int, rows: Ints, task: Task) -> tuple[Floats, Floats]:
        """Return the weights of rows by value of a column."""
        codes, length = self.codes[place][rows], int(self.sizes[place]) + 1
        return _summed(codes, task.inside[rows], length), _summed(codes, task.outside[rows], length)

    def _best_values(self, rows: Ints, task: Task) -> Floats:
        """Return the best value of every column alone, over some rows."""
        from spexplain.kernels.rules import best_values

        longest = int(self.sizes.max(initial=0)) + 1
        values = np.empty(len(self.described))
        best_values(
            self.codes, self.kinds, self.sizes, rows, task.inside, task.outside, task.form,
            np.empty(longest), np.empty(longest), np.empty(5), values,
        )  # fmt: skip
        return values

    def _places(self, without: frozenset[int]) -> Ints:
        return np.array(
            [p for p, number in enumerate(self.numbers.tolist()) if number not in without],
            dtype=np.int64,
        )

    def _extensions(
        self, clauses: Clauses, task: Task, n_best: int, without: frozenset[int]
    ) -> list[FoundRule]:
        """Return the best rules that have one condition more."""
        used = {number for clause in clauses for number, _ in clause}
        places = self._places(without | used)
        rows = task.rows
        if clauses:
            rows = rows[self.rows(clauses)[rows]]
        values = self._best_values(rows, task)[places]
        whole = float(task.value(task.inside[rows].sum(), task.outside[rows].sum()))
        found: list[FoundRule] = []
        for at in np.argsort(-values, kind="stable").tolist():
            place, value = int(places[at]), float(values[at])
            if not clauses and value <= whole + _TINY:  # a rule must leave some rows out
                best = self._proper(place, *self._sums(place, rows, task), task)
            elif len(found) == n_best:
                break
            else:
                sums = self._sums(place, rows, task)
                best = best_region(int(self.kinds[place]), *sums, task, start=value)
            if best.region is not None and not self._is_all(place, best.region):
                literal = int(self.numbers[place]), best.region
                found.append(FoundRule(best.value, (*clauses, (literal,))))
        return sorted(found, key=lambda each: each.rank)[:n_best]

    def _is_all(self, place: int, region: Any) -> bool:
        """Whether every training row lies in a region."""
        return bool(self._covered(place, region).all())

    def _proper(self, place: int, tp: Floats, fp: Floats, task: Task) -> _Best:
        """Return the best region of a column that some training rows do not lie in."""
        kind = int(self.kinds[place])
        left_out = np.unique(self.codes[place])
        if kind == _ORDERED and len(left_out) > 2:
            has_missing = left_out[-1] == self.sizes[place]
            left_out = left_out[[0, -2, -1]] if has_missing else left_out[[0, -1]]
        best = _Best(task.nothing, None)
        for code in left_out.tolist():
            found = best_region(kind, tp, fp, task, barred=code)
            best = found if found.value > best.value else best
        return best

    def _covered(self, place: int, region: Any) -> Bools:
        codes, size = self.codes[place], int(self.sizes[place])
        inside = np.zeros(size + 1, dtype=np.bool_)
        if self.kinds[place] == _SET:
            inside[list(region)] = True
        else:
            first, last, missing = region
            inside[first : last + 1] = True
            inside[size] = missing
        covered: Bools = inside[codes]
        return covered

    def rows(self, clauses: Clauses) -> Bools:
        """Return the rows that a rule covers."""
        covered = np.ones(self.n_rows, dtype=np.bool_)
        for clause in clauses:
            for number, region in clause:
                covered &= self._covered(self._place[number], region)
        return covered

    def best_pair(
        self, task: Task, value: float, without: frozenset[int]
    ) -> tuple[FoundRule | None, bool]:
        """Return the best rule of two conditions if it is above a value, and whether none can be better."""
        rows = task.rows
        places = self._places(without)
        singles = self._best_values(rows, task)[places]
        places = places[np.argsort(-singles, kind="stable")]
        is_small = (self.kinds[places] == _ORDERED) | (self.sizes[places] <= _MOST_CATEGORIES)
        n_most = max(16, int(np.sqrt(2 * _ROWS_OF_PAIRS / max(len(rows), 1))))
        chosen = places[is_small][:n_most]
        work = np.array([_ROWS_OF_PAIRS])
        best = np.zeros(7)
        best[0] = value
        pairs = _ColumnPairs(self, task, rows, best, work)
        found: FoundRule | None = None
        for first in range(len(chosen)):
            for second in range(first + 1, len(chosen)):
                region = pairs.better(int(chosen[first]), int(chosen[second]))
                if region is not None:
                    found = self._completed(region, task, without) or found
                if work[0] < 0:
                    return found, False
        for place in chosen.tolist():  # missing values alone
            size = int(self.sizes[place])
            if self.kinds[place] == _ORDERED and (self.codes[place] == size).any():
                alone = (int(self.numbers[place]), (0, -1, True))
                for each in self.extensions(((alone,),), task, 1, without):
                    if each.value > best[0] + _TINY:
                        best[0], found = each.value, each
        return found, len(chosen) == len(places)

    def affinity(self, task: Task) -> Ints:
        """Return zeros: ties between examples are not broken here."""
        return np.zeros(self.n_rows, dtype=np.int64)

    def simplified(self, clauses: Clauses, task: Task) -> Clauses:
        """Return a rule with the same rows whose intervals have no unnecessary ends."""
        counts = task.rows
        covered = self.rows(clauses)[counts]
        for at in range(len(clauses) - 1, -1, -1):  # what was found last matters least
            ((number, region),) = clauses[at]
            place = self._place[number]
            if self.kinds[place] == _SET or region[1] < region[0] or len(clauses) == 1:
                continue
            first, last, missing = region
            for wider in ((0, last, missing), (first, int(self.sizes[place]) - 1, missing)):
                other = (*clauses[:at], ((number, wider),), *clauses[at + 1 :])
                if wider != clauses[at][0][1] and np.array_equal(self.rows(other)[counts], covered):
                    clauses = other
                    break
        return clauses

    def _completed(self, first: Literal, task: Task, without: frozenset[int]) -> FoundRule | None:
        """Return the pair of a first condition and the best second one."""
        best = self.extensions(((first,),), task, 1, without)
        return best[0] if best else None

    def to_rule(self, clauses: Clauses) -> Rule:
        """Return a rule in values of the table."""
        return Rule(
            tuple(
                Condition((number,), self._region(self._place[number], region))
                for ((number, region),) in clauses
            )
        )

    def _region(self, place: int, region: Any) -> Region:
        """Return a region in values: ends lie between two training values, at the roundest number."""
        column, values = self.described[place], self.values[place]
        if self.kinds[place] == _SET:
            size = int(self.sizes[place])
            return Region.of_codes([each for each in region if each < size], missing=size in region)
        first, last, missing = region
        if last < first:
            return Region((), missing)
        low = -inf if first == 0 else column.between(float(values[first - 1]), float(values[first]))
        is_last = last == len(values) - 1
        high = inf if is_last else column.between(float(values[last]), float(values[last + 1]))
        return Region(((low, high),), missing)


class _ColumnPairs:
    """The search over pairs of columns of one task, with its room."""

    def __init__(self, space: Regions, task: Task, rows: Ints, best: Floats, work: Ints) -> None:
        self.space, self.task, self.rows, self.best, self.work = space, task, rows, best, work
        widest = int(space.sizes.max(initial=1)) + 2
        n_cells = space._bins[2].shape[1] + 1
        self.cells = np.empty((n_cells, n_cells)), np.empty((n_cells, n_cells))
        self.room = (
            np.empty(widest),
            np.empty(widest),
            np.empty(1024),
            np.empty(widest),
            np.empty(widest),
            np.empty(4),
        )
        self.has = [
            np.bincount(codes[rows], task.inside[rows], int(size) + 1) > 0
            for codes, size in zip(space.codes, space.sizes, strict=True)
        ]

    def better(self, one: int, other: int) -> Literal | None:
        """Return the first condition of a pair that is better than the best so far."""
        from spexplain.kernels.rules import search_interval

        space, task = self.space, self.task
        if space.kinds[one] == _SET == space.kinds[other]:
            return self._better_sets(*sorted((one, other), key=lambda place: space.sizes[place]))
        if space.kinds[one] == _SET or (
            space.kinds[other] == _ORDERED and space.sizes[other] < space.sizes[one]
        ):
            one, other = other, one
        self.best[6] = 0.0
        binned, n_bins, starts, whole = space._bins
        search_interval(
            space.codes, binned, space.kinds, space.sizes, n_bins, starts, whole, np.array([one, other]),
            self.rows, task.inside, task.outside, self.has[one], task.form, self.cells, self.room,
            np.empty(5), self.best, self.work,
        )  # fmt: skip
        if not self.best[6]:
            return None
        first, last, missing = self.best[3:6].astype(int).tolist()
        return int(space.numbers[one]), (first, last, bool(missing))

    def _better_sets(self, one: int, other: int) -> Literal | None:
        """Return the values of the smaller of two columns of categories."""
        from spexplain.kernels.rules import search_sets

        space, task, rows = self.space, self.task, self.rows
        n_a, n_b = int(space.sizes[one]) + 1, int(space.sizes[other]) + 1
        cell = space.codes[one][rows].astype(np.int64) * n_b + space.codes[other][rows]
        tp = _summed(cell, task.inside[rows], n_a * n_b).reshape(n_a, n_b)
        fp = _summed(cell, task.outside[rows], n_a * n_b).reshape(n_a, n_b)
        order = np.argsort(-tp.sum(axis=1), kind="stable")
        order = order[tp.sum(axis=1)[order] > 0]  # others never help
        marks = np.zeros(n_a, dtype=np.bool_)
        self.best[6] = 0.0
        shape = len(order) + 2, n_b
        search_sets(
            len(order), n_b, order, tp, fp, task.form, np.zeros(shape), np.zeros(shape), np.zeros(shape),
            np.zeros(len(order) + 2, dtype=np.int64), self.best, marks, self.work,
        )  # fmt: skip
        if not self.best[6]:
            return None
        return int(space.numbers[one]), tuple(np.flatnonzero(marks).tolist())


class Words(Space):
    """Rules over the words of documents: ``contains any of "a", "b" and no "c"``.

    Parameters
    ----------
    entries : csr_array of shape (n_rows, n_words)
        How often, or how strongly, each document has each word; it contains those above zero.
    numbers : array of int
        The words that rules may use.
    """

    width: ClassVar[int] = 8

    def __init__(self, entries: Any, numbers: Ints) -> None:
        has = sparse.csr_array(entries > 0)
        has.sort_indices()
        self.n_rows, self.n_words = has.shape
        self.numbers = numbers
        self.indptr, self.indices = has.indptr.astype(np.int64), has.indices.astype(np.int32)
        self._columns = sparse.csc_array(has)

    def _has(self, word: int) -> Bools:
        """Return the documents that contain a word."""
        start, stop = self._columns.indptr[word : word + 2]
        found = np.zeros(self.n_rows, dtype=np.bool_)
        found[self._columns.indices[start:stop]] = True
        return found

    def _clause(self, clause: tuple[Literal, ...]) -> Bools:
        found = np.zeros(self.n_rows, dtype=np.bool_)
        for word, is_in in clause:
            found |= self._has(word) if is_in else ~self._has(word)
        return found

    def rows(self, clauses: Clauses) -> Bools:
        """Return the documents that a rule covers."""
        covered = np.ones(self.n_rows, dtype=np.bool_)
        for clause in clauses:
            covered &= self._clause(clause)
        return covered

    def _sums(self, rows: Ints, task: Task) -> tuple[Floats, Floats]:
        """Return the weights of the documents with each word, among some of those that count."""
        if 2 * len(rows) < len(task.rows):
            return self._counted(rows, task)
        # Of most documents: what all have, less what the others have.
        tp, fp = self._totals(task)
        is_other = np.zeros(self.n_rows, dtype=np.bool_)
        is_other[task.rows] = True
        is_other[rows] = False
        less_tp, less_fp = self._counted(np.flatnonzero(is_other), task)
        return tp - less_tp, fp - less_fp

    def _totals(self, task: Task) -> tuple[Floats, Floats]:
        """Return the weights of all documents with each word."""
        if "words" not in task.memo:
            task.memo["words"] = self._counted(task.rows, task)
        tp, fp = task.memo["words"]
        return tp, fp

    def _alone(self, task: Task) -> Floats:
        """Return how well each word does alone."""
        if "alone" not in task.memo:
            task.memo["alone"] = task.value(*self._totals(task))
        found: Floats = task.memo["alone"]
        return found

    def _counted(self, rows: Ints, task: Task) -> tuple[Floats, Floats]:
        from spexplain.kernels.rules import sum_words

        tp, fp = np.empty(self.n_words), np.empty(self.n_words)
        sum_words(self.indptr, self.indices, rows, task.inside, task.outside, tp, fp)
        return tp, fp

    def _extensions(
        self, clauses: Clauses, task: Task, n_best: int, without: frozenset[int]
    ) -> list[FoundRule]:
        """Return the best rules that have one word more: beside another, demanded or ruled out."""
        from spexplain.kernels.rules import best_words

        allowed = self._allowed(without)
        allowed[[word for clause in clauses for word, _ in clause]] = False
        held = [self._clause(clause) for clause in clauses]
        counts = np.zeros(self.n_rows, dtype=np.int8)
        for each in held:
            counts += each
        all_rows = task.rows
        inside = all_rows[counts[all_rows] == len(clauses)]
        base_tp, base_fp = task.inside[inside].sum(), task.outside[inside].sum()
        tp, fp = self._sums(inside, task)
        everything = task.inside[all_rows].sum() + task.outside[all_rows].sum()
        alone = self._alone(task)
        found = []

        def keep(start: tuple[float, float], sign: float, longer: Any) -> None:
            # Of words that do equally well, those that also do well alone.
            words, values = np.empty(n_best, dtype=np.int64), np.empty(n_best)
            n_found = best_words(
                tp, fp, *start, sign, allowed, alone, _TIE, everything, task.form, task.nothing, words, values
            )  # fmt: skip
            for word, value in zip(
                words[:n_found].tolist(), values[:n_found].tolist(), strict=True
            ):
                clauses = longer(word)
                weight = sum(float(alone[each]) for clause in clauses for each, _ in clause)
                found.append(FoundRule(value, clauses, weight=round(weight, 9)))

        keep((0.0, 0.0), 1.0, lambda word: (*clauses, ((word, True),)))
        keep((base_tp, base_fp), -1.0, lambda word: (*clauses, ((word, False),)))
        for place, clause in enumerate(clauses):
            if not all(is_in for _, is_in in clause):
                continue
            # Documents that this clause alone leaves out.
            outside = all_rows[(counts[all_rows] == len(clauses) - 1) & ~held[place][all_rows]]
            tp, fp = self._sums(outside, task)
            before, after = clauses[:place], clauses[place + 1 :]
            keep(
                (base_tp, base_fp),
                1.0,
                lambda word, b=before, c=clause, a=after: (*b, (*c, (word, True)), *a),
            )
        return sorted(found, key=lambda each: each.rank)[:n_best]

    def _allowed(self, without: frozenset[int]) -> Bools:
        """Return which words rules may use."""
        allowed = np.zeros(self.n_words, dtype=np.bool_)
        allowed[self.numbers] = True
        allowed[list(without)] = False
        return allowed

    def best_pair(
        self, task: Task, value: float, without: frozenset[int]
    ) -> tuple[FoundRule | None, bool]:
        """Return the best rule of two words if it is above a value, and whether none can be better.

        Of "a or b", let a be the word of more documents of the cluster: then the rule has at most
        twice as many. Of "a and b" and "a without b", a has all that the rule has. Of "neither a nor b",
        let a be the word of more other documents: b rules out no more.
        """
        rows = task.rows
        tp, fp = self._sums(rows, task)
        total, others = task.inside[rows].sum(), task.outside[rows].sum()
        allowed = self._allowed(without)
        best: FoundRule | None = None
        tried: set[tuple[int, bool]] = set()
        while True:
            up, down, start = task.gains(best.value if best else value)
            joined = up * np.minimum(total, 2 * tp) + down * fp + start
            demanded = up * tp + start
            neither = up * (total - tp) + down * np.maximum(others - 2 * fp, 0) + start
            present = allowed & (np.maximum(joined, demanded) > _TINY)
            firsts = [(word, True) for word in np.flatnonzero(present).tolist()]
            firsts += [
                (word, False) for word in np.flatnonzero(allowed & (neither > _TINY)).tolist()
            ]
            waiting = [each for each in firsts if each not in tried]
            if not waiting or len(tried) >= _MOST_WORDS:
                return best, not waiting
            # The most promising first, so that fewer are left.
            waiting.sort(key=lambda each: -(joined if each[1] else neither)[each[0]])
            for first in waiting[: max(1, len(waiting) // 4)]:
                tried.add(first)
                for each in self.extensions(((first,),), task, 1, without):
                    if each.value > (best.value if best else value) + _TINY:
                        best = each

    def affinity(self, task: Task) -> Ints:
        """Return how many of the words that are best alone every document contains."""
        found = np.zeros(self.n_rows, dtype=np.int64)
        for word in np.argsort(-self._alone(task), kind="stable")[:_N_TELLING].tolist():
            found += self._has(word)
        return found

    def simplified(self, clauses: Clauses, task: Task) -> Clauses:
        """Return the rule as it is."""
        return clauses

    def to_rule(self, clauses: Clauses) -> Rule:
        """Return a rule in values of the table."""
        contained, absent = Region(((0.0, inf),), False), Region(((-inf, 0.0),), False)
        return Rule(
            tuple(
                Condition(tuple(word for word, _ in clause), contained if clause[0][1] else absent)
                for clause in clauses
            )
        )
