"""Why a number is not equal to the published one: found by looking, cell by cell."""

from dataclasses import dataclass, field

from spexplain.paper.protocol import DATASETS
from spexplain.paper.results import Value


@dataclass(frozen=True)
class Rule:
    """A reason, and the numbers that it holds for; an empty field holds for all."""

    text: str
    tables: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def holds(self, value: Value) -> bool:
        """Whether this is the reason for a number."""
        row = value.row
        pairs = (
            (self.tables, row.table),
            (self.datasets, row.dataset),
            (self.groups, row.group),
            (self.methods, row.method),
        )
        return all(not some or one in some for some, one in pairs)


FOREIGN = "Another embedding than the paper's: the published number is not comparable."
UNKNOWN = (
    "Differs on this machine for a reason that nobody has looked into yet; versions of scikit-learn or pyamg may "
    "lead to another reference."
)
_EMBEDDED = tuple(name for name, dataset in DATASETS.items() if dataset.embedding)
# The first rule that holds is the reason.
RULES = (
    Rule(
        "Ours is .6715, just above the border between two roundings; the authors' own code also gives .672 here.",
        ("large",),
        ("Beans",),
        ("spectral",),
        ("SpEx-Clique",),
    ),
    Rule(
        "The kernel's settings are not recorded. With the ones found, the reference, SpEx-Clique and CART "
        "of this group are as printed; our Kernel IMM tree agrees more with the reference (.951) than the "
        "printed one (.930). No other kernel or scale that was tried gives the printed row.",
        ("small",),
        ("Cancer",),
        ("kernel k-means",),
        ("Kernel IMM",),
    ),
    Rule(
        "The k-means reference is one of many local optima, and the seed is not recorded. Of those that "
        "1,500 seeds end in, this one comes closest: SpEx-Clique and ExKMC are as printed, CART is not.",
        ("leaves",),
        ("Ecoli",),
        ("k-means",),
        ("CART",),
    ),
    Rule(
        "k-means has two local optima here. ExKMC gives .717 and .748 with the one for which SpEx-Clique "
        "and CART are as printed, .731 and .767 with the other; the printed .730 and .755 are the scores of"
        " that other optimum itself.",
        ("leaves",),
        ("Iris",),
        ("k-means",),
        ("ExKMC",),
    ),
    Rule(
        "The embedding was made again with the paper's model and, in the data folder, kept in half "
        "precision: it is not the paper's to the last digit. The spectral reference already differs in the "
        "third decimal, and the trees explain that reference.",
        datasets=("Newsgroups",),
        groups=("spectral",),
    ),
    Rule(
        "The settings of the published k-means are not recorded. Mini-batch k-means with seed 0 comes "
        "within .001 of its scores but is not the same clustering, and the embedding is not the paper's to "
        "the last digit.",
        ("large",),
        ("Newsgroups",),
        ("k-means",),
    ),
    Rule(
        "The seed of the published k-means is not recorded: our reference is another local optimum.",
        ("leaves",),
        _EMBEDDED,
        ("k-means",),
    ),
    Rule(
        "The embedding was made again with the paper's model, and the settings of the published reference "
        "are not all recorded.",
        datasets=_EMBEDDED,
    ),
)


@dataclass
class Notes:
    """Reasons in the order in which they are first met.

    Attributes
    ----------
    texts : list of str
        The reasons; the first has number 1.
    """

    texts: list[str] = field(default_factory=list)

    def reason(self, value: Value) -> str | None:
        """Return why a number differs; None if it does not, or if there is nothing to compare."""
        if value.row.table == "runtime" or value.is_equal is None:
            return None
        if not value.comparable:
            return FOREIGN
        if value.is_equal:
            return None
        return next((rule.text for rule in RULES if rule.holds(value)), UNKNOWN)

    def number(self, value: Value) -> int | None:
        """Return the number of the reason why a number differs."""
        text = self.reason(value)
        if text is None:
            return None
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1
