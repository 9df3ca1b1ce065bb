"""A disk that is really full: a tablespace of a few MB, which only root can make."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest
from tests.rows import recall, row_counts, value

pytestmark = pytest.mark.once

SMALL, LARGE = "size=1500k", "size=64m"
MOVED = ("memory", "trace", "keyword", "revision")


def mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(db):
    """Where the tables of memories lie; it can be made larger."""
    folder = Path(tempfile.mkdtemp(prefix="pgmemoir-full-"))
    folder.chmod(0o711)
    disk = folder / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", SMALL, "none", str(disk)):
        shutil.rmtree(folder)
        pytest.skip("no small file system can be made here")
    owner = Path(value(db, "SHOW data_directory")).stat()
    os.chown(disk, owner.st_uid, owner.st_gid)
    db.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
    try:
        move(db, "small")
        yield disk
    finally:
        move(db, "pg_default")
        db.execute("DROP TABLESPACE small")
        subprocess.run(["umount", disk], check=True)
        shutil.rmtree(folder)


def move(conn, tablespace):
    for table in MOVED:
        conn.execute(f"ALTER TABLE memoir.{table} SET TABLESPACE {tablespace}")


def store(conn, number):
    """A hundred memories of few words, about 200 kB."""
    texts = [f"load {number} {n} " + f"{number} and {n} " * 100 for n in range(100)]
    memories = [{"content": text, "kind": "fact"} for text in texts]
    conn.execute("SELECT memoir.remember_many(%s)", (json.dumps(memories),))


def stored_until_full(conn):
    """How many loads went in, and what was there before the one that did not."""
    for number in range(100):
        before = row_counts(conn)
        try:
            store(conn, number)
        except psycopg.errors.DiskFull:
            return number, before
    return pytest.fail("the disk is never full")


def test_a_load_onto_a_full_disk_says_so_and_is_gone_and_the_next_one_works(db, small_disk):
    loads, before = stored_until_full(db)
    assert loads > 0
    assert row_counts(db) == before
    assert "load 0 7 " in recall(db, "load 0 7").block
    assert mount("-o", f"remount,{LARGE}", str(small_disk))
    store(db, 200)
    db.execute("CALL memoir.maintain_all()")
    assert value(db, "SELECT count(*) FROM memoir.memory") == 100 * (loads + 1)
