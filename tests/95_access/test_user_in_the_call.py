"""An agent that names its user inside the call: one statement, no transaction, nothing left."""

from __future__ import annotations

import pytest
from tests.rows import refused, remember, value

BY_ITSELF = "user_id => set_config('memoir.user_id', %s, true)"


@pytest.fixture
def agent(db, log_in):
    remember(db, "Ada likes tea", user_id="ada")
    remember(db, "Bob likes tea", user_id="bob")
    return log_in("agent")


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize(
    "asked",
    [
        "SELECT memoir.memory_context(query_text => 'tea', {})",
        "SELECT block FROM memoir.recall(query_text => 'tea', {})",
        "SELECT content FROM memoir.list_memories({})",
        "SELECT memoir.call_tool('search_memories', '{{\"query\": \"tea\"}}', {})",
    ],
)
def test_a_call_sees_the_user_it_names_and_leaves_none(agent, plans, asked):
    agent.execute(f"SET plan_cache_mode = {plans}")
    for user, other in (("ada", "Bob"), ("bob", "Ada"), ("ada", "Bob")):
        found = agent.execute(asked.format(BY_ITSELF), (user,), prepare=True).fetchall()
        assert f"{user.title()} likes tea" in str(found)
        assert other not in str(found)
        assert value(agent, "SELECT current_setting('memoir.user_id')") == ""
    assert refused(agent, "recall", query_text="tea").sqlstate == "ME006"


def test_what_it_stores_is_its_users(agent, db):
    asked = f"SELECT action FROM memoir.remember('Ada runs', {BY_ITSELF})"
    assert value(agent, asked, "ada") == "ADD"
    assert value(db, "SELECT user_id FROM memoir.memory WHERE content = 'Ada runs'") == "ada"


def test_no_name_is_refused(agent):
    asked = "SELECT memoir.memory_context(user_id => set_config('memoir.user_id', %s, true))"
    for nobody in (None, ""):
        with pytest.raises(Exception, match="user_id must have 1 to 200 characters"):
            agent.execute(asked, (nobody,))


def test_whoever_names_nobody_is_not_told_to_share_a_user_with_everybody(agent):
    hint = refused(agent, "recall", query_text="tea").message_hint
    assert hint.startswith("Pass user_id => set_config('memoir.user_id', 'alice', true)")
