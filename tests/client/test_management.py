"""What is stored, looked through and changed: with both clients, arguments with one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from tests.client.conftest import needs_wordllama
from tests.rows import statuses

from pgmemoir import (
    AsyncMemoir,
    BadText,
    Memoir,
    MissingUser,
    NotFound,
    NotPossible,
    OutOfRange,
    SchemaMismatch,
)

pytestmark = pytest.mark.once

Open = Callable[..., Any]

TEXTS = ["tea is green", "the harbour closes at nine", "Ada flies early"]


def stored(memory: Any, texts: list[str] = TEXTS) -> list[int]:
    """The ids of memories of those texts, made a day after the other."""
    made = [
        {"content": text, "created_at": datetime(2025, 3, day, tzinfo=UTC)}
        for day, text in enumerate(texts, 1)
    ]
    return [done.memory_id for done in memory.remember_many(made)]


@pytest.fixture
def memory(tx: psycopg.Connection) -> Memoir:
    """A client in the shared database."""
    return Memoir(tx, user="arguments", embedder=None)


def test_a_list_has_the_active_memories_newest_first(open_client: Open) -> None:
    memory = open_client(embedder=None)
    first, *_ = stored(memory)
    memory.forget(first)
    assert [row.content for row in memory.list_memories()] == TEXTS[:0:-1]
    assert [row.status for row in memory.list_memories(status=None)][-1] == "forgotten"


@pytest.mark.parametrize(
    ("filters", "places"),
    [
        ({"search": "GREEN tea"}, [0]),
        ({"since": datetime(2025, 3, 2)}, [2, 1]),
        ({"until": datetime(2025, 3, 2, tzinfo=UTC)}, [1, 0]),
        ({"kinds": ["fact"]}, []),
        ({"subject": "user.editor"}, []),
        ({"session": "s1"}, []),
        ({"data": {"project": "x"}}, []),
        ({"data": {}}, [2, 1, 0]),
        ({"status": ("forgotten", "archived")}, []),
        ({"sort": "importance", "page_size": 1}, [2]),
    ],
)
def test_a_list_is_filtered(memory: Memoir, filters: Any, places: list[int]) -> None:
    ids = stored(memory)
    assert [row.key for row in memory.list_memories(**filters)] == [str(ids[i]) for i in places]


def test_a_list_goes_on_behind_its_last_row(open_client: Open) -> None:
    memory = open_client(embedder=None)
    stored(memory)
    page = memory.list_memories(page_size=2)
    rest = memory.list_memories(page_size=2, after=page[-1].next)
    assert [row.content for row in (*page, *rest)] == TEXTS[::-1]


def test_all_pages_are_given_one_by_one(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgmemoir.client._PAGE", 2)

    async def contents() -> list[str]:
        async with AsyncMemoir(dsn, embedder=None) as memory:
            return [row.content async for row in memory.memories(search="a")]

    with Memoir(dsn, embedder=None) as memory:
        stored(memory)
        assert [row.content for row in memory.memories(search="a")] == TEXTS[::-1]
    assert asyncio.run(contents()) == TEXTS[::-1]


def test_a_filter_nobody_knows_is_refused(memory: Memoir) -> None:
    with pytest.raises(TypeError, match="a list has no filter 'kind'; it has kinds, "):
        memory.list_memories(kind="fact")  # type: ignore[call-arg]
    with pytest.raises(BadText, match="kinds is one text"):
        memory.list_memories(kinds="fact")


def test_forgotten_memories_come_back(open_client: Open, db: psycopg.Connection) -> None:
    memory = open_client(embedder=None)
    one, two, _ = stored(memory)
    gone = memory.forget(one, two, reason="wrong")
    assert [(row.memory_id, row.line, row.new_status) for row in gone] == [
        (one, TEXTS[0], "forgotten"),
        (two, TEXTS[1], "forgotten"),
    ]
    assert "green" not in memory.context("green tea")
    assert [row.old_status for row in memory.restore(one, two)] == ["forgotten"] * 2
    assert statuses(db) == ["active"] * 3


def test_a_dry_run_changes_nothing(open_client: Open, db: psycopg.Connection) -> None:
    memory = open_client(embedder=None)
    ids = stored(memory)
    would = memory.forget(*ids, dry_run=True)
    assert [(row.old_status, row.new_status) for row in would] == [("active", "forgotten")] * 3
    assert statuses(db) == ["active"] * 3


def test_several_are_changed_all_or_none(open_client: Open, db: psycopg.Connection) -> None:
    memory = open_client(embedder=None)
    one, *_ = stored(memory)
    with pytest.raises(NotFound, match="has no memory 4711"):
        memory.forget(one, 4711)
    with pytest.raises(NotPossible, match="it cannot be restored"):
        memory.restore(one)
    assert statuses(db) == ["active"] * 3


def test_an_id_may_be_text_and_be_given_twice(open_client: Open) -> None:
    memory = open_client(embedder=None)
    one, *_ = stored(memory)
    assert [row.memory_id for row in memory.forget(one, str(one))] == [one]
    assert memory.memory_detail(one) == memory.memory_detail(str(one))


@pytest.mark.parametrize(
    ("memory_id", "error"), [("x", OutOfRange), (1.5, OutOfRange), (10**30, NotFound)]
)
def test_what_is_no_id_is_refused(memory: Memoir, memory_id: Any, error: type) -> None:
    with pytest.raises(error) as caught:
        memory.forget(memory_id)
    assert caught.value.hint


def test_one_user_cannot_change_the_memory_of_another(open_client: Open) -> None:
    one, *_ = stored(open_client(user="ada", embedder=None))
    other = open_client(user="bob", embedder=None)
    for method in (other.forget, other.undo, other.history, other.relations):
        with pytest.raises(NotFound):
            method(one)
    assert other.list_memories(status=None) == []


def test_history_tells_what_undo_takes_back(open_client: Open) -> None:
    memory = open_client(embedder=None)
    one, *_ = stored(memory)
    memory.update(one, content="tea is black", reason="tasted it", author="agent")
    (undone,) = memory.undo(one)
    assert (undone.memory_id, undone.line, undone.status) == (one, TEXTS[0], "active")
    told = [(r.action, r.author, r.reason, r.content, r.undone) for r in memory.history(one)]
    assert told == [
        ("ADD", "user", None, TEXTS[0], False),
        ("UPDATE", "agent", "tasted it", "tea is black", True),
        ("UNDO", "user", "undone: UPDATE", TEXTS[0], False),
    ]


def test_nothing_to_undo_is_an_error(memory: Memoir) -> None:
    one, *_ = stored(memory)
    memory.undo(one)
    with pytest.raises(NotPossible, match="has nothing to undo"):
        memory.undo(one)


def test_a_memory_takes_the_place_of_another(open_client: Open) -> None:
    memory = open_client(embedder=None)
    one, two, _ = stored(memory)
    memory.supersede(one, two, reason="newer")
    (relation,) = memory.relations(one)
    assert (relation.memory_id, relation.type, relation.direction) == (two, "supersedes", "from")
    assert memory.memory_detail(one).status == "superseded"
    with pytest.raises(NotPossible, match="cannot supersede itself"):
        memory.supersede(two, two)


def test_a_new_text_is_embedded(open_client: Open, letters: Any, db: psycopg.Connection) -> None:
    memory = open_client(embedder=letters)
    one, *_ = stored(memory)
    assert memory.update(one, content="bbb", importance=0.9) == "UPDATE"
    assert letters.texts[-1] == "bbb"
    row = db.execute(
        "SELECT m.content, m.importance, t.embedding::float4[] FROM memoir.memory AS m"
        " JOIN memoir.trace AS t USING (user_id, memory_id) WHERE memory_id = %s",
        (one,),
    ).fetchone()
    assert row == ("bbb", 0.9, [0, 3, *[0] * 24])
    assert memory.update(one, content="bbb") == "NOOP"


def test_a_change_of_the_rest_embeds_nothing(open_client: Open, letters: Any) -> None:
    memory = open_client(embedder=letters)
    one, *_ = stored(memory)
    count = len(letters.texts)
    memory.update(one, subject="tea.colour", kind="fact", lifetime="core", data={"茶": 1})
    detail = memory.memory_detail(one)
    assert (detail.subject, detail.kind, detail.data) == ("tea.colour", "fact", {"茶": 1})
    assert len(letters.texts) == count


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"contents": "x"}, TypeError),
        ({"content": "a\0"}, BadText),
        ({"content": " "}, BadText),
        ({"importance": "high"}, OutOfRange),
        ({"lifetime": "long"}, OutOfRange),
        ({"data": {"a": float("nan")}}, BadText),
    ],
)
def test_a_wrong_change_is_refused(
    memory: Memoir, tx: psycopg.Connection, changes: Any, error: type
) -> None:
    one, *_ = stored(memory)
    with pytest.raises(error), tx.transaction():
        memory.update(one, **changes)
    assert memory.memory_detail(one).content == TEXTS[0]


def test_decisions_are_applied_with_vectors_and_undone(
    open_client: Open, letters: Any, db: psycopg.Connection
) -> None:
    memory = open_client(embedder=letters)
    one, two, _ = stored(memory)
    decided = [
        {"action": "SUPERSEDE", "memory_id": str(one), "content": "tea is black"},
        {"action": "DELETE", "memory_id": two, "reason": "it was sold"},
    ]
    done = memory.apply_decisions(decided, at=datetime(2025, 4, 1))
    assert [(row.place, row.action) for row in done] == [(1, "SUPERSEDE"), (2, "FORGET")]
    assert letters.texts[-1] == "tea is black"
    assert statuses(db) == ["superseded", "forgotten", "active", "active"]
    memory.undo_run(done[0].run_id)
    assert statuses(db) == ["active", "active", "active", "forgotten"]


def test_decisions_may_be_the_text_of_a_model(open_client: Open) -> None:
    memory = open_client(embedder=None)
    (done,) = memory.apply_decisions('[{"action": "add", "content": "认证用 JWKS"}]', author="rule")
    assert memory.memory_detail(done.memory_id).origin == "rule"


@pytest.mark.parametrize(
    "decisions",
    ["{", "[" * 100_000, '{"action": "ADD"}', [{"action": "ADD"}], [{"action": "DROP"}], ["ADD"]],
)
def test_decisions_that_do_not_fit_are_refused(memory: Memoir, decisions: Any) -> None:
    with pytest.raises(SchemaMismatch):
        memory.apply_decisions(decisions)


def test_what_an_agent_adds_waits_where_the_user_confirms(open_client: Open) -> None:
    memory = open_client(embedder=None)
    assert memory.set_settings(confirm=True)["confirm"]
    ids = [memory.remember(text, source="agent").memory_id for text in TEXTS]
    assert memory.list_memories() == []
    (done,) = memory.confirm(ids[0])
    assert (done.action, done.memory_id) == ("CONFIRM", ids[0])
    memory.reject(*ids[1:], reason="not so")
    assert [row.status for row in memory.list_memories(status=None)] == [
        "forgotten",
        "forgotten",
        "active",
    ]


def test_nothing_is_remembered_while_memory_is_off(open_client: Open) -> None:
    memory = open_client(embedder=None)
    memory.set_settings(memory=False)
    done = memory.remember("secret")
    assert (done.action, done.memory_id, done.reason) == ("NOOP", None, "memory is off")
    assert memory.settings()["memory"] is False


def test_a_setting_nobody_knows_is_refused(memory: Memoir) -> None:
    with pytest.raises(OutOfRange, match='unknown setting "memmory"'):
        memory.set_settings(memmory=False)


def test_a_fact_may_be_true_for_a_time(open_client: Open) -> None:
    memory = open_client(embedder=None)
    slot = {"kind": "preference", "subject": "user.editor"}
    may, july = (datetime(2025, month, 1, tzinfo=UTC) for month in (5, 7))
    old = memory.remember("Ada uses Vim", created_at=may, valid_until=july, **slot)
    (new,) = memory.remember_many([{"content": "Ada uses Helix", "valid_from": july, **slot}])
    assert (new.action, new.other_ids) == ("SUPERSEDE", [old.memory_id])
    assert memory.memory_detail(old.memory_id).valid_until == july
    assert memory.memory_detail(new.memory_id).valid_from == july


def test_numbers_are_told_by_name(open_client: Open) -> None:
    memory = open_client(embedder=None)
    stored(memory)
    told = memory.stats()
    assert (told["memories"], told["by_status"], told["recall_p50_ms"]) == (3, {"active": 3}, None)


@needs_wordllama
def test_the_vectors_of_questions_are_one_of_the_caches(open_client: Open) -> None:
    memory = open_client()
    stored(memory)
    for _ in range(4):
        memory.context("What is green?")
    cache = memory.stats()["caches"]["queries"]
    assert (cache["entries"], cache["hits"], cache["misses"], cache["hit_rate"]) == (1, 3, 1, 0.75)


def test_a_purged_memory_is_gone(open_client: Open, db: psycopg.Connection) -> None:
    memory = open_client(embedder=None)
    one, two, _ = stored(memory)
    memory.supersede(one, two)
    would = memory.purge(one, two, dry_run=True)
    assert {"memory": 2, "revision": 1}.items() <= {row.table: row.rows for row in would}.items()
    assert len(statuses(db)) == 3
    memory.purge(one, two)
    assert statuses(db) == ["active"]


def test_of_a_purged_user_nothing_is_left(open_client: Open, db: psycopg.Connection) -> None:
    stored(open_client(user="bob", embedder=None), TEXTS[:1])
    memory = open_client(user="ada", embedder=None)
    stored(memory)
    assert {row.table: row.rows for row in memory.purge_user(dry_run=True)}["memory"] == 3
    memory.purge_user()
    assert memory.list_memories(status=None) == []
    assert len(statuses(db)) == 1


def test_nobody_is_purged_by_default(tx: psycopg.Connection) -> None:
    with pytest.raises(MissingUser):
        Memoir(tx, embedder=None).purge_user()


def test_entities_are_listed(open_client: Open, db: psycopg.Connection) -> None:
    memory = open_client(embedder=None)
    one, *_ = stored(memory)
    for name in ("Harbour Ltd", "Ada"):
        db.execute("SELECT memoir.mention(%s, %s, user_id => 'default')", (one, name))
    assert {row.name for row in memory.entities()} == {"Harbour Ltd", "Ada"}
    (found,) = memory.entities("harb", page_size=5)
    assert (found.name, found.mentions) == ("Harbour Ltd", 1)


def test_a_session_keeps_what_was_said(open_client: Open) -> None:
    memory = open_client(embedder=None)
    opened = memory.start_session("s1", data={"topic": "部署"})
    assert (opened.session_id, opened.temporary, opened.is_new) == ("s1", False, True)
    for text in ("which port?", "5432"):
        memory.add_message("s1", "user", text, speaker="Ada", at=datetime(2025, 3, 1))
    assert [(said.turn, said.content) for said in memory.session_window("s1", max_messages=1)] == [
        (1, "5432")
    ]
    assert len(memory.messages("s1")) == 2
    assert memory.recall_query("s1", "and the host?").splitlines()[0] == "and the host?"
    assert memory.end_session("s1").messages == 2
    assert [row.session_id for row in memory.sessions(is_open=False)] == ["s1"]


def test_a_temporary_session_remembers_nothing(open_client: Open) -> None:
    memory = open_client(embedder=None)
    opened = memory.start_session(temporary=True)
    memory.add_message(opened.session_id, "user", "between us")
    assert memory.remember("between us", session=opened.session_id).memory_id is None
    assert memory.end_session(opened.session_id).deleted == 1


def test_a_session_nobody_opened_cannot_end(memory: Memoir) -> None:
    with pytest.raises(NotFound, match='has no session "s9"'):
        memory.end_session("s9")


def test_both_clients_have_the_same_methods() -> None:
    def methods(client: type) -> dict[str, list[str]]:
        return {
            name: list(map(str, inspect.signature(method).parameters.values()))
            for name, method in inspect.getmembers(client, inspect.isfunction)
            if not name.startswith("_")
        }

    assert methods(Memoir) == methods(AsyncMemoir)
