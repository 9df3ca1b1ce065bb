"""Connections of commands and of the worker."""

from __future__ import annotations

from typing import Any

import psycopg


def connect(dsn: str, *, autocommit: bool = True, **more: Any) -> psycopg.Connection[Any]:
    """One that may lead to a pooler of transactions: it prepares nothing.

    It speaks UTF-8, whatever encoding the environment or the role is set to.
    """
    return psycopg.connect(
        dsn, autocommit=autocommit, prepare_threshold=None, client_encoding="utf8", **more
    )
