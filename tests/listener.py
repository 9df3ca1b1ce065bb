"""Hearing what is said on channel memoir."""

from __future__ import annotations

import json
from contextlib import contextmanager

import psycopg


@contextmanager
def listening(dsn):
    """A function that gives what was said since it was last asked, as parsed JSON."""
    with psycopg.connect(dsn, autocommit=True) as listener:
        listener.execute("LISTEN memoir")

        def heard():
            # Messages come in the order of commits: what is said last comes last.
            listener.execute("NOTIFY memoir, 'no more'")
            payloads = (n.payload for n in listener.notifies(timeout=30))
            return [json.loads(p) for p in iter(payloads.__next__, "no more")]

        yield heard
