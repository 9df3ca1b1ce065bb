"""Where the SQL of pgmemoir is: inside an installed wheel, or in the checkout it runs from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """The two folders a database is built from.

    Args:
        migrations: ``NNNN_name.sql``, run once each; ``down/`` undoes them, ``released.txt``
            freezes them.
        sql: re-creatable code, run in path order.
    """

    migrations: Path
    sql: Path


def installed() -> Source:
    """The SQL that belongs to this copy of the package.

    Raises:
        FileNotFoundError: the package is incomplete.
    """
    package = Path(__file__).resolve().parent
    bundled = Source(package / "_migrations", package / "_sql")
    checkout = Source(package.parents[1] / "migrations", package.parents[1] / "sql")
    for source in (bundled, checkout):
        if source.migrations.is_dir() and source.sql.is_dir():
            return source
    raise FileNotFoundError(f"no sql/ and migrations/ beside {package}: install pgmemoir again")
