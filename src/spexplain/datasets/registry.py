"""What is known of the datasets that live in files: names, sizes, and where to get them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# A commit, not a branch: the checksums below hold for these very files.
_BENCHMARK = (
    "https://raw.githubusercontent.com/deric/clustering-benchmark/"
    "fc7aba73c873b0e017dd3a6d7113b1cb2ede118a/src/main/resources/datasets"
)


@dataclass(frozen=True)
class Source:
    """Where a file can be downloaded.

    Attributes
    ----------
    name : str
        Name of the file in the cache; its ending says how to read it.
    url : str
        Address of the file.
    sha256 : str or None
        Checksum in hexadecimal digits; None if it is not known. The content is checked anyway.
    member : str or None
        For an archive: the end of the name of the file in it.
    """

    name: str
    url: str
    sha256: str | None = None
    member: str | None = None


@dataclass(frozen=True)
class Table:
    """A dataset in a text file, with a column ``class``.

    Attributes
    ----------
    name : str
        Name of the dataset.
    file : str
        Name of the CSV file in a data folder.
    features : tuple of str
        Names of the columns of ``data``.
    class_sizes : mapping of str to int
        Number of rows of each class in the file.
    source : Source
        Where to download the file.
    descr : str
        Description.
    min_class_size : int
        Classes with fewer rows are left out, unless all are asked for.
    spellings : mapping of str to str
        Other names of columns in files in circulation, in lower case, with the proper ones.
    """

    name: str
    file: str
    features: tuple[str, ...]
    class_sizes: Mapping[str, int]
    source: Source
    descr: str
    min_class_size: int = 0
    spellings: Mapping[str, str] = field(default_factory=dict)


TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            name="r15",
            file="r15.csv",
            features=("x", "y"),
            class_sizes={str(i): 40 for i in range(1, 16)},
            source=Source(
                "R15.arff",
                f"{_BENCHMARK}/artificial/R15.arff",
                "074099b26c9fa2c46530a897faadd3349cc4a458d9cfc010c245780c922d14bf",
            ),
            descr=(
                "R15: 600 points in the plane in 15 round clusters of 40: one in the middle, seven "
                "close around it, seven farther out. A synthetic benchmark, freely passed "
                "on among researchers; the file is that of the repository "
                "deric/clustering-benchmark, which names no licence. Reference: C. J. Veenman, "
                "M. J. T. Reinders and E. Backer, A maximum variance cluster algorithm, IEEE "
                "Transactions on Pattern Analysis and Machine Intelligence 24(9), 2002."
            ),
        ),
        Table(
            name="pathbased",
            file="pathbased.csv",
            features=("x", "y"),
            class_sizes={"1": 110, "2": 97, "3": 93},
            source=Source(
                "pathbased.arff",
                f"{_BENCHMARK}/artificial/pathbased.arff",
                "11dde937254998ed0e83bdb17f914705574f238814122c1430bd2fca6a1e576b",
            ),
            descr=(
                "Pathbased: 300 points in the plane, an open ring of 110 around two round clusters "
                "of 97 and 93. A synthetic benchmark, freely passed on among researchers; the file "
                "is that of the repository deric/clustering-benchmark, which names no licence. "
                "Reference: H. Chang and D.-Y. Yeung, Robust path-based spectral clustering, "
                "Pattern Recognition 41(1), 2008."
            ),
        ),
        Table(
            name="ecoli",
            file="ecoli.csv",
            features=("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2"),
            class_sizes={
                "cp": 143,
                "im": 77,
                "pp": 52,
                "imU": 35,
                "om": 20,
                "omL": 5,
                "imL": 2,
                "imS": 2,
            },
            source=Source(
                "ecoli.arff",
                f"{_BENCHMARK}/real-world/ecoli.arff",
                "b58b1a588dac527ff9ae2aaad6d91a193876c826f1c97c24dea6e2924d60f860",
            ),
            descr=(
                "Ecoli: proteins of the bacterium Escherichia coli, described by seven scores "
                "computed from their sequences; the class is the place in the cell. The file has "
                "336 proteins in 8 classes; the three classes of fewer than ten members are left "
                "out unless asked for, which leaves 327 proteins in 5 classes. Originally at the "
                "UCI Machine Learning Repository (id 39) under CC BY 4.0; the file is that of the "
                "repository deric/clustering-benchmark. Reference: P. Horton and K. Nakai, A "
                "probabilistic classification system for predicting the cellular localization "
                "sites of proteins, Intelligent Systems for Molecular Biology, 1996."
            ),
            min_class_size=10,
        ),
        Table(
            name="beans",
            file="dry_bean.csv.gz",
            features=(
                "Area",
                "Perimeter",
                "MajorAxisLength",
                "MinorAxisLength",
                "AspectRation",
                "Eccentricity",
                "ConvexArea",
                "EquivDiameter",
                "Extent",
                "Solidity",
                "roundness",
                "Compactness",
                "ShapeFactor1",
                "ShapeFactor2",
                "ShapeFactor3",
                "ShapeFactor4",
            ),
            class_sizes={
                "BARBUNYA": 1322,
                "BOMBAY": 522,
                "CALI": 1630,
                "DERMASON": 3546,
                "HOROZ": 1928,
                "SEKER": 2027,
                "SIRA": 2636,
            },
            # UCI publishes no checksum of its archive; the size of every class is checked instead.
            source=Source(
                "dry_bean.zip",
                "https://archive.ics.uci.edu/static/public/602/dry+bean+dataset.zip",
                member=".arff",
            ),
            descr=(
                "Dry Bean: 13,611 beans of 7 varieties, described by 16 numbers on the size and "
                "shape of their outlines in photographs. Values, spelling of the column names and "
                "the 68 repeated rows are those of the original file. From the UCI Machine "
                "Learning Repository (id 602) under CC BY 4.0. Reference: M. Koklu and I. A. "
                "Ozkan, Multiclass classification of dry beans using computer vision and machine "
                "learning techniques, Computers and Electronics in Agriculture 174, 2020."
            ),
            spellings={"aspectratio": "AspectRation"},
        ),
    )
}
