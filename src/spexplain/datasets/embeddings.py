"""What is known of the datasets that are embeddings of texts or pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Embedding:
    """A dataset of texts or pictures, each turned into a vector.

    Attributes
    ----------
    name : str
        Name of the dataset.
    file : str
        Name of a NumPy archive in a data folder that holds the vectors ready-made: arrays ``X``, ``y`` and
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
    """

    name: str
    file: str
    shape: tuple[int, int]
    target_names: tuple[str, ...]
    descr: str
    kind: Literal["texts", "images"]
    original: str


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
        ),
    )
}
