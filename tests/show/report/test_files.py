import os
import stat
import sys

import pytest

from spexplain.show.report import write


def test_writes_and_overwrites(tmp_path):
    path = tmp_path / "report.html"
    assert write(path, "one ≤ two") == path
    assert write(str(path), "three") == path
    assert path.read_bytes() == b"three"
    assert os.listdir(tmp_path) == ["report.html"]


def test_line_ends_stay(tmp_path):
    assert write(tmp_path / "r.html", "a\nb").read_bytes() == b"a\nb"


def test_refuses_an_existing_file_on_request(tmp_path):
    path = write(tmp_path / "report.html", "old")
    with pytest.raises(FileExistsError, match="exists already"):
        write(path, "new", force=False)
    assert path.read_text() == "old"
    assert write(tmp_path / "other.html", "new", force=False).read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["other.html", "report.html"]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "report.html"

    def fsync(handle):
        path.write_text("somebody else's")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(FileExistsError):
        write(path, "new", force=False)
    assert path.read_text() == "somebody else's"


def test_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = write(tmp_path / "report.html", "old")

    def fsync(handle):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="disk full"):
        write(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        write(tmp_path / "absent" / "report.html", "")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write(tmp_path, "")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")
def test_permissions_and_links(tmp_path):
    path = write(tmp_path / "report.html", "")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    link = tmp_path / "link.html"
    link.symlink_to(path)
    write(link, "through the link")
    assert link.is_symlink()
    assert path.read_text() == "through the link"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
