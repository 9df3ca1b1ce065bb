"""Rows that make no sense are refused by the constraint of their table, whoever writes them."""

from __future__ import annotations

import psycopg
from tests.rows import remember

BLANK = "' '"
LONG = "repeat('x', 201)"
NO_TERMS = "'{}/1'"
# Of each constraint what it refuses. UPDATE finds the rows of the configuration and two memories.
REFUSED = [
    ("a_name_is_all_of_its_rule", "UPDATE redaction_rule SET matches = 'name', context = 'x'"),
    ("access_user_id_memory_id_fkey", "INSERT INTO access VALUES ('ada', 0)"),
    ("common_share_is_0_to_1", "UPDATE mode SET common_share = 1.1"),
    ("common_share_is_0_to_1", "UPDATE mode SET common_share = -0.1"),
    ("day_headings_are_never_asked_or_always", "UPDATE mode SET day_headings = 'often'"),
    ("embedding_model_active", "INSERT INTO embedding_model (active) VALUES (true)"),
    ("embedding_model_check", "UPDATE embedding_model SET dropping = true"),
    ("embedding_model_dimensions_check", "INSERT INTO embedding_model (dimensions) VALUES (0)"),
    ("embedding_model_dimensions_check", "INSERT INTO embedding_model (dimensions) VALUES (4001)"),
    ("embedding_model_name_key", "INSERT INTO embedding_model (name) VALUES ('x'), ('x')"),
    ("entity_name", "INSERT INTO entity (user_id, name) VALUES ('ada', 'Tea'), ('ada', 'tea')"),
    ("event_limit_is_0_or_more", "UPDATE mode SET event_limit = -1"),
    ("event_relevance_is_0_to_1", "UPDATE mode SET event_relevance = 1.1"),
    ("event_relevance_is_0_to_1", "UPDATE mode SET event_relevance = -0.1"),
    ("event_user_id_check", "INSERT INTO event (user_id, type, payload, created_at, line, cost,"
     f" terms, term_count) VALUES ({LONG}, '', '{{}}', now(), '', 0, {NO_TERMS}, 0)"),
    ("file_entry_entry_id_check", "INSERT INTO file_entry SELECT 'default', '', memory_id, 0, '{}',"
     " gen_random_uuid() FROM memory LIMIT 1"),
    ("file_entry_user_id_memory_id_fkey",
     "INSERT INTO file_entry VALUES ('ada', 'x', 0, 0, '{}', gen_random_uuid())"),
    ("file_head_user_id_check", f"INSERT INTO file_head VALUES ({BLANK}, '', '{{}}', now())"),
    ("file_is_up_to_40_small_letters_digits_and_hyphens", "UPDATE kind SET file = 'a/b'"),
    ("file_is_up_to_40_small_letters_digits_and_hyphens",
     "UPDATE kind SET file = repeat('x', 41)"),
    ("gold_check", "INSERT INTO gold (user_id, gold_set, query, query_hash, model)"
     " VALUES ('ada', 'a', '', '', 1)"),
    ("gold_gold_set_check",
     "INSERT INTO gold (user_id, gold_set, query, query_hash) VALUES ('ada', '', '', '')"),
    ("gold_query", "INSERT INTO gold (user_id, gold_set, query, query_hash)"
     " VALUES ('ada', 'a', '', ''), ('ada', 'a', '', '')"),
    ("gold_relevant_grade_check", "INSERT INTO gold_relevant VALUES ('ada', 0, 0, 0)"),
    ("gold_relevant_grade_check", "INSERT INTO gold_relevant VALUES ('ada', 0, 0, 101)"),
    ("gold_relevant_user_id_gold_id_fkey",
     "INSERT INTO gold_relevant SELECT 'default', 0, memory_id FROM memory LIMIT 1"),
    ("gold_relevant_user_id_memory_id_fkey",
     "WITH g AS (INSERT INTO gold (user_id, gold_set, query, query_hash)"
     " VALUES ('ada', 'a', '', '') RETURNING gold_id)"
     " INSERT INTO gold_relevant SELECT 'ada', gold_id, 0 FROM g"),
    ("gold_user_id_check", "INSERT INTO gold (user_id, gold_set, query, query_hash)"
     f" VALUES ({BLANK}, 'a', '', '')"),
    ("importance_is_0_to_1", "UPDATE kind SET importance = 1.1"),
    ("importance_is_0_to_1", "UPDATE kind SET importance = -0.1"),
    ("importance_power_is_0_to_4", "UPDATE mode SET importance_power = 4.1"),
    ("importance_power_is_0_to_4", "UPDATE mode SET importance_power = -0.1"),
    ("import_user_id_check", "INSERT INTO import (user_id, file_hash, vectors, counts, highest_id,"
     f" shift) VALUES ({BLANK}, '', true, '{{}}', 0, 0)"),
    ("job_dedup_key_check", "INSERT INTO job (user_id, kind, payload, dedup_key)"
     " VALUES ('ada', 'embed', '{}', repeat('x', 501))"),
    ("job_kind_fkey", "INSERT INTO job (user_id, kind, payload) VALUES ('ada', 'tea', '{}')"),
    ("job_kind_needs_check", "UPDATE job_kind SET needs = 'tea' WHERE name = 'embed'"),
    ("job_status_check", "INSERT INTO job (user_id, kind, payload, status)"
     " VALUES ('ada', 'embed', '{}', 'gone')"),
    ("keyword_user_id_memory_id_fkey", "INSERT INTO keyword VALUES ('ada', 'tea', 0)"),
    ("kind_id_is_1_to_62", "UPDATE kind SET kind_id = 63 WHERE name = 'turn'"),
    ("kind_id_is_1_to_62", "UPDATE kind SET kind_id = 0 WHERE name = 'turn'"),
    ("kind_name_key", "UPDATE kind SET name = 'task' WHERE name = 'turn'"),
    ("layer_is_working_episodic_semantic_procedural_or_profile", "UPDATE kind SET layer = 'tea'"),
    ("lifetime_is_core_working_or_temporary", "UPDATE kind SET lifetime = 'long'"),
    ("memory_check", "UPDATE memory SET valid_until = valid_from"),
    ("memory_content", "UPDATE memory SET content_hash = ''"),
    ("memory_kind_fkey", "UPDATE memory SET kind = 'tea'"),
    ("memory_kind_fkey", "DELETE FROM kind WHERE name = 'fact'"),
    ("memory_slot", "UPDATE memory SET subject = 'x'"),
    ("memory_source", "UPDATE memory SET source = 'x', source_key = 'y'"),
    ("mention_user_id_entity_id_fkey",
     "INSERT INTO mention SELECT 'default', 0, memory_id FROM memory LIMIT 1"),
    ("mention_user_id_memory_id_fkey", "WITH e AS (INSERT INTO entity (user_id, name)"
     " VALUES ('ada', 'tea') RETURNING entity_id)"
     " INSERT INTO mention SELECT 'ada', entity_id, 0 FROM e"),
    ("message_role_check", "INSERT INTO message (user_id, session_id, position, role, content,"
     " tokens) VALUES ('ada', 's', 0, 'tea', '', 0)"),
    ("message_user_id_session_id_fkey", "INSERT INTO message (user_id, session_id, position, role,"
     " content, tokens) VALUES ('ada', 's', 0, 'user', '', 0)"),
    ("migration_kind_check", "UPDATE migration SET kind = 'tea'"),
    ("minimum_relevance_is_0_to_1", "UPDATE mode SET minimum_relevance = 1.1"),
    ("minimum_relevance_is_0_to_1", "UPDATE mode SET minimum_relevance = -0.1"),
    ("mmr_lines_is_0_or_more", "UPDATE mode SET mmr_lines = -1"),
    ("mode_weight_kind_fkey", "INSERT INTO mode_weight VALUES ('execute', 'tea', 1)"),
    ("mode_weight_mode_fkey", "INSERT INTO mode_weight VALUES ('tea', 'fact', 1)"),
    ("profile_ann_check", "UPDATE profile SET ann = -1"),
    ("query_expansion_user_id_check",
     f"INSERT INTO query_expansion VALUES ({BLANK}, '', '', '{{}}')"),
    ("recency_floor_is_0_to_1", "UPDATE mode SET recency_floor = 1.1"),
    ("recency_floor_is_0_to_1", "UPDATE mode SET recency_floor = -0.1"),
    ("recency_from_is_created_or_accessed", "UPDATE mode SET recency_from = 'tea'"),
    ("recency_power_is_0_to_4", "UPDATE mode SET recency_power = 4.1"),
    ("recency_power_is_0_to_4", "UPDATE mode SET recency_power = -0.1"),
    ("redaction_rule_matches_check", "UPDATE redaction_rule SET matches = 'tea'"),
    ("redaction_rule_proof_check", "UPDATE redaction_rule SET proof = 'tea'"),
    ("redaction_rule_sign_check", "UPDATE redaction_rule SET sign = '{}'"),
    ("relation_check",
     "INSERT INTO relation SELECT user_id, memory_id, memory_id, 'related' FROM memory"),
    ("relation_strength_check", "INSERT INTO relation VALUES ('ada', 1, 2, 'related', 1.1)"),
    ("relation_strength_check", "INSERT INTO relation VALUES ('ada', 1, 2, 'related', -0.1)"),
    ("relation_type_check", "INSERT INTO relation VALUES ('ada', 1, 2, 'tea')"),
    ("relation_user_id_from_id_fkey",
     "INSERT INTO relation SELECT user_id, 0, memory_id, 'related' FROM memory"),
    ("relation_user_id_to_id_fkey",
     "INSERT INTO relation SELECT user_id, memory_id, 0, 'related' FROM memory"),
    ("revision_user_id_memory_id_fkey", "INSERT INTO revision (user_id, memory_id, action, author,"
     " change_id) VALUES ('ada', 0, 'UPDATE', 'tea', 0)"),
    ("session_user_id_check", f"INSERT INTO session (user_id, session_id) VALUES ({BLANK}, 's')"),
    ("similarity_is_0_to_1", "INSERT INTO synonym VALUES ('a', 'b', 1.1)"),
    ("similarity_is_0_to_1", "INSERT INTO synonym VALUES ('a', 'b', -0.1)"),
    ("source_error_user_id_check", "INSERT INTO source_error (user_id, source, source_key, code,"
     f" reason) VALUES ({LONG}, '', '', '', '')"),
    ("source_kind_fkey", "INSERT INTO source (name, kind, relation, follows, mapping)"
     " VALUES ('x', 'tea', '', true, '{}')"),
    ("source_name_check", "INSERT INTO source (name, kind, relation, follows, mapping)"
     " VALUES ('', 'fact', '', true, '{}')"),
    ("source_on_delete_check", "INSERT INTO source (name, kind, relation, follows, mapping,"
     " on_delete) VALUES ('x', 'fact', '', true, '{}', 'tea')"),
    ("synonym_is_another_word", "INSERT INTO synonym VALUES ('a', 'a')"),
    ("synonym_is_in_lower_case", "INSERT INTO synonym VALUES ('a', 'B')"),
    ("term_is_in_lower_case", "INSERT INTO synonym VALUES ('A', 'b')"),
    ("trace_user_id_memory_id_fkey", "INSERT INTO trace (user_id, memory_id, model, kind,"
     " created_at, importance, cost, term_count, terms, line)"
     f" VALUES ('ada', 0, 1, 1, now(), 0, 0, 0, {NO_TERMS}, '')"),
]  # fmt: skip


def refuses(conn: psycopg.Connection, statement: str) -> str | None:
    """The constraint that a statement violates."""
    try:
        with conn.transaction():
            conn.execute(statement)
            conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except psycopg.IntegrityError as error:
        return error.diag.constraint_name
    return None


def test_each_refuses_what_makes_no_sense(tx):
    remember(tx, "tea"), remember(tx, "coffee")
    tx.execute("SET LOCAL search_path = memoir, public")
    told = [(name, refuses(tx, statement), statement) for name, statement in REFUSED]
    assert [case for case in told if case[0] != case[1]] == []
