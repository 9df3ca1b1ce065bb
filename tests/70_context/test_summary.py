"""What a user's memory holds, in one row."""

from __future__ import annotations

from tests.rows import add_event, ago, call, recall, remember


def summary(conn, **more):
    (row,) = call(conn, "summary", **more)
    return row


def tag(conn, keyword, *keys):
    for key in keys:
        conn.execute(
            "INSERT INTO memoir.keyword (user_id, keyword, memory_id) VALUES ('default', %s, %s)"
            " ON CONFLICT DO NOTHING",
            (keyword, key),
        )


def test_without_memories_there_is_nothing(tx):
    row = summary(tx)
    assert (row.memories, row.by_kind, row.by_status, row.events) == (0, {}, {}, 0)
    assert (row.top_keywords, row.top_entities, row.rolling_summary) == ([], [], None)
    assert (row.oldest, row.newest, row.with_embedding, row.with_keywords) == (None,) * 4


def test_memories_are_counted_by_kind_and_status(tx):
    remember(tx, "tea", "fact", created_at=ago(days=9))
    remember(tx, "coffee", "fact", created_at=ago(days=3))
    remember(tx, "water", "task", created_at=ago(days=5))
    gone = remember(tx, "milk", "task", created_at=ago(days=20))
    tx.execute("UPDATE memoir.memory SET status = 'forgotten' WHERE memory_id = %s", (gone,))
    row = summary(tx)
    assert (row.memories, row.by_kind) == (3, {"fact": 2, "task": 1})
    assert row.by_status == {"active": 3, "forgotten": 1}
    assert (row.oldest, row.newest) == (ago(days=9), ago(days=3))


def test_events_are_counted(tx):
    add_event(tx, "alert", {"disk": "full"})
    recall(tx, "disk")
    assert summary(tx).events == 1


def test_the_shares_with_vector_and_with_keywords(tx):
    keys = [remember(tx, name) for name in ("tea", "coffee", "water", "milk")]
    call(tx, "set_embedding", memory_id=keys[0], embedding="[1,0]")
    tx.execute("DELETE FROM memoir.keyword")
    tag(tx, "drink", *keys[:3])
    row = summary(tx)
    assert (row.with_embedding, row.with_keywords) == (0.25, 0.75)


def test_the_most_common_keywords_come_first(tx):
    one, two = remember(tx, "tea"), remember(tx, "coffee")
    tx.execute("DELETE FROM memoir.keyword")
    tag(tx, "drink", one, two)
    tag(tx, "green", one)
    assert summary(tx).top_keywords == [
        {"keyword": "drink", "memories": 2},
        {"keyword": "green", "memories": 1},
    ]


def test_the_entities_most_memories_mention_come_first(tx):
    keys = remember(tx, "tea with Ada"), remember(tx, "coffee with Ada and Bob")
    tx.execute(
        "INSERT INTO memoir.entity (user_id, entity_id, name, type)"
        " VALUES ('default', 1, 'Bob', 'person'), ('default', 2, 'Ada', 'person')"
    )
    for entity, key in ((1, keys[1]), (2, keys[0]), (2, keys[1])):
        tx.execute("INSERT INTO memoir.mention VALUES ('default', %s, %s)", (entity, key))
    assert [(e["name"], e["memories"]) for e in summary(tx).top_entities] == [
        ("Ada", 2),
        ("Bob", 1),
    ]


def test_the_rolling_summary_is_the_users(tx):
    tx.execute("INSERT INTO memoir.profile (user_id, rolling_summary) VALUES ('ada', 'likes tea')")
    assert summary(tx, user_id="ada").rolling_summary == "likes tea"
    assert summary(tx).rolling_summary is None


def test_another_users_memories_do_not_count(tx):
    remember(tx, "tea", user_id="ada")
    assert summary(tx, user_id="bob").memories == 0
