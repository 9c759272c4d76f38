"""Files are written in one step, through no link that somebody has laid, and never half."""

import errno
import os
import secrets
from pathlib import Path

import pytest

from spexplain.files import PendingFile, replacing, write_file


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_an_old_file_stays_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
        (temporary,) = set(tmp_path.iterdir()) - {path}
        assert temporary.stat().st_mode & 0o777 == 0o640
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["file"]


def test_new_files_get_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("")
    write_file(tmp_path / "new", "ü")
    assert (tmp_path / "new").read_bytes() == "ü".encode()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_failure_leaves_nothing(tmp_path):
    def fail():
        with replacing(tmp_path / "file") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert names(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        write_file(tmp_path / "no folder" / "file", "")


def test_an_existing_file_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(FileExistsError, match="exists already and was left as it is"):
        write_file(path, "new", force=False)
    write_file(path, "new", force=True)
    assert path.read_text() == "new"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_comes_meanwhile_is_refused(tmp_path, monkeypatch, has_links):
    def no_links(*places):
        raise OSError("this file system has no links")

    path = tmp_path / "file"
    if not has_links:
        monkeypatch.setattr(os, "link", no_links)
        write_file(path, "new", force=False)
        assert path.read_text() == "new"
        assert names(tmp_path) == ["file"]
        return

    def write():
        with replacing(path, force=False) as file:
            file.write(b"new")
            path.write_text("somebody else's")

    with pytest.raises(FileExistsError, match="was left as it is"):
        write()
    assert path.read_text() == "somebody else's"
    assert names(tmp_path) == ["file"]


def test_the_target_of_a_link_is_replaced(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_file(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_temporary_names_are_random_and_no_link_is_followed(tmp_path, monkeypatch):
    assert PendingFile(tmp_path / "file").temporary != PendingFile(tmp_path / "file").temporary
    monkeypatch.setattr(secrets, "token_hex", lambda n_bytes: "known")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    PendingFile(tmp_path / "file").temporary.symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "file", "new")
    assert victim.read_text() == "precious"


def test_a_mounted_file_is_written_in_place(tmp_path, monkeypatch):
    """Nothing can be renamed to a file that is mounted into a container."""
    path = tmp_path / "file"
    path.write_text("a longer old content")
    number = path.stat().st_ino

    def busy(self, target):
        raise OSError(errno.EBUSY, "Device or resource busy", str(target))

    monkeypatch.setattr(Path, "replace", busy)
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_text() == "a longer old content"
    assert path.read_text() == "new"
    assert path.stat().st_ino == number
    assert names(tmp_path) == ["file"]
    with pytest.raises(OSError, match="busy"):
        write_file(tmp_path / "other", "new")


def test_a_file_in_a_folder_that_may_not_be_written(tmp_path, monkeypatch):
    path = tmp_path / "closed" / "file"
    path.parent.mkdir()
    path.write_text("old")
    other = tmp_path / "elsewhere"
    other.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(other))
    original = open

    def refusing(name, mode="r"):
        if Path(name).parent == path.parent and "x" in mode:
            raise PermissionError(errno.EACCES, "Permission denied", str(name))
        return original(name, mode)

    monkeypatch.setattr("spexplain.files.open", refusing, raising=False)
    original_replace = Path.replace

    def across(self, target):
        if self.parent != Path(target).parent:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return original_replace(self, target)

    monkeypatch.setattr(Path, "replace", across)
    PendingFile(path).check()
    write_file(path, "new")
    assert path.read_text() == "new"
    assert names(other) == []
    with pytest.raises(PermissionError):
        PendingFile(path.parent / "new").check()


def test_a_place_is_tried_out_without_a_trace(tmp_path):
    PendingFile(tmp_path / "file").check()
    assert names(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        PendingFile(tmp_path / "no folder" / "file").check()
