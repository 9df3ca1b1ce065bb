"""A small tree of SQL to install, so that a test can break it; and servers for the extension."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pytest_postgresql.executors import NoopExecutor
from tests import frozen_data
from tests.conftest import FAST, folder_of_a_server, said
from tests.databases import CREATE, database

from pgmemoir import paths
from pgmemoir import server as embedded
from pgmemoir.paths import Source

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "migrations/0001_note.sql": (
        "CREATE TABLE note (id int PRIMARY KEY, body text, place vector(3));\n"
        "INSERT INTO note VALUES (1, '第一');\n"
    ),
    "migrations/0002_author.sql": "ALTER TABLE note ADD author text;\n",
    "migrations/down/0001_note.sql": "DROP TABLE note;\n",
    "migrations/down/0002_author.sql": "ALTER TABLE note DROP author;\n",
    "sql/10_read/body.sql": (
        "CREATE OR REPLACE FUNCTION body(id int) RETURNS text LANGUAGE plpgsql\n"
        "SET search_path FROM CURRENT AS $$\n"
        "BEGIN RETURN (SELECT n.body FROM note n WHERE n.id = body.id); END $$;\n"
    ),
    "sql/20_view/bodies.sql": "CREATE OR REPLACE VIEW bodies AS SELECT body(id) FROM note;\n",
}

# Refused with plpgsql.extra_errors.
SHADOWS = """CREATE OR REPLACE FUNCTION shadow(a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE a int := 2; BEGIN RETURN a; END $$;
"""

# The ledger as a server of another version wrote it: PostgreSQL 16 names json pg_catalog.json.
NAMED_OTHERWISE = """UPDATE memoir.migration SET objects = array_replace(
    objects, 'function memoir.body(integer)', 'function memoir.body(pg_catalog.int4)')"""

OLD = """CREATE OR REPLACE FUNCTION old(kind text) RETURNS text LANGUAGE sql
RETURN kind || _decay(0, 0);
CREATE OR REPLACE VIEW aged AS SELECT old(kind) FROM memory;
"""

GRANTS = """GRANT SELECT ON memoir.retrieval_log TO pg_monitor;
GRANT EXECUTE ON FUNCTION memoir.estimate_tokens TO pg_monitor WITH GRANT OPTION;
"""

# By file of sql/ a part that CREATE OR REPLACE cannot make of an older one, and the older one.
OLDER = {
    # Another result: with rights of others, with functions and views built on it.
    "00_base/030_estimate_tokens.sql": ("text) RETURNS int", "text) RETURNS real"),
    "50_score/010_decay.sql": ("seconds float8) RETURNS float8", "seconds float8) RETURNS real"),
    # One parameter less; the older function would also fit the calls.
    "20_write/022_new_memory.sql": ("content text) RETURNS", "content text, x int = 0) RETURNS"),
    # Another name of what is given.
    "80_upkeep/022_tend_indexes.sql": ("TABLE (owner text", "TABLE (holder text"),
    # Other columns, with another view built on it.
    "70_context/060_retrieval_log.sql": ("r.user_id, r.retrieval_id", "r.retrieval_id, r.user_id"),
    # What it compiled for an attached table calls a function that is gone by now.
    "10_sources/030_compile_source.sql": (
        "BEGIN\n    IF TG_OP = 'INSERT' THEN",
        "BEGIN\n    PERFORM old('');\n    IF TG_OP = 'INSERT' THEN",
    ),
}


class Tree(Source):
    """A `Source` with a pen."""

    def copy(self, *folders: str) -> None:
        """Take the SQL of the package."""
        for name in folders:
            shutil.rmtree(self.sql.with_name(name))
            shutil.copytree(paths.installed().sql.with_name(name), self.sql.with_name(name))

    def age(self) -> None:
        """Make it an `OLDER` one, with a function and a view that are gone by now."""
        for name, (text, older) in OLDER.items():
            path = self.sql / name
            assert text in path.read_text(encoding="utf-8"), name
            self.write(f"sql/{name}", path.read_text(encoding="utf-8").replace(text, older, 1))
        self.write("sql/99_old/old.sql", OLD)

    def write(self, name: str, text: str) -> Path:
        path = self.sql.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Two migrations and two files of code, all of them good."""
    made = Tree(migrations=tmp_path / "migrations", sql=tmp_path / "sql")
    for name, text in FILES.items():
        made.write(name, text)
    return made


@pytest.fixture(scope="module")
def older_tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The SQL of the package as an `OLDER` build."""
    folder = tmp_path_factory.mktemp("older")
    made = Tree(migrations=folder / "migrations", sql=folder / "sql")
    for path in (made.migrations, made.sql):
        shutil.copytree(paths.installed().sql.with_name(path.name), path)
    made.age()
    return made


@pytest.fixture
def owner_db(empty_db: psycopg.Connection, empty_dsn: str) -> Iterator[psycopg.Connection]:
    """`empty_db` as a role that owns the database and has no other rights."""
    empty_db.execute("CREATE ROLE plain LOGIN")
    empty_db.execute(f"ALTER DATABASE {empty_db.info.dbname} OWNER TO plain")
    conn = psycopg.connect(empty_dsn, user="plain", autocommit=True)
    yield conn
    conn.close()
    empty_db.execute(f"ALTER DATABASE {empty_db.info.dbname} OWNER TO postgres")
    empty_db.execute("DROP SCHEMA IF EXISTS memoir CASCADE")
    empty_db.execute("DROP OWNED BY plain")
    empty_db.execute("DROP ROLE plain")


@pytest.fixture(scope="session")
def catalogue() -> Callable[[psycopg.Connection], set[str]]:
    """Reads what there is in a database, as a set of lines."""
    query = Path(__file__).with_name("snapshot.sql").read_bytes()
    return lambda conn: {row[0] for row in conn.execute(query)}


@pytest.fixture(scope="session")
def builder() -> ModuleType:
    """`scripts/build_extension.py` as a module."""
    spec = importlib.util.spec_from_file_location(
        "build_extension", ROOT / "scripts/build_extension.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ExtensionServer:
    """A server that has the files of the extension, and databases on it.

    Args:
        address: where it is, without a database.
        files: the folder in which it looks for extensions.
        control_path: setting extension_control_path of its databases; None: it knows the folder.
    """

    def __init__(self, address: str, files: Path, control_path: str | None) -> None:
        self.files = files
        self._address = address
        self._control_path = control_path
        self._numbers = itertools.count(1)

    def database(self, template: str = "template1") -> str:
        """The address of a new database, a copy of that one; with nothing in it if none is said."""
        name = f"road{next(self._numbers)}"
        with psycopg.connect(self._address, dbname="postgres", autocommit=True) as admin:
            admin.execute(CREATE.format(name, template))
            if self._control_path:
                path = self._control_path.replace("'", "''")
                admin.execute(f"ALTER DATABASE {name} SET extension_control_path = '{path}'")
        return make_conninfo(self._address, dbname=name)

    def publish(self, name: str, control: str, scripts: dict[str, str]) -> None:
        """Give the server the files of an extension: its scripts by version or path of versions."""
        (self.files / f"{name}.control").write_text(control)
        for version, text in scripts.items():
            (self.files / f"{name}--{version}.sql").write_text(text)


@pytest.fixture(scope="session")
def extension_server(
    server: object, builder: ModuleType, pytestconfig: pytest.Config
) -> Iterator[ExtensionServer]:
    """PostgreSQL 18 finds extensions in any folder; others in their own, so they get a copy."""
    version = pytestconfig.getoption("pg")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with folder_of_a_server() as work:
        work.chmod(0o755)
        builder.build(paths.installed(), project, work)
        if version >= 18:
            address = make_conninfo(host=server.host, port=server.port, user=server.user)
            yield ExtensionServer(address, work / "extension", f"$system:{work}")
        else:
            yield _copied_server(work, version)


def _copied_server(work: Path, version: int) -> ExtensionServer:
    """A server from a copy of the binaries, with the extension made into it."""
    tools = embedded.psql(version).parent
    asked = ("--bindir", "--pkglibdir", "--sharedir")
    folders = [Path(said(tools / "pg_config", option)) for option in asked]
    # They find each other by the way from one to the other.
    original = Path(os.path.commonpath(folders))
    copies = [work / "package" / folder.relative_to(original.parent) for folder in folders]
    for folder, copy in zip(folders, copies, strict=True):
        shutil.copytree(folder, copy)
    # Libraries of the package are found beside it.
    libraries = f"{original.parent.name}.libs"
    (work / libraries).symlink_to(original.parent.parent / libraries)
    command = ["make", "-C", work / "extension", "install", f"PG_CONFIG={copies[0]}/pg_config"]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(embedded._INSTALLS, version, str(copies[0].parent))
        address = conninfo_to_dict(embedded.start(work / "data", version, FAST))
    del address["dbname"]
    return ExtensionServer(make_conninfo(**address), copies[-1] / "extension", None)


@pytest.fixture(scope="session")
def extension_template(extension_server: ExtensionServer) -> str:
    """The name of a database with the extension in it, to be copied."""
    with psycopg.connect(extension_server.database(), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION pgmemoir CASCADE")
        return conn.info.dbname


@pytest.fixture(scope="session")
def frozen_extension(extension_server: ExtensionServer, extension_template: str) -> str:
    """The name of a copy of it with the data of the newest release."""
    with psycopg.connect(extension_server.database(extension_template), autocommit=True) as conn:
        frozen_data.load(conn, frozen_data.versions()[-1])
        return conn.info.dbname


@pytest.fixture(scope="session")
def frozen_template(installed: NoopExecutor) -> Iterator[str]:
    """The name of a database with memoir and the data of the newest release, to be copied."""
    with database(installed, "frozen") as address:
        with psycopg.connect(**address, autocommit=True) as conn:
            frozen_data.load(conn, frozen_data.versions()[-1])
        yield address["dbname"]


@pytest.fixture
def extension_db(extension_server: ExtensionServer) -> Iterator[psycopg.Connection]:
    """A connection to a database with nothing in it, on a server with the extension's files."""
    with psycopg.connect(extension_server.database(), autocommit=True) as conn:
        yield conn


@pytest.fixture
def extended_db(
    extension_server: ExtensionServer, extension_template: str
) -> Iterator[psycopg.Connection]:
    """A connection to a database of the test's own, with the extension in it."""
    address = extension_server.database(extension_template)
    with psycopg.connect(address, autocommit=True) as conn:
        yield conn
