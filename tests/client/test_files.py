"""Files are replaced as a whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pgmemoir import files
from pgmemoir.errors import BadFile
from pgmemoir.files import read_text, write_atomically


def test_a_file_is_replaced_and_the_old_one_kept_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_bytes("早\r\n".encode())
    assert write_atomically(path, b"new\n", keep=True)
    assert path.read_bytes() == b"new\n"
    assert (tmp_path / "memory.md.bak").read_bytes() == "早\r\n".encode()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_has_the_bytes_already_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_bytes(b"same")
    before = path.stat()
    assert not write_atomically(path, b"same", keep=True)
    now = path.stat()
    assert (now.st_ino, now.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "memory.md"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link = tmp_path / "memory.md"
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert list(real.parent.iterdir()) == [real]


def test_a_link_that_leads_to_itself_is_replaced(tmp_path: Path) -> None:
    link = tmp_path / "memory.md"
    link.symlink_to(link)
    assert write_atomically(link, b"new")
    assert link.read_bytes() == b"new"


def test_a_file_that_root_replaces_still_belongs_to_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.md"
    path.write_bytes(b"old")
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(files.os, "chown", lambda _, *owner: given.append(owner))
    write_atomically(path, b"new", keep=True)
    assert given == 2 * [(path.stat().st_uid, path.stat().st_gid)]


def test_a_file_whose_owner_a_container_does_not_know_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    path = tmp_path / "memory.md"
    path.write_bytes(b"old")
    monkeypatch.setattr(files.os, "chown", refused)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"


def test_what_a_killed_writer_left_beside_a_file_goes_with_the_next(tmp_path: Path) -> None:
    left, being_written = (tmp_path / f".memory.md.{name}.memoir-new" for name in ("one", "two"))
    mine = tmp_path / ".memory.md.backup12"
    for path in (left, being_written, mine):
        path.write_bytes(b"- likes tea")
    for path in (left, mine):
        os.utime(path, (0, 0))
    write_atomically(tmp_path / "memory.md", b"new")
    assert {*tmp_path.iterdir()} == {tmp_path / "memory.md", being_written, mine}


def test_a_failure_leaves_the_file_as_it_was_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.md"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(BadFile, match=r"cannot write .*memory\.md: No space left on device"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_or_a_device_is_neither_read_nor_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "memory.md"
    os.mkfifo(pipe)
    for use in (read_text, lambda path: write_atomically(path, b"new")):
        with pytest.raises(BadFile, match=r"memory\.md is not a regular file"):
            use(pipe)
    assert pipe.is_fifo()


def test_a_folder_that_may_not_be_looked_into_is_told_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "memory.md"
    monkeypatch.setattr(Path, "exists", denied)
    with pytest.raises(BadFile, match=r"cannot read .*memory\.md: Permission denied"):
        read_text(path)
    with pytest.raises(BadFile, match=r"cannot write .*memory\.md: Permission denied"):
        write_atomically(path, b"new")


def test_what_could_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.json"
    path.write_bytes(b"old")
    monkeypatch.setattr(files, "LARGEST", 9)
    with pytest.raises(BadFile, match=r"too large to be read again\n.*10 bytes, the most is 9"):
        write_atomically(path, b"0123456789")
    assert path.read_bytes() == b"old"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"cannot write .*gone.*: No such file or directory"):
        write_atomically(tmp_path / "gone" / "memory.md", b"new")


def test_a_text_is_read_with_its_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_bytes("\ufeff一\r\n二\n".encode())
    assert read_text(path) == "\ufeff一\r\n二\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"one\ntw\xff", "is not UTF-8\ndetail: Line 2 has the byte 0xff"),
        (b"one\n\0", "is not a text file\ndetail: Line 2 has a NUL character"),
        (b"12345", "is too large\ndetail: It has more than 4 bytes"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "memory.md"
    path.write_bytes(data)
    with pytest.raises(BadFile) as refused:
        read_text(path, largest=4 if b"5" in data else 100)
    assert said in str(refused.value)


def test_a_file_that_is_not_there_or_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"cannot read .*none\.md: No such file or directory"):
        read_text(tmp_path / "none.md")
    with pytest.raises(BadFile, match="is not a regular file"):
        read_text(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone has such files")
def test_what_tells_no_size_is_not_read_to_its_end() -> None:
    with pytest.raises(BadFile, match="is too large"):
        read_text(Path("/proc/self/status"), 4)
