"""The datasets: their contents, and how their files are found, downloaded and read."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch

from spexplain import datasets
from spexplain.datasets import files, registry
from spexplain.datasets.embeddings import EMBEDDINGS
from spexplain.datasets.registry import TABLES, Source, Table

DATA = os.environ.get("SPEXPLAIN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="SPEXPLAIN_DATA names no folder with the files")


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data folder, and an empty cache, whose path is given."""
    monkeypatch.delenv("SPEXPLAIN_DATA", raising=False)
    cache = tmp_path / "cache"
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(cache))
    return cache


def check_bunch(dataset: Bunch, n_samples: int, n_features: int, n_classes: int) -> None:
    assert isinstance(dataset, Bunch)
    assert dataset.data.shape == (n_samples, n_features)
    assert np.isfinite(dataset.data).all()
    assert dataset.target.dtype == np.int64
    assert np.unique(dataset.target).tolist() == list(range(n_classes))
    assert dataset.target.shape == (n_samples,)
    assert isinstance(dataset.feature_names, list)
    assert len(dataset.feature_names) == n_features
    assert all(type(name) is str for name in dataset.feature_names)
    assert isinstance(dataset.target_names, np.ndarray)
    assert dataset.target_names.dtype.kind == "U"
    assert len(set(dataset.target_names)) == n_classes
    assert len(dataset.DESCR) > 80


def same(a: Bunch, b: Bunch) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


def is_sentence(error: BaseException) -> bool:
    text = str(error)
    return "\n" not in text and text.endswith(".")


# ---------------------------------------------------------------- scikit-learn's, and made ones


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("iris", (150, 4, 3)),
        ("iris-uci", (150, 4, 3)),
        ("cancer", (569, 30, 2)),
        ("two_moons", (500, 2, 2)),
        ("three_clusters", (500, 2, 3)),
    ],
)
def test_datasets_without_files(name: str, shape: tuple[int, int, int]) -> None:
    dataset = datasets.load(name)
    check_bunch(dataset, *shape)
    assert dataset.data.dtype == np.float64
    assert same(dataset, datasets.load(name))


def test_iris_is_scikit_learns() -> None:
    np.testing.assert_array_equal(datasets.load("iris").data, sklearn.datasets.load_iris().data)


def test_iris_uci_differs_in_two_rows() -> None:
    uci, iris = datasets.load("iris-uci").data, datasets.load("iris").data
    assert np.flatnonzero((uci != iris).any(axis=1)).tolist() == [34, 37]
    assert uci[[34, 37]].tolist() == [[4.9, 3.1, 1.5, 0.1]] * 2


def test_two_moons_is_scikit_learns() -> None:
    X, y = sklearn.datasets.make_moons(120, noise=0.2, random_state=3)
    moons = datasets.two_moons(120, noise=0.2, random_state=3)
    np.testing.assert_array_equal(moons.data, X)
    np.testing.assert_array_equal(moons.target, y)
    assert same(moons, datasets.load("two_moons", n_samples=120, noise=0.2, random_state=3))


def test_seeds_matter() -> None:
    for make in (datasets.two_moons, datasets.three_clusters):
        assert not np.array_equal(make().data, make(random_state=1).data)


def best_spex_clique_cut(
    X: np.ndarray, y: np.ndarray, leaves: list[np.ndarray]
) -> tuple[float, int, int, float]:
    """Try every cut of every leaf: the least score, and its leaf, feature and threshold."""
    sizes = np.bincount(y)

    def conductance(rows: np.ndarray) -> float:
        counts = np.bincount(y[rows], minlength=len(sizes))
        return float((counts * (sizes - counts)).sum() / (counts * (sizes - 1)).sum())

    best = (np.inf, -1, -1, np.nan)
    for leaf, rows in enumerate(leaves):
        for feature in range(X.shape[1]):
            values = np.unique(X[rows, feature])
            for threshold in (values[1:] + values[:-1]) / 2:
                left = X[rows, feature] <= threshold
                score = conductance(rows[left]) + conductance(rows[~left])
                best = min(best, (score, leaf, feature, float(threshold)))
    return best


def mistakes(y: np.ndarray, leaf_of_row: np.ndarray) -> int:
    leaves = [np.bincount(y[leaf_of_row == leaf]) for leaf in np.unique(leaf_of_row)]
    return int(sum(counts.sum() - counts.max() for counts in leaves))


@settings(max_examples=15, deadline=None)
@given(n_samples=st.integers(30, 400), seed=st.integers(0, 2**32 - 1))
def test_three_clusters_misleads_gini_but_not_spex(n_samples: int, seed: int) -> None:
    dataset = datasets.three_clusters(n_samples, random_state=seed)
    check_bunch(dataset, n_samples, 2, 3)
    X, y = dataset.data, dataset.target

    cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    assert cart.tree_.feature[0] == 0
    assert mistakes(y, cart.apply(X)) > 0

    leaves = [np.arange(n_samples)]
    for expected_feature in (1, 0):
        score, leaf, feature, threshold = best_spex_clique_cut(X, y, leaves)
        assert score == 0
        assert feature == expected_feature
        rows = leaves.pop(leaf)
        left = X[rows, feature] <= threshold
        leaves += [rows[left], rows[~left]]
    assert [len(set(y[rows])) for rows in leaves] == [1, 1, 1]


def test_three_clusters_default_has_many_mistakes() -> None:
    X, y = (dataset := datasets.three_clusters()).data, dataset.target
    cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    assert mistakes(y, cart.apply(X)) >= 10


def test_three_clusters_too_small() -> None:
    with pytest.raises(ValueError, match="at least 30, got 29") as caught:
        datasets.three_clusters(29)
    assert is_sentence(caught.value)


# ---------------------------------------------------------------- wrong calls


def test_unknown_name_lists_and_suggests() -> None:
    with pytest.raises(ValueError, match=r"'Ecolli' \(did you mean 'ecoli'\?\)") as caught:
        datasets.load("Ecolli")
    assert is_sentence(caught.value)
    for name in ("iris", "iris-uci", "cancer", "two_moons", "three_clusters", *TABLES, *EMBEDDINGS):
        assert name in str(caught.value)


def test_unknown_name_without_likeness() -> None:
    with pytest.raises(ValueError, match="no dataset 'zzz', only iris") as caught:
        datasets.load("zzz")
    assert is_sentence(caught.value)


@pytest.mark.parametrize("name", ["iris", "two_moons", "r15", "cifar10"])
def test_full_elsewhere(name: str) -> None:
    with pytest.raises(ValueError, match="full=True applies to 'ecoli' only") as caught:
        datasets.load(name, full=True)
    assert is_sentence(caught.value)


def test_options_elsewhere() -> None:
    with pytest.raises(TypeError, match="'iris' has no parameter 'n_samples'") as caught:
        datasets.load("iris", n_samples=10)
    assert is_sentence(caught.value)


def test_import_is_light() -> None:
    code = (
        "import sys, spexplain.datasets; "
        "assert not {'pooch', 'sklearn.datasets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# ---------------------------------------------------------------- the real files


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
def test_arff_equals_csv(name: str, newline: str, serve: Callable[..., Table]) -> None:
    """The rows of the CSV, served as an ARFF with the line ends of the source."""
    table = TABLES[name]
    path = Path(str(DATA), table.file)
    data, labels = files.read_table(path, table)
    rows = path.read_text().splitlines()[1:]
    serve(name, arff(table.features, [*table.class_sizes], rows, newline))
    dataset = datasets.load(name, full=name == "ecoli")
    np.testing.assert_array_equal(dataset.data, data)
    assert dataset.target_names[dataset.target].tolist() == labels


@needs_data
def test_beans_archive_equals_csv(serve: Callable[..., Table]) -> None:
    table = TABLES["beans"]
    path = Path(str(DATA), table.file)
    data, labels = files.read_table(path, table)
    rows = gzip.decompress(path.read_bytes()).decode().splitlines()[1:]
    serve("beans", zipped(arff(uci_spelling(table), [*table.class_sizes], rows)))
    dataset = datasets.load("beans")
    check_bunch(dataset, 13611, 16, 7)
    np.testing.assert_array_equal(dataset.data, data)
    assert dataset.target_names[dataset.target].tolist() == labels
    assert dataset.feature_names == list(table.features)


# ---------------------------------------------------------------- the download


def arff(
    columns: tuple[str, ...] | list[str],
    classes: list[str],
    rows: list[str],
    newline: str = "\n",
) -> bytes:
    lines = ["% a comment, with", "", "@RELATION some", ""]
    lines += [f"@ATTRIBUTE {column}\tREAL" for column in columns]
    lines += [f"@attribute 'Class' {{{','.join(classes)}}}", "", "@DATA", *rows, ""]
    return newline.join(lines).encode()


def zipped(content: bytes, name: str = "Beans/Dry_Bean.ARFF") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Beans/readme.txt", "not this one")
        archive.writestr("__MACOSX/Beans/._Dry_Bean.arff", b"\x00")
        archive.writestr(name, content)
    return buffer.getvalue()


def uci_spelling(table: Table) -> list[str]:
    other = {"AspectRation": "AspectRatio", "roundness": "Roundness"}
    return [other.get(feature, feature) for feature in table.features]


def small(table: Table, n_per_class: int = 3) -> tuple[Table, list[str]]:
    """Shrink a dataset to a few made-up rows."""
    rows = []
    for k, label in enumerate(table.class_sizes):
        for i in range(n_per_class):
            values = [f"{k}.{i}{j:02d}" for j in range(len(table.features))]
            rows.append(",".join([*values, label]))
    sizes = dict.fromkeys(table.class_sizes, n_per_class)
    return replace(table, class_sizes=sizes, min_class_size=0), rows


class Server:
    """A server on this machine, with files to be set and requests to be counted."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.promise = 0
        self.requests = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests += 1
                content = outer.files.get(self.path)
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content) + outer.promise))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._open = True

    def close(self) -> None:
        if self._open:
            self._open = False
            self._http.shutdown()
            self._thread.join()
            self._http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    # A proxy of the environment cannot reach the server of the test.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    yield server
    server.close()


@pytest.fixture
def serve(server: Server, no_data: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Table]:
    """A function that lets the server stand in for the source of a dataset."""

    def put(
        name: str, content: bytes, *, sha256: str | None = "right", table: Table | None = None
    ) -> Table:
        table = table or TABLES[name]
        if sha256 == "right":
            sha256 = hashlib.sha256(content).hexdigest()
        server.files[f"/{table.source.name}"] = content
        url = f"{server.address}/{table.source.name}"
        source = Source(table.source.name, url, sha256, table.source.member)
        table = replace(table, source=source)
        monkeypatch.setitem(registry.TABLES, name, table)
        return table

    return put


def serve_small(serve: Callable[..., Table], name: str, sha256: str | None = "right") -> Table:
    table, rows = small(TABLES[name])
    content = arff(table.features, [*table.class_sizes], rows)
    return serve(name, content, sha256=sha256, table=table)


def check_trouble(error: BaseException, table: Table, cache: Path) -> None:
    """The message helps on, and the cache has nothing of a failed download."""
    assert is_sentence(error)
    for part in (repr(table.name), table.source.url, table.source.name, str(cache)):
        assert part in str(error)
    assert not cache.exists() or not any(cache.iterdir())


def test_download_once(serve: Callable[..., Table], server: Server, no_data: Path) -> None:
    table = serve_small(serve, "ecoli")
    first = datasets.load("ecoli")
    check_bunch(first, 24, 7, 8)
    assert first.data[1].tolist() == pytest.approx([float(f"0.1{j:02d}") for j in range(7)])
    assert [path.name for path in no_data.iterdir()] == [table.source.name]
    server.close()
    assert same(datasets.load("ecoli"), first)
    assert server.requests == 1


def test_download_equals_csv(
    serve: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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
    serve: Callable[..., Table], server: Server, no_data: Path
) -> None:
    table = serve_small(serve, "pathbased")
    first = datasets.load("pathbased")
    (no_data / table.source.name).write_bytes(b"damaged")
    assert same(datasets.load("pathbased"), first)
    assert server.requests == 2


def test_wrong_checksum(serve: Callable[..., Table], no_data: Path) -> None:
    table = serve_small(serve, "r15", sha256="0" * 64)
    with pytest.raises(ValueError, match="checksum 0000") as caught:
        datasets.load("r15")
    check_trouble(caught.value, table, no_data)


def test_not_found(serve: Callable[..., Table], server: Server, no_data: Path) -> None:
    table = serve_small(serve, "r15")
    server.files.clear()
    with pytest.raises(ConnectionError, match="404") as caught:
        datasets.load("r15")
    check_trouble(caught.value, table, no_data)


def test_server_closed(serve: Callable[..., Table], server: Server, no_data: Path) -> None:
    table = serve_small(serve, "r15")
    server.close()
    with pytest.raises(ConnectionError, match="no connection") as caught:
        datasets.load("r15")
    check_trouble(caught.value, table, no_data)


@pytest.mark.parametrize("sha256", ["right", None])
def test_broken_off(
    sha256: str | None, serve: Callable[..., Table], server: Server, no_data: Path
) -> None:
    table = serve_small(serve, "r15", sha256=sha256)
    server.promise = 10
    with pytest.raises((ConnectionError, ValueError)) as caught:
        datasets.load("r15")
    check_trouble(caught.value, table, no_data)


def test_cache_cannot_be_made(
    serve: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = serve_small(serve, "r15")
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(OSError, match="cannot be written") as caught:
        datasets.load("r15")
    assert is_sentence(caught.value)
    assert table.source.url in str(caught.value)


def test_beans_archive(serve: Callable[..., Table], server: Server, no_data: Path) -> None:
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
)
def test_beans_archive_is_something_else(
    content: bytes, reason: str, serve: Callable[..., Table], no_data: Path
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
    files.download(TABLES["r15"])
    assert asked == [str(pooch.os_cache("spexplain"))]


@pytest.mark.parametrize("name", ["r15", "pathbased", "ecoli"])
def test_sources_are_pinned(name: str) -> None:
    source = TABLES[name].source
    assert source.sha256 is not None
    assert len(source.sha256) == 64
    assert source.url.startswith("https://")
    assert "/fc7aba73c873b0e017dd3a6d7113b1cb2ede118a/" in source.url


# ---------------------------------------------------------------- the data folder


def test_data_folder_lacks_the_file(
    serve: Callable[..., Table], server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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


# ---------------------------------------------------------------- embeddings


@pytest.mark.parametrize("name", ["newsgroups", "caltech101", "cifar10", "mnist"])
def test_embedding_without_the_models(
    name: str, no_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("sentence_transformers", "open_clip"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r'pip install "spexplain\[embed\]"') as caught:
        datasets.load(name)
    assert is_sentence(caught.value)
    assert EMBEDDINGS[name].file in str(caught.value)
    assert "SPEXPLAIN_DATA" in str(caught.value)
    assert not no_data.exists()


@pytest.fixture
def small_embedding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The path at which a shrunk 'newsgroups' of 6 rows, 3 columns, 2 classes is looked for."""
    embedding = replace(EMBEDDINGS["newsgroups"], shape=(6, 3), target_names=("a", "b"))
    monkeypatch.setitem(EMBEDDINGS, "newsgroups", embedding)
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    return tmp_path / embedding.file


X6 = np.arange(18).reshape(6, 3).astype(np.float16)
Y6 = np.array([0, 1] * 3, dtype=np.int16)


def test_embedding(small_embedding: Path) -> None:
    np.savez(small_embedding, X=X6, y=Y6, spectral=1 - Y6)
    dataset = datasets.load("newsgroups")
    check_bunch(dataset, 6, 3, 2)
    assert dataset.data.dtype == np.float32
    assert dataset.spectral.tolist() == [1, 0] * 3
    assert dataset.spectral.dtype == np.int64
    assert "kmeans" not in dataset


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"y": Y6}, "X"),
        ({"X": X6}, "y"),
        ({"X": X6[:, :2], "y": Y6}, r"shape \(6, 2\), not \(6, 3\)"),
        ({"X": X6, "y": Y6[:4]}, "its y does not have 6 entries"),
        ({"X": X6, "y": Y6, "kmeans": Y6[:4]}, "its kmeans does not have 6 entries"),
        ({"X": X6, "y": 2 * Y6}, "classes 0 to 1"),
    ],
)
def test_embedding_is_something_else(
    arrays: dict[str, np.ndarray], reason: str, small_embedding: Path
) -> None:
    np.savez(small_embedding, **arrays)
    with pytest.raises(ValueError, match=reason) as caught:
        datasets.load("newsgroups")
    assert is_sentence(caught.value)


def test_embedding_is_no_archive(small_embedding: Path) -> None:
    small_embedding.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="not a NumPy archive") as caught:
        datasets.load("newsgroups")
    assert is_sentence(caught.value)
