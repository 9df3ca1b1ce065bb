"""A small tree of SQL to install, so that a test can break it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from pgmemoir.paths import Source

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


class Tree(Source):
    """A `Source` with a pen."""

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
