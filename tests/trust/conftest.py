"""A small world in a database, and a primary with a standby."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pytest_postgresql.executors import NoopExecutor
from tests.conftest import FAST, folder_of_a_server
from tests.everything import make_world
from tests.file_database import file_database

from pgmemoir import migrations
from pgmemoir import server as embedded

# What is written without waiting for the disk is sent when it is on the disk.
SETTINGS = {**FAST, "wal_writer_delay": "10ms"}

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts/bench"))


@pytest.fixture(scope="module")
def world(installed: NoopExecutor) -> Iterator[psycopg.Connection]:
    """An autocommit connection to the world of `tests.everything`, which the tests leave as is."""
    with file_database(installed, "world") as conn:
        make_world(conn)
        yield conn


class Standbys:
    """A primary with the world in it, and standbys of it, each in a folder of its own."""

    def __init__(self, root: Path, version: int) -> None:
        self._root, self._version = root, version
        self._primary = root / "primary"
        self.dsn = embedded.start(self._primary, version, SETTINGS)
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            migrations.up(conn)
            make_world(conn)

    def start(self, name: str) -> str:
        """Make a standby with pg_basebackup and start it; its address."""
        cluster = self._root / name / f"pg{self._version}"
        cluster.mkdir(mode=0o700, parents=True)
        owner = (self._primary / cluster.name).stat()
        os.chown(cluster, owner.st_uid, owner.st_gid)
        address = conninfo_to_dict(self.dsn)
        tool = embedded.psql(self._version).with_name("pg_basebackup")
        command = [tool, "-h", address["host"], "-p", address["port"], "-U", address["user"]]
        command += ["-D", cluster, "-c", "fast", "--write-recovery-conf", "--no-sync"]
        embedded._run(command, "no base backup", cluster)
        return embedded.start(self._root / name, self._version, FAST)


@pytest.fixture(scope="session")
def standbys(pytestconfig: pytest.Config) -> Iterator[Standbys]:
    """A primary, and what makes standbys of it: 1.3 s with the first."""
    with folder_of_a_server() as root:
        yield Standbys(root, pytestconfig.getoption("pg"))


@pytest.fixture(scope="session")
def standby(standbys: Standbys) -> Iterator[psycopg.Connection]:
    """An autocommit connection to a standby."""
    with psycopg.connect(standbys.start("standby"), autocommit=True) as conn:
        yield conn


@pytest.fixture(scope="session")
def primary(standbys: Standbys) -> Iterator[psycopg.Connection]:
    """An autocommit connection to its primary."""
    with psycopg.connect(standbys.dsn, autocommit=True) as conn:
        yield conn
