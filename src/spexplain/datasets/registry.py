"""The datasets in files: names, sizes, and where to get them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# A commit, not a branch: the checksums below hold for these very files.
_BENCHMARK = (
    "https://raw.githubusercontent.com/deric/clustering-benchmark/"
    "fc7aba73c873b0e017dd3a6d7113b1cb2ede118a/src/main/resources/datasets"
)
_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)


@dataclass(frozen=True)
class RemoteFile:
    """A file that can be downloaded.

    Attributes
    ----------
    name : str
        Name of the file in the cache; its ending tells how to read it.
    urls : tuple of str
        Addresses of the file, the preferred one first.
    checksum : str or None
        SHA-256 in hexadecimal digits, or another digest after its name ("md5:..."); None if it is
        not known. The content is checked anyway.
    member : str or None
        For an archive: the ending of the name of the file in it.
    unpacked : str or None
        For an archive to unpack: the resulting file or folder.
    """

    name: str
    urls: tuple[str, ...]
    checksum: str | None = None
    member: str | None = None
    unpacked: str | None = None


@dataclass(frozen=True)
class TextTable:
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
    source : RemoteFile
        Where to download the file.
    descr : str
        Description.
    min_class_size : int
        Classes with fewer rows are left out, unless all are asked for.
    spellings : mapping of str to str
        Other column names that occur in copies of the file, in lower case, mapped to the proper ones.
    """

    name: str
    file: str
    features: tuple[str, ...]
    class_sizes: Mapping[str, int]
    source: RemoteFile
    descr: str
    min_class_size: int = 0
    spellings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Embedding:
    """A dataset of texts or pictures, each turned into a vector.

    Attributes
    ----------
    name : str
        Name of the dataset.
    file : str
        Name of a NumPy archive in a data folder with precomputed vectors: arrays ``X``, ``y`` and
        perhaps reference labels.
    shape : tuple of int
        Number of rows and of columns in that archive.
    target_names : tuple of str
        Names of the classes in that archive.
    descr : str
        Description of that archive.
    kind : {"texts", "images"}
        What is embedded.
    original : str
        Description of the texts or pictures.
    remotes : tuple of RemoteFile
        Where to download the pictures; the texts are downloaded by scikit-learn.
    """

    name: str
    file: str
    shape: tuple[int, int]
    target_names: tuple[str, ...]
    descr: str
    kind: Literal["texts", "images"]
    original: str
    remotes: tuple[RemoteFile, ...] = ()


TABLES: dict[str, TextTable] = {
    table.name: table
    for table in (
        TextTable(
            name="r15",
            file="r15.csv",
            features=("x", "y"),
            class_sizes={str(i): 40 for i in range(1, 16)},
            source=RemoteFile(
                "R15.arff",
                (f"{_BENCHMARK}/artificial/R15.arff",),
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
        TextTable(
            name="pathbased",
            file="pathbased.csv",
            features=("x", "y"),
            class_sizes={"1": 110, "2": 97, "3": 93},
            source=RemoteFile(
                "pathbased.arff",
                (f"{_BENCHMARK}/artificial/pathbased.arff",),
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
        TextTable(
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
            source=RemoteFile(
                "ecoli.arff",
                (f"{_BENCHMARK}/real-world/ecoli.arff",),
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
        TextTable(
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
            source=RemoteFile(
                "dry_bean.zip",
                ("https://archive.ics.uci.edu/static/public/602/dry+bean+dataset.zip",),
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

_NEWSGROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)

_CIFAR10 = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)

EMBEDDINGS: dict[str, Embedding] = {
    embedding.name: embedding
    for embedding in (
        Embedding(
            name="newsgroups",
            file="newsgroups_mpnet.npz",
            shape=(11314, 768),
            target_names=_NEWSGROUPS,
            descr=(
                "20 Newsgroups: the 11,314 messages of the training part, in scikit-learn's order "
                "and with their headers, each turned into 768 numbers by the sentence transformer "
                "all-mpnet-base-v2; the class is the newsgroup. The values are stored in half "
                "precision. Reference labels: 'spectral' (standardised data, 20 nearest "
                "neighbours, 20 clusters) and 'kmeans' (raw data). Reference: K. Lang, NewsWeeder: "
                "learning to filter netnews, ICML 1995. No licence is stated for the messages."
            ),
            kind="texts",
            original=(
                "20 Newsgroups: messages to newsgroups, with their headers. Reference: K. Lang, "
                "NewsWeeder: learning to filter netnews, ICML 1995."
            ),
        ),
        Embedding(
            name="caltech101",
            file="caltech101_effnet.npz",
            shape=(8677, 512),
            # The file numbers its classes and does not name them.
            target_names=tuple(str(i) for i in range(101)),
            descr=(
                "Caltech-101: 8,677 pictures of objects in 101 classes, without the background "
                "class, each turned into 512 numbers: features of EfficientNet-Lite0, reduced by "
                "principal component analysis. The values are stored in half precision, the "
                "classes are numbered. Reference labels: 'kmeans'. Reference: L. Fei-Fei, "
                "R. Fergus and P. Perona, Learning generative visual models from few training "
                "examples, CVPR Workshop on Generative-Model Based Vision, 2004."
            ),
            kind="images",
            original=(
                "Caltech-101: pictures of objects, without the background class. Reference: L. Fei-Fei, "
                "R. Fergus and P. Perona, Learning generative visual models from few training "
                "examples, CVPR Workshop on Generative-Model Based Vision, 2004."
            ),
            remotes=(
                RemoteFile(
                    "caltech-101.zip",
                    ("https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",),
                    "md5:3138e1922a9193bfa496528edbbc45d0",
                    member="101_ObjectCategories.tar.gz",
                    unpacked="101_ObjectCategories",
                ),
            ),
        ),
        Embedding(
            name="cifar10",
            file="cifar10_effnet.npz",
            shape=(50000, 128),
            target_names=_CIFAR10,
            descr=(
                "CIFAR-10: the 50,000 small pictures of the training part, in 10 classes, each "
                "turned into 128 numbers: features of EfficientNet-Lite0, reduced by principal "
                "component analysis. The values are stored in half precision. Reference: "
                "A. Krizhevsky, Learning multiple layers of features from tiny images, technical "
                "report, University of Toronto, 2009."
            ),
            kind="images",
            original=(
                "CIFAR-10: small pictures of animals and vehicles, the training part. Reference: "
                "A. Krizhevsky, Learning multiple layers of features from tiny images, technical "
                "report, University of Toronto, 2009."
            ),
            remotes=(
                RemoteFile(
                    "cifar-10-binary.tar.gz",
                    ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
                    "md5:c32a1d4ab5d03f1284b67883e8d87530",
                    unpacked="cifar-10-batches-bin",
                ),
            ),
        ),
        Embedding(
            name="mnist",
            file="mnist_clip.npz",
            shape=(60000, 512),
            target_names=tuple(str(digit) for digit in range(10)),
            descr=(
                "MNIST: the 60,000 small pictures of handwritten digits of the training part, each "
                "turned into 512 numbers by CLIP ViT-B/32. Reference: Y. LeCun, L. Bottou, Y. Bengio "
                "and P. Haffner, Gradient-based learning applied to document recognition, Proceedings "
                "of the IEEE 86(11), 1998."
            ),
            kind="images",
            original=(
                "MNIST: small pictures of handwritten digits, the training part. Reference: "
                "Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Gradient-based learning applied to "
                "document recognition, Proceedings of the IEEE 86(11), 1998."
            ),
            remotes=tuple(
                RemoteFile(
                    f"{name}.gz",
                    tuple(f"{mirror}/{name}.gz" for mirror in _MNIST_MIRRORS),
                    checksum,
                    unpacked=name,
                )
                for name, checksum in (
                    ("train-images-idx3-ubyte", "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873"),
                    ("train-labels-idx1-ubyte", "md5:d53e105ee54ea40749a09fcbcd1e9432"),
                )
            ),
        ),
    )
}
