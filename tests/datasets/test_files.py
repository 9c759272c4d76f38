"""Files of datasets that are there already: their contents, and how a data folder is read."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from served import (
    Server,
    arff,
    check_bunch,
    is_sentence,
    serve_small,
    small,
    uci_spelling,
    zipped,
)
from spexplain import datasets
from spexplain.datasets import readers, registry
from spexplain.datasets.registry import EMBEDDINGS, TABLES, TextTable

DATA = os.environ.get("SPEXPLAIN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="SPEXPLAIN_DATA names no folder with the files")


@needs_data
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("r15", (600, 2, 15)),
        ("pathbased", (300, 2, 3)),
        ("ecoli", (327, 7, 5)),
        ("beans", (13611, 16, 7)),
        ("newsgroups", (11314, 768, 20)),
        ("caltech101", (8677, 512, 101)),
        ("cifar10", (50000, 128, 10)),
    ],
)
def test_real_files(name: str, shape: tuple[int, int, int]) -> None:
    dataset = datasets.load(name)
    check_bunch(dataset, *shape)
    assert dataset.data.dtype == (np.float32 if name in EMBEDDINGS else np.float64)


@needs_data
def test_ecoli_full() -> None:
    few, full = datasets.load("ecoli"), datasets.load("ecoli", full=True)
    check_bunch(full, 336, 7, 8)
    assert few.target_names.tolist() == ["cp", "im", "imU", "om", "pp"]
    assert full.target_names.tolist() == ["cp", "im", "imL", "imS", "imU", "om", "omL", "pp"]
    assert np.bincount(few.target).tolist() == [143, 77, 35, 20, 52]
    kept = np.isin(full.target_names[full.target], few.target_names)
    np.testing.assert_array_equal(full.data[kept], few.data)
    np.testing.assert_array_equal(
        full.target_names[full.target[kept]], few.target_names[few.target]
    )


@needs_data
def test_numbered_classes_follow_their_numbers() -> None:
    dataset = datasets.load("r15")
    assert dataset.target_names.tolist() == [str(i) for i in range(1, 16)]
    assert dataset.data[0].tolist() == [9.802, 10.132]
    assert dataset.target[[0, -1]].tolist() == [0, 14]


@needs_data
def test_newsgroups_reference_labels() -> None:
    dataset = datasets.load("newsgroups")
    for key in ("spectral", "kmeans"):
        assert dataset[key].shape == (11314,)
        assert dataset[key].dtype == np.int64
        assert len(np.unique(dataset[key])) == 20
    assert dataset.target_names[dataset.target[0]] == "rec.autos"


@needs_data
@pytest.mark.parametrize(
    ("name", "newline"), [("r15", "\r\n"), ("pathbased", "\n"), ("ecoli", "\n")]
)
def test_arff_equals_csv(name: str, newline: str, serve: Callable[..., TextTable]) -> None:
    """The rows of the CSV, served as an ARFF with the line ends of the source."""
    table = TABLES[name]
    path = Path(str(DATA), table.file)
    data, labels = readers.read_text_table(path, table)
    rows = path.read_text().splitlines()[1:]
    serve(name, arff(table.features, [*table.class_sizes], rows, newline))
    dataset = datasets.load(name, full=name == "ecoli")
    np.testing.assert_array_equal(dataset.data, data)
    assert dataset.target_names[dataset.target].tolist() == labels


@needs_data
def test_beans_archive_equals_csv(serve: Callable[..., TextTable]) -> None:
    table = TABLES["beans"]
    path = Path(str(DATA), table.file)
    data, labels = readers.read_text_table(path, table)
    rows = gzip.decompress(path.read_bytes()).decode().splitlines()[1:]
    serve("beans", zipped(arff(uci_spelling(table), [*table.class_sizes], rows)))
    dataset = datasets.load("beans")
    check_bunch(dataset, 13611, 16, 7)
    np.testing.assert_array_equal(dataset.data, data)
    assert dataset.target_names[dataset.target].tolist() == labels
    assert dataset.feature_names == list(table.features)


def test_data_folder_lacks_the_file(
    serve: Callable[..., TextTable], server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve_small(serve, "r15")
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("SPEXPLAIN_DATA", str(folder))
    check_bunch(datasets.load("r15"), 45, 2, 15)
    assert server.requests == 1


def test_data_folder_with_the_file_of_the_source(
    no_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table, rows = small(TABLES["pathbased"])
    monkeypatch.setitem(registry.TABLES, "pathbased", table)
    content = arff(table.features, [*table.class_sizes], rows)
    (tmp_path / table.source.name).write_bytes(content)
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    check_bunch(datasets.load("pathbased"), 9, 2, 3)
    assert not no_data.exists()


@pytest.mark.parametrize("name", ["r15", "newsgroups"])
def test_data_folder_is_no_folder(
    name: str, no_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match="SPEXPLAIN_DATA") as caught:
        datasets.load(name)
    assert is_sentence(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no column 'x'"),
        ("x,y\n1,2\n", "no column 'class'"),
        ("x,y,class\n1,2,1\n", "1 rows in 1 classes"),
        ("x,y,class\n1,two,1\n", "two"),
        ("x,y,class\n1\n", "index"),
    ],
)
def test_data_folder_has_another_file(
    content: str, reason: str, no_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "r15.csv"
    path.write_text(content)
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=reason) as caught:
        datasets.load("r15")
    assert is_sentence(caught.value)
    assert str(path) in str(caught.value)
    # A file of the user's is never removed, unlike a download.
    assert path.exists()


def test_data_folder_has_a_damaged_archive(
    no_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    whole = gzip.compress(b"Area,class\n" * 100)
    for content in (b"not gzip", whole[:-12]):
        (tmp_path / "dry_bean.csv.gz").write_bytes(content)
        with pytest.raises(ValueError, match="does not hold the dataset 'beans'") as caught:
            datasets.load("beans")
        assert is_sentence(caught.value)


def test_columns_are_taken_by_name(
    no_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = replace(TABLES["r15"], class_sizes={"2": 1, "10": 1})
    monkeypatch.setitem(registry.TABLES, "r15", table)
    (tmp_path / "r15.csv").write_text("\ufeffclass,id,Y,X\n10,a,1,2\n2,b,3,4\n", encoding="utf-8")
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    dataset = datasets.load("r15")
    assert dataset.data.tolist() == [[2, 1], [4, 3]]
    assert dataset.target_names.tolist() == ["2", "10"]
    assert dataset.target.tolist() == [1, 0]
