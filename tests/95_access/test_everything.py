"""Each role calls every public function, in a world where each has something to do."""

from __future__ import annotations

import psycopg
import pytest
from tests.everything import READS, WRITES, make_world
from tests.file_database import file_database

CALLS = READS | WRITES
OWNERS = {"attach_source", "detach_source"}
ADMINS = {
    *("add_model", "drop_model", "fill_model", "switch_model", "fill_source", "pull_source"),
    *("maintain", "purge", "purge_user", "sync_markdown", "migrate_day_log_md"),
    *("migrate_memory_md", *(name for name in CALLS if name.startswith(("export_", "import_")))),
}
WORKERS = {
    *("claim", "enqueue_nightly", "extend_lease", "fail", "finish", "memories_without_vector"),
    *("ready_users", "retry_dead", "vector_backlog"),
}
WORKERS_TOO = {
    *("apply_decisions", "contradictions", "decision_schema", "enqueue", "estimate_tokens"),
    *("expand_keywords", "health", "memory_explain", "models", "pgmemoir_version", "redact"),
    *("refresh_statistics", "remember", "remember_many", "search_memories", "session_window"),
    *("set_embedding", "set_embeddings", "set_keywords", "set_rolling_summary", "supersede"),
    *("tokens", "undo_run", "update_memory", "use_model"),
}
# What is not listed above is the agent's, and the reader's if it writes nothing. The reader may
# call call_tool, and by it no tool that writes.
DENIED = {
    "reader": OWNERS | ADMINS | WORKERS | set(WRITES),
    "agent": OWNERS | ADMINS | WORKERS,
    "worker": set(CALLS) - WORKERS - WORKERS_TOO,
    "admin": OWNERS,
}
OF_BOB = {"extend_lease", "fail", "finish"}


@pytest.fixture(scope="module")
def world(installed):
    """An autocommit connection to the world of `tests.everything`."""
    with file_database(installed, "world") as conn:
        make_world(conn)
        yield conn


@pytest.mark.parametrize("role", DENIED)
def test_a_role_can_do_what_is_its_own_and_nothing_else(world, logins, role):
    said = {}
    for name, call in CALLS.items():
        with world.transaction(force_rollback=True):
            both = "SELECT set_config('role', %s, true), set_config('memoir.user_id', %s, true)"
            world.execute(both, (logins(role), "bob" if name in OF_BOB else "default"))
            try:
                world.execute(call)
            except psycopg.Error as error:
                said[name] = str(error)
    denied = {name for name, words in said.items() if words.startswith("permission denied for f")}
    assert denied == DENIED[role]
    assert {name: said[name] for name in said.keys() - denied} == {}
