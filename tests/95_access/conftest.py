"""Login roles, one a role of pgmemoir, made once: roles are of the whole server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from pytest_postgresql.executors import NoopExecutor

ROLES = ("reader", "agent", "worker", "admin")


@pytest.fixture(scope="session")
def logins(installed: NoopExecutor) -> Callable[[str], str]:
    """Roles ``the_reader`` to ``the_admin`` that may log in; gives their names."""
    address = {"host": installed.host, "port": installed.port, "user": installed.user}
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as conn:
        for role in ROLES:
            conn.execute(f"CREATE ROLE the_{role} LOGIN IN ROLE memoir_{role}")
    return "the_{}".format


@pytest.fixture
def log_in(logins: Callable[[str], str], dsn: str) -> Iterator[Callable[..., psycopg.Connection]]:
    """Connects to the database of ``db`` as one of the roles."""
    opened = []

    def connect(role: str, autocommit: bool = True) -> psycopg.Connection:
        opened.append(psycopg.connect(dsn, user=logins(role), autocommit=autocommit))
        return opened[-1]

    yield connect
    for conn in opened:
        conn.close()


@pytest.fixture
def become(
    logins: Callable[[str], str], tx: psycopg.Connection
) -> Callable[..., psycopg.Connection]:
    """The connection of ``tx`` as one of the roles, for a user; a role None: its owner again."""

    def switch(role: str | None, user: str = "") -> psycopg.Connection:
        both = "SELECT set_config('role', %s, true), set_config('memoir.user_id', %s, true)"
        tx.execute(both, ("none" if role is None else logins(role), user))
        return tx

    return switch
