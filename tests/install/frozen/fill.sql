-- Fills every table of a fresh installation, through the functions that people use: two users with
-- memories in English and Chinese, one with a hostile name. scripts/freeze_data.py runs it and keeps
-- the rows; a new table gets its statement here. Ids are those of a fresh database.
SET timezone = 'UTC';

-- Configuration that somebody changed, added and took away.
SELECT memoir.use_model('toy', 4);
UPDATE memoir.setting SET value = '5' WHERE name = 'profile_goals';
UPDATE memoir.setting SET value = '"7c1d8f0a-0000-4000-8000-000000000001"'
WHERE name = 'installation';
INSERT INTO memoir.kind (kind_id, name, layer, half_life_days, heading, description)
VALUES (61, 'recipe', 'procedural', 365, 'Recipes', 'How a dish is made.');
UPDATE memoir.kind SET half_life_days = 60 WHERE name = 'learning';
INSERT INTO memoir.mode (name, description, vector_weight, word_weight, profile)
VALUES ('kitchen', 'For cooking.', 0.3, 0.7, false);
INSERT INTO memoir.mode_weight VALUES ('kitchen', 'recipe', 2);
UPDATE memoir.mode_weight SET weight = 1.4 WHERE mode = 'debug' AND kind = 'event';
INSERT INTO memoir.synonym VALUES ('azafrán', 'saffron', 0.9), ('saffron', '藏红花', 0.8);
UPDATE memoir.synonym SET similarity = 0 WHERE (term, synonym) = ('auth', 'login');
INSERT INTO memoir.redaction_rule (name, pattern, description)
VALUES ('badge', 'BDG-[0-9]{6}', 'Badges of the canteen');
UPDATE memoir.redaction_rule SET enabled = false WHERE name = 'discord';
INSERT INTO memoir.job_kind VALUES ('report', 'nothing', '{"type": "object"}', 'A report.');
UPDATE memoir.tool SET offered = false WHERE name = 'related';
INSERT INTO memoir.prompt (kind, language, version, template)
VALUES ('system', 'en', 2, 'You have a memory. Call `search_memories` when you need it.');

-- What ada knows.
SELECT memoir.set_settings('{"show_references": true}', 'ada');
SELECT memoir.set_rolling_summary('Ada runs the gateway team and cooks on Sundays.', 'ada');
SELECT memoir.remember('Logins failed after the key rotation: three gateways kept the old JWKS',
    'learning', 'ada', importance => 0.8, embedding => '[1,0,0,0]',
    created_at => '2026-01-05 10:00+00', keywords => '{jwks,rotation}');
SELECT memoir.remember('The staging database runs PostgreSQL 16', 'fact', 'ada', 'staging.database',
    embedding => '[0,1,0,0]', created_at => '2026-01-07 09:00+00');
SELECT memoir.remember('The staging database runs PostgreSQL 18', 'fact', 'ada', 'staging.database',
    embedding => '[0,1,0.1,0]', created_at => '2026-02-20 09:00+00');
SELECT memoir.remember('Search moves to PostgreSQL 18', 'okr', 'ada',
    data => '{"title": "Search on 18", "status": "in_progress", "priority": 0, "progress": 40}',
    created_at => '2026-01-10 09:00+00');
SELECT memoir.remember('Reads logs of the gateway', 'capability', 'ada',
    created_at => '2026-01-10 09:05+00');
SELECT memoir.remember('Rice with saffron: toast the rice, then add stock by the ladle', 'recipe',
    'ada', summary => 'Rice with saffron', embedding => '[0,0,1,0]',
    created_at => '2026-03-01 18:00+00', sources => '{1}');
SELECT memoir.remember('The badge BDG-123456 opens the canteen', 'general', 'ada',
    created_at => '2026-03-02 12:00+00');
SELECT memoir.remember('Deploys of the gateway wait for the canary', 'procedural', 'ada',
    created_at => '2026-02-02 12:00+00');
SELECT memoir.remember('The canary runs ten minutes', 'fact', 'ada',
    created_at => '2026-02-03 12:00+00', valid_until => '2026-03-15 00:00+00');
SELECT memoir.update_memory(8, content => 'Deploys of the gateway wait twenty minutes for the canary',
    user_id => 'ada');
SELECT memoir.forget(5, 'It reads more than that', 'ada');
SELECT memoir.relate(8, 1, 'supports', 0.7, 'ada');
SELECT memoir.mention(1, 'Gateway', 'product', 'ada');
SELECT memoir.mention(8, 'Gateway', 'product', 'ada');
SELECT memoir.mention(6, 'Sofía', 'person', 'ada');
SELECT memoir.event_add('task_failed', '{"task": "deploy gateway 3.14", "error": "OOMKilled"}',
    'ada', '2026-03-31 20:00+00');
SELECT memoir.event_add('task_completed', '{"task": "rotate keys"}', 'ada', '2026-02-01 08:00+00');

-- A conversation, and what follows from it.
SELECT memoir.session_start('monday', user_id => 'ada', at => '2026-03-30 10:00+00');
SELECT memoir.message_add('monday', 'user', 'Which database does billing use?', 'Mara', 'ada',
    '2026-03-30 10:00+00');
SELECT memoir.message_add('monday', 'assistant', 'PostgreSQL, for its row-level security.', NULL,
    'ada', '2026-03-30 10:01+00', '{"tool": "search_memories", "success": true}');
SELECT memoir.remember('Which database does billing use?', 'turn', 'ada', session_id => 'monday',
    turn => 0, speaker => 'Mara', embedding => '[0.5,0.5,0,0]', created_at => '2026-03-30 10:00+00');
SELECT memoir.remember('PostgreSQL, for its row-level security.', 'turn', 'ada',
    session_id => 'monday', turn => 1, speaker => 'Ken', created_at => '2026-03-30 10:01+00');
SELECT memoir.session_end('monday', 'ada', '2026-03-30 11:00+00');

-- 李雷, who confirms what is remembered; o'hara 🙂, whose name wants quoting.
SELECT memoir.remember('认证失败先看令牌的 kid 是否在 JWKS 里', 'procedural', '李雷',
    embedding => '[0.9,0,0,0.1]', created_at => '2026-02-11 03:00+00');
SELECT memoir.remember('喜欢先看日志再看代码', 'preference', '李雷', '习惯.排查',
    created_at => '2026-02-12 03:00+00');
SELECT memoir.event_add('alert', '{"title": "网关延迟升高"}', '李雷', '2026-03-31 23:00+00');
SELECT memoir.set_settings('{"confirm": true}', '李雷');
SELECT memoir.apply_decisions('[{"action": "ADD", "kind": "fact",
    "content": "预发环境的网关每周二重启"}]', '李雷', at => '2026-03-01 00:00+00');
SELECT memoir.remember('Keeps the spare key under the "blue" pot \ never in the drawer 🔑', 'fact',
    'o''hara 🙂', created_at => '2026-01-01 00:00+00');

-- Recalls, searches, feedback; upkeep counts them. The newest stay uncounted.
SELECT length(memoir.memory_context(query_text => 'login failed', user_id => 'ada')) > 0;

SELECT memoir.mark_used(1, '{1}', 'ada');
SELECT memoir.call_tool('search_memories', '{"query": "saffron rice"}', 'ada') IS NOT NULL;
SELECT memoir.expand_query('cooking', 'ada');
INSERT INTO memoir.query_expansion (user_id, query_hash, query, expansion)
VALUES ('ada', sha256('cooking'), 'cooking', '{"synonyms": ["kitchen"]}') ON CONFLICT DO NOTHING;
SELECT memoir.gold_add('first', 'Why did logins fail?', '{1,8}', '[1,0,0,0]', 'ada');
SELECT count(*) FROM memoir.maintain();
SELECT memoir.refresh_statistics('ada');
SELECT length(memoir.memory_context(query_text => '认证失败', user_id => '李雷')) > 0;
SELECT memoir.call_tool('memory_search', '{"query": "key"}', 'o''hara 🙂') IS NOT NULL;
SELECT memoir.remember('Written after the words were counted', 'general', 'ada',
    created_at => '2026-03-31 09:00+00');

-- One who came from another database.
SELECT state FROM memoir.import_user(
    ARRAY(SELECT memoir.export_user('o''hara 🙂', vectors => true, at => '2026-03-31 09:00+00')),
    'moved', new_ids => true);

-- Files of agents.
SELECT action FROM memoir.import_memory_json('{"version": 2, "last_updated": "2026-02-21T10:30:00Z",
    "rolling_summary": "用户偏好简洁", "memories": [{"id": "a1b2c3d4", "category": "preferences",
    "content": "用户偏好东方航空，尤其是早班机", "salience": 0.85, "mood": "calm",
    "created_at": "2026-02-21T10:30:00Z", "last_accessed": "2026-02-21T14:00:00Z",
    "access_count": 3, "source": "user_explicit"}]}', 'moved');
SELECT action FROM memoir.import_day_log('{"date": "2026-02-21", "entries": [{"time": "14:30:00",
    "type": "event", "content": "完成了项目 API 文档编写"}]}', 'moved');

-- Work that waits, and work that is done.
SELECT memoir.enqueue('report', '{"week": 14}', 'ada');
SELECT memoir.enqueue('report', '{"week": 13}', 'ada', priority => 1);
SELECT memoir.finish(c.job_id, user_id => 'ada', worker => 'w')
FROM memoir.claim('ada', 1, 'w', '{report}') AS c;
INSERT INTO memoir.uncompared SELECT 'ada', max(memory_id) FROM memoir.memory WHERE user_id = 'ada'
ON CONFLICT DO NOTHING;

-- A table of an application, and a row of it that could not be read.
CREATE TABLE public.recipes (id int PRIMARY KEY, body text NOT NULL);
SELECT memoir.attach_source('recipes', 'recipe', 'public.recipes', '{body}', '{id}',
                            user_id => 'ada');
INSERT INTO public.recipes VALUES (1, 'Bread: flour, water, salt and a day of waiting');
INSERT INTO memoir.source_error (user_id, source, source_key, code, reason)
VALUES ('ada', 'recipes', '2', 'ME007', 'the text is empty');
