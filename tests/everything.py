"""One call of every public function, in a small world where each has something to do.

A function that is not here fails `test_every_public_function_is_in_the_list`: put it in READS when
a standby can answer it, else in WRITES.
"""

from __future__ import annotations

import json
from typing import Any

import psycopg
from tests.d3_files import LOG, LOG_MD, MEMORY, MEMORY_MD

# What the calls below speak of. Ids are those of a database with nothing in it.
WORLD = """
SELECT memoir.use_model('small', 3);
SELECT memoir.remember('uses vim', 'preference', subject => 'user.editor',
                       embedding => '[1,0,0]', keywords => '{editor}');
SELECT memoir.remember('uses emacs now', 'preference', subject => 'user.editor',
                       embedding => '[1,0.1,0]');
SELECT memoir.remember('lives in Oslo with two cats', 'fact', embedding => '[0,1,0]');
SELECT memoir.remember('住在奥斯陆', 'fact');
SELECT memoir.remember('deploy on Fridays', 'goal');
SELECT memoir.remember('drinks tea', 'fact');
SELECT memoir.forget(6);
SELECT memoir.set_settings('{"confirm": true}');
SELECT memoir.remember('likes jazz', 'preference', source => 'agent');
SELECT memoir.remember('likes rock', 'preference', source => 'agent');
SELECT memoir.set_settings('{"confirm": false}');
SELECT memoir.relate(3, 4, 'supports');
SELECT memoir.mention(3, 'Oslo', 'place');
SELECT memoir.session_start('open');
SELECT memoir.message_add('open', 'user', 'How do I leave vim?');
SELECT memoir.message_add('open', 'assistant', 'Type :q');
SELECT memoir.event_add('commit', '{"message": "fix the build"}');
SELECT memoir.event_add('commit', '{"message": "old"}', created_at => now() - interval '40 days');
SELECT memoir.apply_decisions('[{"action": "ADD", "content": "owns a bike", "kind": "fact"}]');
SELECT memoir.remember('Ada likes green tea', 'fact');
SELECT memoir.remember('tea that is green pleases Ada', 'fact');
SELECT memoir.set_embedding(10, '[0,0,1]');
SELECT memoir.set_embedding(11, '[0,0.01,0.999]');
SELECT memoir.gold_add('set', 'where does she live?', '{3}');
SELECT memoir.recall(query_text => 'where does she live?');
SELECT memoir.call_tool('search_memories', '{"query": "cats", "min_relevance_score": 0}');
SELECT memoir.add_model('other', 4);
INSERT INTO memoir.job_kind (name, description) VALUES ('errand', 'of a test');
SELECT memoir.enqueue('errand', user_id => 'bob');
SELECT memoir.claim('bob', 1, 'w1', '{errand}');
SELECT memoir.enqueue('errand', user_id => 'bob');
SELECT memoir.enqueue('rolling_summary');
UPDATE memoir.job SET status = 'dead', run_at = 'infinity' WHERE kind = 'rolling_summary';
SELECT memoir.remember('an old errand', 'context', created_at => now() - interval '200 days');
UPDATE memoir.memory SET lifetime = 'temporary', updated_at = created_at, recorded_at = created_at
WHERE content = 'an old errand';
CREATE TABLE public.note (id int PRIMARY KEY, user_id text NOT NULL, content text NOT NULL,
                          created_at timestamptz NOT NULL DEFAULT now());
INSERT INTO public.note VALUES (1, 'default', 'the roof leaks'), (2, 'bob', 'the door squeaks');
CREATE TABLE public.idea (LIKE public.note INCLUDING ALL);
CREATE VIEW public.page AS SELECT n.* FROM public.note AS n;
SELECT memoir.attach_source('notes', 'fact', 'public.note');
SELECT memoir.attach_source('pages', 'fact', 'public.page', source_id => '{id}')
"""


def _literal(document: Any) -> str:
    """A text, or a JSON document, in a statement."""
    text = document if isinstance(document, str) else json.dumps(document)
    return "'" + text.replace("'", "''") + "'"


# Answered anywhere.
READS = {
    "cache_stats": "SELECT * FROM memoir.cache_stats()",
    "contradictions": "SELECT * FROM memoir.contradictions()",
    "decision_schema": "SELECT memoir.decision_schema()",
    "embedding_text": "SELECT memoir.embedding_text('where is she?', mode => 'conversation')",
    "entities": "SELECT * FROM memoir.entities()",
    "estimate_tokens": "SELECT memoir.estimate_tokens('hello')",
    "evaluate": "SELECT * FROM memoir.evaluate('set')",
    "evaluate_queries": "SELECT * FROM memoir.evaluate_queries('set')",
    "export_day_log": "SELECT memoir.export_day_log('2026-01-01')",
    "export_markdown": "SELECT memoir.export_markdown()",
    "export_memory_json": "SELECT memoir.export_memory_json()",
    "export_user": "SELECT * FROM memoir.export_user()",
    "expand_keywords": "SELECT * FROM memoir.expand_keywords('{editor}')",
    "get_memory_detail": "SELECT * FROM memoir.get_memory_detail('3')",
    "get_settings": "SELECT memoir.get_settings()",
    "gold_queries": "SELECT * FROM memoir.gold_queries('set')",
    "health": "SELECT * FROM memoir.health()",
    "history": "SELECT * FROM memoir.history(1)",
    "list_memories": "SELECT * FROM memoir.list_memories()",
    "log_days": "SELECT * FROM memoir.log_days()",
    "memories_without_vector": "SELECT * FROM memoir.memories_without_vector()",
    "memory_context": "SELECT memoir.memory_context(query_text => 'where does she live?')",
    "memory_explain": "SELECT * FROM memoir.memory_explain('[0,1,0]', query_text => 'cats')",
    "memory_relevance": "SELECT * FROM memoir.memory_relevance()",
    "memory_search": "SELECT * FROM memoir.memory_search('cats')",
    "messages": "SELECT * FROM memoir.messages('open')",
    "models": "SELECT * FROM memoir.models()",
    "pgmemoir_version": "SELECT memoir.pgmemoir_version()",
    "query_terms": "SELECT * FROM memoir.query_terms('where does she live?')",
    "ready_users": "SELECT * FROM memoir.ready_users(10)",
    "recall": "SELECT * FROM memoir.recall('[0,1,0]', query_text => 'where does she live?')",
    "recall_query": "SELECT memoir.recall_query('open')",
    "redact": "SELECT memoir.redact('my password is hunter22')",
    "related": "SELECT * FROM memoir.related(3)",
    "relations": "SELECT * FROM memoir.relations(3)",
    "replay": "SELECT * FROM memoir.replay(NULL)",
    "search_memories": "SELECT * FROM memoir.search_memories('cats')",
    "session_window": "SELECT * FROM memoir.session_window('open')",
    "sessions": "SELECT * FROM memoir.sessions()",
    "stats": "SELECT * FROM memoir.stats()",
    "suggest_weights": "SELECT * FROM memoir.suggest_weights()",
    "summary": "SELECT * FROM memoir.summary()",
    "system_prompt": "SELECT memoir.system_prompt()",
    "tokens": "SELECT * FROM memoir.tokens('hello')",
    "tool_schemas": "SELECT memoir.tool_schemas()",
    # Of the model that is in use: nothing to write.
    "use_model": "SELECT memoir.use_model('small', 3)",
    "vector_backlog": "SELECT * FROM memoir.vector_backlog()",
    "wait_for": "SELECT memoir.wait_for('0/1')",
    "written_at": "SELECT memoir.written_at()",
}

# Change something: a standby refuses them.
WRITES = {
    "add_model": "SELECT memoir.add_model('third', 5)",
    "apply_decisions": "SELECT * FROM memoir.apply_decisions('[{"
    '"action": "SUPERSEDE", "memory_ids": [3, 4], "content": "lives in Bergen", "kind": "fact"}, '
    '{"action": "ADD", "content": "has a dog", "kind": "fact"}]\')',
    "attach_source": "SELECT memoir.attach_source('ideas', 'fact', 'public.idea')",
    "call_tool": "SELECT memoir.call_tool('memory_write', '{\"content\": \"runs\"}')",
    "claim": "SELECT * FROM memoir.claim('default', 10, 'w2')",
    "confirm": "SELECT * FROM memoir.confirm(7)",
    "detach_source": "SELECT memoir.detach_source('notes')",
    "drop_model": "SELECT memoir.drop_model('other', 4)",
    "enqueue": "SELECT memoir.enqueue('errand')",
    "enqueue_nightly": "SELECT * FROM memoir.enqueue_nightly()",
    "event_add": "SELECT memoir.event_add('note', '{\"message\": \"done\"}')",
    "expand_query": "SELECT * FROM memoir.expand_query('cats')",
    "extend_lease": "SELECT memoir.extend_lease(1, 'w1', user_id => 'bob')",
    "extract_session": "SELECT memoir.extract_session('open')",
    "fail": "SELECT memoir.fail(1, 'no', 'bob', 'w1')",
    "fill_model": "SELECT * FROM memoir.fill_model('other')",
    "fill_source": "SELECT * FROM memoir.fill_source('notes')",
    "finish": "SELECT memoir.finish(1, user_id => 'bob', worker => 'w1')",
    "forget": "SELECT memoir.forget(3)",
    "gold_add": "SELECT memoir.gold_add('set', 'which editor?', '{2}')",
    "import_day_log": f"SELECT * FROM memoir.import_day_log({_literal(LOG)})",
    "import_markdown": "SELECT * FROM memoir.import_markdown('## Known facts\n\n- has a piano\n')",
    "import_memory_json": f"SELECT * FROM memoir.import_memory_json({_literal(MEMORY)})",
    "import_user": "SELECT * FROM memoir.import_user("
    "ARRAY(SELECT memoir.export_user('default')), 'carl')",
    "maintain": "SELECT * FROM memoir.maintain()",
    "mark_used": "SELECT memoir.mark_used(1, '{3}')",
    "memory_write": "SELECT * FROM memoir.memory_write('swims')",
    "mention": "SELECT memoir.mention(4, 'Oslo', 'place')",
    "message_add": "SELECT memoir.message_add('open', 'user', 'Thanks')",
    "pull_source": "SELECT * FROM memoir.pull_source('pages')",
    "migrate_day_log_md": "SELECT * FROM memoir.migrate_day_log_md('2026-02-20',"
    f" {_literal(LOG_MD)})",
    "migrate_memory_md": f"SELECT * FROM memoir.migrate_memory_md({_literal(MEMORY_MD)})",
    "purge": "SELECT * FROM memoir.purge(3)",
    "purge_user": "SELECT * FROM memoir.purge_user('default')",
    "refresh_statistics": "SELECT memoir.refresh_statistics()",
    "reject": "SELECT * FROM memoir.reject(7)",
    "relate": "SELECT memoir.relate(2, 3, 'related')",
    "remember": "SELECT * FROM memoir.remember('uses nano', 'preference', subject => 'user.editor',"
    " keywords => '{nano}', sources => '{3}', embedding => '[0.5,0.5,0]')",
    "remember_many": "SELECT * FROM memoir.remember_many('["
    '{"content": "plays chess", "kind": "fact", "keywords": ["chess"], "sources": [3]}, '
    '{"content": "uses nano", "kind": "preference", "subject": "user.editor"}, '
    '{"content": "ends the day with a walk", "kind": "goal", "session_id": "s2"}]\')',
    "restore": "SELECT memoir.restore(6)",
    "retry_dead": "SELECT memoir.retry_dead()",
    "session_end": "SELECT * FROM memoir.session_end('open')",
    "session_start": "SELECT * FROM memoir.session_start('new')",
    "set_embedding": "SELECT memoir.set_embedding(4, '[0,0,1]')",
    "set_embeddings": "SELECT memoir.set_embeddings('{4,5}', '{\"[0,0,1]\",\"[0,1,1]\"}')",
    "set_keywords": "SELECT memoir.set_keywords(3, '{norway,cats}')",
    "set_rolling_summary": "SELECT memoir.set_rolling_summary('She lives in Oslo.')",
    "set_settings": "SELECT memoir.set_settings('{\"confirm\": true}')",
    "supersede": "SELECT memoir.supersede(3, 4)",
    "switch_model": "SELECT memoir.switch_model('other', true) FROM memoir.fill_model('other')",
    "sync_markdown": "SELECT memoir.sync_markdown("
    '\'{"memory": {"content": "## Known facts\\n\\n- has a cello\\n"}}\')',
    "undo": "SELECT * FROM memoir.undo(1)",
    "undo_run": "SELECT * FROM memoir.undo_run(1)",
    "unmention": "SELECT memoir.unmention(3, 'Oslo', 'place')",
    "unrelate": "SELECT memoir.unrelate(3, 4)",
    "update_memory": "SELECT * FROM memoir.update_memory(3, content => 'lives in Bergen')",
}

# Make functions or privileges and no rows, or commit in between.
OTHERS = {
    "compile_configuration": "SELECT memoir.compile_configuration()",
    # Those of the functions that attach_source() has made.
    "grant_access": "SELECT memoir.grant_access()",
    "maintain_all": "CALL memoir.maintain_all()",
    "read_source": "CALL memoir.read_source('notes')",
}

_PUBLIC = """SELECT DISTINCT proname FROM pg_proc
WHERE pronamespace = 'memoir'::regnamespace AND proname !~ '^_'"""


def make_world(conn: psycopg.Connection) -> None:
    """Store what the calls speak of, in a database with nothing in it."""
    for statement in WORLD.split(";\n"):
        conn.execute(statement)


def public_functions(conn: psycopg.Connection) -> set[str]:
    """The names of all functions and procedures for callers."""
    return {name for (name,) in conn.execute(_PUBLIC)}
