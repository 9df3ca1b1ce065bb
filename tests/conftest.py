"""A throw-away server for the whole run, and four kinds of database on it.

``tx``        the shared database, rolled back after the test: for nearly everything (2 ms)
``db``        a database of its own with memoir in it, autocommit; ``dsn`` is its address: one that
              served other tests (6 ms, 20 after one that made tables), or a new one, when memoir
              itself, its statistics or settings were changed (50 ms)
``empty_db``  a database of its own with nothing in it; ``empty_dsn`` is its address
``server``    where to connect to make more

Tests write ``memoir.x``: the search path is the default one, as in an application.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pytest_postgresql import factories
from pytest_postgresql.executors import NoopExecutor
from tests import examples
from tests.databases import Database, Lender, Shared, database
from tests.rows import plan_once
from tests.sessions import Kept

from pgmemoir import migrations, paths
from pgmemoir import server as embedded
from pgmemoir.paths import Source

# Files in memory, if there is such a folder with room: a database is 300 files, and for each new
# one ext4 searches the recently deleted inodes, which took half of the time of a run.
IN_MEMORY = Path("/dev/shm")
PREFIX = "pgmemoir-test-"
LOCALES = "locales"  # in the folder of the server: what a test compiles for it
ROOM = 4 << 30

FAST = {
    "max_wal_size": "256MB",
    "temp_file_limit": "1GB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "256MB",
    "max_connections": "100",
    # It would run at any moment: plans must come from the statistics a test has made.
    "autovacuum_naptime": "1d",
    # Days in answers are those of the session: that of the machine is not everywhere the same.
    "timezone": "UTC",
}

# A backend that gives memory back to the system after each statement has it filled with zeros again
# by the next: a twentieth of the time of all backends.
KEPT_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TOP_PAD_": str(1 << 20),
}

# Tests that use one of these get a server, or the version it should have.
OF_A_SERVER = {"server", "installed", "pytestconfig"}

# Of a file an older PostgreSQL gets the first case and each twelfth after it. But of what versions
# do differently it gets the first case of each test: plans, catalogues, rights.
EACH = 12
WHERE_VERSIONS_DIFFER = (
    "tests/20_write/test_indexes.py",
    "tests/70_context/test_recall_plan.py",
    "tests/70_context/test_recall_statistics.py",
    "tests/70_context/test_tier_plans.py",
    "tests/80_upkeep/test_health.py",
    "tests/80_upkeep/test_partitions.py",
    "tests/95_access/test_policies.py",
    "tests/95_access/test_roles.py",
    "tests/trust/test_old_plans.py",
)


class Server(NoopExecutor):
    """Where the throw-away server is, in the form pytest-postgresql wants it."""

    template_dbname = "template1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pg", type=int, choices=(18, 16), default=18, help="major version of PostgreSQL"
    )
    parser.addoption(
        "--all-cases", action="store_true", help="all examples, and with 16 all cases, too"
    )
    parser.addoption("--pg-bin", type=Path, help="a PostgreSQL of the machine: where its initdb is")


def pytest_configure(config: pytest.Config) -> None:
    if folder := config.getoption("pg_bin"):
        config.option.pg = int(re.search(r"\d+", said(folder / "postgres", "--version"))[0])
        embedded._INSTALLS[config.option.pg] = str(folder.absolute().parent)
    number = examples.ALL if config.getoption("all_cases") else examples.USUAL
    examples.load(examples.OF_AN_OLDER_VERSION if _runs_few(config) else number)
    # Started by root, the server runs as another account, which reads what tests write for it.
    os.umask(0o022)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage among what stays: two thirds of the time."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Mark tests without a server ``once``, as files about Python alone mark themselves.

    An older version gets a part of the tests of each file, if nothing was chosen by a name.
    """
    for item in items:
        if OF_A_SERVER.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.once)
    yield
    by_name = config.option.keyword or any(".py" in argument for argument in config.args)
    if _runs_few(config) and not by_name:
        files = groupby(items, lambda item: item.nodeid.partition("::")[0])
        kept = [case for file, cases in files for case in _some(file, list(cases))]
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
        items[:] = kept


def _runs_few(config: pytest.Config) -> bool:
    """Whether a version gets but a part of the tests."""
    return config.getoption("pg") < 18 and not config.getoption("all_cases")


def _some(file: str, cases: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of a file that an older version gets."""
    if not file.startswith(WHERE_VERSIONS_DIFFER):
        return cases[::EACH]
    first: dict[str, pytest.Item] = {}
    for case in cases:
        first.setdefault(case.nodeid.partition("[")[0], case)
    return [*first.values()]


def pytest_report_header(config: pytest.Config) -> str:
    """Name the versions under test, as the binaries and the extension's control file say."""
    binaries = embedded.psql(config.getoption("pg")).parent
    control = Path(said(binaries / "pg_config", "--sharedir"), "extension/vector.control")
    version = re.search(r"default_version = '(.+)'", control.read_text())
    assert version is not None
    return f"{said(binaries / 'postgres', '--version')}, pgvector {version[1]}"


def said(*command: str | Path) -> str:
    """What a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session")
def server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """A server of the version of ``--pg``, not crash-safe, gone at the end."""
    sweep()
    with folder_of_a_server() as folder, pytest.MonkeyPatch.context() as environment:
        for name, value in {"LOCPATH": str(folder / LOCALES), **KEPT_MEMORY}.items():
            environment.setenv(name, value)
        address = conninfo_to_dict(embedded.start(folder, pytestconfig.getoption("pg"), FAST))
        yield Server(
            host=str(address["host"]),
            port=str(address["port"]),
            user=str(address["user"]),
            dbname="postgres",
            options="",
        )


@contextmanager
def folder_of_a_server(name: str = "") -> Iterator[Path]:
    """A folder in memory with this in its name, gone at the end with the servers in it."""
    prefix = f"{PREFIX}{os.getpid()}-{name}"
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=in_memory()))
    try:
        yield folder
    finally:
        _remove(folder)


def in_memory() -> Path | None:
    """Where a test puts files for a server: the folder in memory, if there is room."""
    is_there = IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK)
    return IN_MEMORY if is_there and shutil.disk_usage(IN_MEMORY).free > ROOM else None


def sweep() -> None:
    """Remove what killed runs left in memory: nobody else would. Of runs that begin at once, one
    takes a folder by giving it a name of its own.
    """
    for folder in IN_MEMORY.glob(f"{PREFIX}*-*"):
        if not Path("/proc", folder.name.removeprefix(PREFIX).split("-")[0]).exists():
            taken = folder.with_name(f"{PREFIX}{os.getpid()}-{folder.name}")
            try:
                folder.rename(taken)
            except FileNotFoundError:
                continue
            _remove(taken)


def _remove(folder: Path) -> None:
    """Stop the servers in a folder and in the folders in it, and remove it."""
    for home in (folder, *folder.iterdir()):
        embedded.stop(home)
    shutil.rmtree(folder)


def _install(host: str, port: int, user: str, dbname: str, **_: object) -> None:
    """Install the SQL of the checkout in the template."""
    with psycopg.connect(host=host, port=port, user=user, dbname=dbname) as conn:
        migrations.up(conn)


@pytest.fixture(scope="session")
def few_synonyms(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The SQL of the package with a few of its synonyms. Where a test needs an installation of its
    own and no synonyms, they would take a quarter of its time.
    """
    package = paths.installed()
    few = tmp_path_factory.mktemp("few") / "migrations"
    shutil.copytree(package.migrations, few)
    (file,) = few.glob("0*_synonyms.sql")
    with file.open("a", encoding="utf-8") as text:
        text.write("DELETE FROM synonym WHERE term > 'b';\n")
    return Source(few, package.sql)


installed = factories.postgresql_noproc(depends_on="server", dbname="own", load=[_install])


@pytest.fixture(scope="session")
def shared(installed: NoopExecutor) -> Iterator[Shared]:
    """The database all ``tx`` tests share."""
    made = Shared(installed, "shared")
    yield made
    made.drop()


@pytest.fixture(scope="session")
def unmerged(installed: NoopExecutor) -> Iterator[Shared]:
    """The one that tests share with ``side_by_side``."""
    made = Shared(
        installed,
        "unmerged",
        "UPDATE memoir.setting SET value = 'false' WHERE name = 'consolidate'",
    )
    yield made
    made.drop()


def _a_part(*, config: pytest.Config, **_: object) -> str:
    """What of a run has a connection: a file, or all if few tests are run."""
    return "session" if _runs_few(config) else "module"


@pytest.fixture(scope=_a_part)
def shared_connection(shared: Shared) -> Iterator[list[psycopg.Connection]]:
    """Holds the connection of the ``tx`` tests of a file.

    Its plans are made once. A connection for all files had thousands of plans, and checked each
    whenever a test changed a table or a function: half of the time of the tests of upkeep. For the
    few tests of each file that an older version gets, to plan anew was a tenth of their time.
    """
    yield from _held(shared)


@pytest.fixture(scope=_a_part)
def unmerged_connection(unmerged: Shared) -> Iterator[list[psycopg.Connection]]:
    """The same for ``side_by_side``."""
    yield from _held(unmerged)


def _held(database: Shared) -> Iterator[list[psycopg.Connection]]:
    held = [database.connect()]
    yield held
    held[0].close()


@pytest.fixture
def tx(
    request: pytest.FixtureRequest,
    shared_connection: list[psycopg.Connection],
    shared: Shared,
) -> Iterator[psycopg.Connection]:
    """A connection to the shared database, in a transaction that is rolled back."""
    if "side_by_side" in request.fixturenames:
        shared_connection = request.getfixturevalue("unmerged_connection")
        shared = request.getfixturevalue("unmerged")
    if shared_connection[0].closed:
        shared_connection[0] = shared.connect()
    conn = shared_connection[0]
    conn.execute("SELECT")
    yield conn
    left = conn.info.transaction_status
    if not conn.closed:
        conn.rollback()
    if left is psycopg.pq.TransactionStatus.IDLE:
        pytest.fail("the test ended the shared transaction: it needs the fixture db")


@pytest.fixture
def side_by_side(tx: psycopg.Connection) -> None:
    """Near-duplicates are stored beside each other, as two users' would be.

    In a database of its own: set by each test, it makes functions anew, and then all plans.
    """


@pytest.fixture
def planned_once(tx: psycopg.Connection) -> None:
    """The statements of a test are planned once, not for each question."""
    plan_once(tx)


@pytest.fixture(scope="session")
def lender(installed: NoopExecutor) -> Iterator[Lender]:
    """Lends databases with memoir in them."""
    kept = Kept()
    with kept.in_use():
        made = Lender(installed, kept)
        yield made
        made.close()


@pytest.fixture
def lent(lender: Lender) -> Iterator[Database]:
    """A database of the test's own, with memoir in it."""
    with lender.lent() as database:
        yield database


@pytest.fixture
def dsn(lent: Database) -> str:
    """The address of the database of ``db``."""
    return lent.dsn


@pytest.fixture
def db(lent: Database) -> psycopg.Connection:
    """An autocommit connection to a database of the test's own, with memoir in it."""
    return lent.conn


@pytest.fixture
def empty_dsn(server: Server) -> Iterator[str]:
    """The address of the database of ``empty_db``, as psql of any version understands it."""
    with database(server, "empty") as address:
        yield make_conninfo(**address)


@pytest.fixture
def empty_db(empty_dsn: str) -> Iterator[psycopg.Connection]:
    """An autocommit connection to a database of the test's own, with nothing in it."""
    with psycopg.connect(empty_dsn, autocommit=True) as conn:
        yield conn
