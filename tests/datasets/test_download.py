"""Files of datasets that are fetched: once, checked, and with a sentence where that fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from served import (
    Server,
    arff,
    check_bunch,
    check_trouble,
    is_sentence,
    same,
    serve_small,
    small,
    uci_spelling,
    zipped,
)
from spexplain import datasets
from spexplain.datasets import download
from spexplain.datasets.registry import TABLES, TextTable


def test_download_once(serve: Callable[..., TextTable], server: Server, no_data: Path) -> None:
    table = serve_small(serve, "ecoli")
    first = datasets.load("ecoli")
    check_bunch(first, 24, 7, 8)
    assert first.data[1].tolist() == pytest.approx([float(f"0.1{j:02d}") for j in range(7)])
    assert [path.name for path in no_data.iterdir()] == [table.source.name]
    server.close()
    assert same(datasets.load("ecoli"), first)
    assert server.requests == 1


def test_download_equals_csv(
    serve: Callable[..., TextTable], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table, rows = small(TABLES["r15"])
    serve("r15", arff(table.features, [*table.class_sizes], rows, "\r\n"), table=table)
    downloaded = datasets.load("r15")
    (tmp_path / "r15.csv").write_text("\n".join(["x,y,class", *rows]) + "\n")
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path / "empty"))
    assert same(datasets.load("r15"), downloaded)
    assert not (tmp_path / "empty").exists()


def test_damaged_cache_is_downloaded_again(
    serve: Callable[..., TextTable], server: Server, no_data: Path
) -> None:
    table = serve_small(serve, "pathbased")
    first = datasets.load("pathbased")
    (no_data / table.source.name).write_bytes(b"damaged")
    assert same(datasets.load("pathbased"), first)
    assert server.requests == 2


def test_wrong_checksum(serve: Callable[..., TextTable], no_data: Path) -> None:
    table = serve_small(serve, "r15", sha256="0" * 64)
    with pytest.raises(ValueError, match="checksum 0000") as caught:
        datasets.load("r15")
    check_trouble(caught.value, table, no_data)


def test_not_found(serve: Callable[..., TextTable], server: Server, no_data: Path) -> None:
    table = serve_small(serve, "r15")
    server.files.clear()
    with pytest.raises(ConnectionError, match="404") as caught:
        datasets.load("r15")
    check_trouble(caught.value, table, no_data)


def test_server_closed(serve: Callable[..., TextTable], server: Server, no_data: Path) -> None:
    table = serve_small(serve, "r15")
    server.close()
    with pytest.raises(ConnectionError, match="no connection") as caught:
        datasets.load("r15")
    check_trouble(caught.value, table, no_data)


@pytest.mark.parametrize("sha256", ["right", None])
def test_broken_off(
    sha256: str | None, serve: Callable[..., TextTable], server: Server, no_data: Path
) -> None:
    table = serve_small(serve, "r15", sha256=sha256)
    server.promise = 10
    with pytest.raises((ConnectionError, ValueError)) as caught:
        datasets.load("r15")
    check_trouble(caught.value, table, no_data)


def test_cache_cannot_be_made(
    serve: Callable[..., TextTable], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = serve_small(serve, "r15")
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(OSError, match="cannot be written") as caught:
        datasets.load("r15")
    assert is_sentence(caught.value)
    assert table.source.urls[0] in str(caught.value)


def test_beans_archive(serve: Callable[..., TextTable], server: Server, no_data: Path) -> None:
    table, rows = small(TABLES["beans"])
    content = zipped(arff(uci_spelling(table), [*table.class_sizes], rows))
    serve("beans", content, sha256=None, table=table)
    first = datasets.load("beans")
    check_bunch(first, 21, 16, 7)
    assert first.feature_names == list(table.features)
    assert first.target_names.tolist() == sorted(table.class_sizes)
    assert [path.name for path in no_data.iterdir()] == ["dry_bean.zip"]
    server.close()
    assert same(datasets.load("beans"), first)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>please log in</html>", "not a zip"),
        (zipped(b"Area,class", name="beans.csv"), "ends in .arff"),
        (zipped(b"@attribute Area real\n@data\n1\n"), "no column"),
        (zipped(arff(TABLES["beans"].features, ["A"], ["1," * 16 + "A"])), "1 rows in 1 classes"),
        (zipped(arff(TABLES["beans"].features, ["A"], ["?," * 16 + "A"])), "convert"),
    ],
    ids=[
        "page",
        "table",
        "empty",
        "short",
        "missing",
    ],  # the archives hold the time of their making
)
def test_beans_archive_is_something_else(
    content: bytes, reason: str, serve: Callable[..., TextTable], no_data: Path
) -> None:
    table = serve("beans", content, sha256=None)
    with pytest.raises(ValueError, match=reason) as caught:
        datasets.load("beans")
    check_trouble(caught.value, table, no_data)


def test_without_pooch(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r'pip install "spexplain\[datasets\]"') as caught:
        datasets.load("r15")
    assert is_sentence(caught.value)
    assert "'r15'" in str(caught.value)


def test_default_cache_is_the_users(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pooch

    asked: list[str] = []

    class Cache:
        def fetch(self, name: str, **_: object) -> str:
            return name

    def create(path: Path, **_: object) -> Cache:
        asked.append(str(path))
        return Cache()

    monkeypatch.delenv("SPEXPLAIN_CACHE")
    monkeypatch.setattr(pooch, "create", create)
    download.download_table(TABLES["r15"])
    assert asked == [str(pooch.os_cache("spexplain"))]


@pytest.mark.parametrize("name", ["r15", "pathbased", "ecoli"])
def test_sources_are_pinned(name: str) -> None:
    source = TABLES[name].source
    assert source.checksum is not None
    assert len(source.checksum) == 64
    for url in source.urls:
        assert url.startswith("https://")
        assert "/fc7aba73c873b0e017dd3a6d7113b1cb2ede118a/" in url
