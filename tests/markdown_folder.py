"""A folder of Markdown files beside the database, without a disk: what a client of a sync keeps."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import psycopg


@dataclass
class Folder:
    """Files and their bases, as they are after the last sync.

    Attributes:
        files: their texts, by name.
        bases: what the last sync returned as base.
        changes: what it listed.
    """

    conn: psycopg.Connection
    user: str = "default"
    files: dict[str, str] = field(default_factory=lambda: dict.fromkeys(("memory", "learnings")))
    bases: dict[str, str] = field(default_factory=dict)
    changes: list[dict[str, Any]] = field(default_factory=list)
    run_id: str | None = None
    where: dict[str, set[int]] = field(default_factory=dict)

    def sync(self, strategy: str = "report", **more: Any) -> list[tuple[str, str | None]]:
        """Bring both sides together; the action and the side changed of each difference."""
        given = {
            name: {"content": text, "base": self.bases.get(name)}
            for name, text in self.files.items()
        }
        arguments = {"strategy": strategy, "user_id": self.user, **more}
        names = ", ".join(f"{name} => %({name})s" for name in arguments)
        (done,) = self.conn.execute(
            f"SELECT memoir.sync_markdown(%(files)s, {names})",
            {"files": json.dumps(given), **arguments},
        ).fetchone()
        for name, written in done["files"].items():
            self.files[name], self.bases[name] = written["content"], written["base"]
        self.changes, self.run_id = done["changes"], done["run_id"]
        return [(each["action"], each["changed"]) for each in self.changes]

    def edit(self, old: str, new: str, name: str = "memory") -> None:
        """Replace a text that stands in a file once."""
        assert self.files[name].count(old) == 1
        self.files[name] = self.files[name].replace(old, new)

    def clone(self, **more: Any) -> Folder:
        """Another checkout of the files, without their bases."""
        return Folder(self.conn, self.user, dict(self.files), **more)
