-- Rows as pgmemoir 0.1.0 stored them, in the tables that its migrations make. Made by
-- scripts/freeze_data.py from fill.sql; of configuration only what differs from the installation.

INSERT INTO memoir.embedding_model (model_id, name, dimensions, active, dropping, created_at) VALUES
('1', 'toy', '4', 'true', 'false', '2026-04-01 00:00:00+00:00')
ON CONFLICT (model_id) DO UPDATE SET model_id = excluded.model_id, name = excluded.name, dimensions = excluded.dimensions, active = excluded.active, dropping = excluded.dropping, created_at = excluded.created_at;

INSERT INTO memoir.entity (user_id, entity_id, name, type, created_at) VALUES
('ada', '1', 'Gateway', 'product', '2026-04-01 00:00:14+00:00'),
('ada', '3', 'Sofía', 'person', '2026-04-01 00:00:15+00:00');

INSERT INTO memoir.event (user_id, event_id, type, payload, created_at, line, cost, terms, term_count, source, source_key, archive_job, log_entry, log_place) VALUES
('ada', '1', 'task_failed', '{"task": "deploy gateway 3.14", "error": "OOMKilled"}', '2026-03-31 20:00:00+00', '[task_failed] {"task": "deploy gateway 3.14", "error": "OOMKilled"}', '27.8', '{15447082:1,45984181:1,49282835:1,81818633:1,82468583:1,85098715:1,139623050:1,150423573:1,192664925:1,211816397:1,215106862:1,235219555:1}/536870912', '12', NULL, NULL, '4', NULL, NULL),
('ada', '2', 'task_completed', '{"task": "rotate keys"}', '2026-02-01 08:00:00+00', '[task_completed] {"task": "rotate keys"}', '15.08', '{11333962:1,15447082:1,46599699:1,54211155:1,156637589:1}/536870912', '5', NULL, NULL, '4', NULL, NULL),
('moved', '10005', 'event', '{"content": "完成了项目 API 文档编写"}', '2026-02-21 14:30:00+00', '[event] {"content": "完成了项目 API 文档编写"}', '19.93', '{8680503:1,21767466:1,40402126:1,76001613:1,127873644:1,193863553:1,202063808:1,212922696:1,248971308:1}/536870912', '9', NULL, NULL, NULL, '{"time": "14:30:00",
    "type": "event", "content": "完成了项目 API 文档编写"}', '0'),
('李雷', '3', 'alert', '{"title": "网关延迟升高"}', '2026-03-31 23:00:00+00', '[alert] {"title": "网关延迟升高"}', '15.82', '{25183673:1,47742581:1,53293285:1,59717358:1,110709176:1,234423558:1,235903971:1}/536870912', '7', NULL, NULL, '5', NULL, NULL);

INSERT INTO memoir.file_head (user_id, name, written, read_at) VALUES
('moved', 'logs/2026-02-21.json', '{"date": "2026-02-21", "entries": []}', '2026-04-01 00:00:35+00:00'),
('moved', 'memory.json', '{"version": 2, "last_updated": "2026-02-21T10:30:00Z", "rolling_summary": "bfe0477f0d6c31c8fc808436adc2266e", "memories": []}', '2026-04-01 00:00:34+00:00');

INSERT INTO memoir.gold (user_id, gold_id, gold_set, query, query_hash, query_vec, model, created_at) VALUES
('ada', '1', 'first', 'Why did logins fail?', E'\\x80c50764dc50974b56d18e76aa4f8e086f6b516873025f26f49b17685d9f626f', '[1,0,0,0]', '1', '2026-04-01 00:00:27+00:00');

INSERT INTO memoir.import (user_id, file_hash, vectors, counts, highest_id, shift, line, checksum, place, found, archive_job, ended_at) VALUES
('moved', E'\\xebd0629e792dc1aea604bea1314e14b145746bf75d92d32154b58b87535ea0a5', 'true', '{"user": 1, "memory": 1, "tool_call": 1}', '15', '17', '5', E'\\xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '14', '{"user": 1, "memory": 1, "tool_call": 1}', NULL, '2026-04-01 00:00:33+00:00');

INSERT INTO memoir.job_kind (name, needs, payload_schema, description) VALUES
('report', 'nothing', '{"type": "object"}', 'A report.')
ON CONFLICT (name) DO UPDATE SET name = excluded.name, needs = excluded.needs, payload_schema = excluded.payload_schema, description = excluded.description;

INSERT INTO memoir.kind (kind_id, name, aliases, layer, half_life_days, importance, priority, lifetime, heading, description, file, category) VALUES
('2', 'learning', '{learnings}', 'semantic', '60', '0.5', '0', 'core', 'Learnings', 'What was learned from work (D0 learnings).', 'learnings', 'reflections'),
('61', 'recipe', '{}', 'procedural', '365', '0.5', '0', 'core', 'Recipes', 'How a dish is made.', 'memory', 'general')
ON CONFLICT (kind_id) DO UPDATE SET kind_id = excluded.kind_id, name = excluded.name, aliases = excluded.aliases, layer = excluded.layer, half_life_days = excluded.half_life_days, importance = excluded.importance, priority = excluded.priority, lifetime = excluded.lifetime, heading = excluded.heading, description = excluded.description, file = excluded.file, category = excluded.category;

INSERT INTO memoir.mode (name, description, vector_weight, word_weight, keyword_weight, recency_weight, importance_weight, graph_weight, base_weight, interaction_weight, priority_weight, importance_power, recency_power, recency_from, recency_rate, recency_floor, whole_days, unaccessed_days, kind_decay, minimum_relevance, threshold, candidate_limit, line_limit, extra_lines, mmr_lambda, mmr_lines, duplicate_at, event_hours, event_limit, event_relevance, event_types, profile, day_headings, name_boost, time_boost, time_before, time_after, time_after_day, when_boost, question_penalty, boost_without_vector, neighbour_weight, second_neighbour_weight, answer_weight, session_weight, squared, question_factor, cost_power, detail_weight, common_share) VALUES
('kitchen', 'For cooking.', '0.3', '0.7', '0', '0', '0', '0', '1', '0', '0', '0', '0', 'created', '0', '0', 'false', '365', 'true', '0', '0', '40', NULL, '0', '0.7', '5', '0.8', '24', '10', '0.5', '{task_failed,task_completed,alert,layer2_health,escalation}', 'false', 'never', '0', '0', '1 day', '7 days', '10 days', '0', '0', '1', '0', '0', '0', '0', 'false', '1', '0', '0', NULL)
ON CONFLICT (name) DO UPDATE SET name = excluded.name, description = excluded.description, vector_weight = excluded.vector_weight, word_weight = excluded.word_weight, keyword_weight = excluded.keyword_weight, recency_weight = excluded.recency_weight, importance_weight = excluded.importance_weight, graph_weight = excluded.graph_weight, base_weight = excluded.base_weight, interaction_weight = excluded.interaction_weight, priority_weight = excluded.priority_weight, importance_power = excluded.importance_power, recency_power = excluded.recency_power, recency_from = excluded.recency_from, recency_rate = excluded.recency_rate, recency_floor = excluded.recency_floor, whole_days = excluded.whole_days, unaccessed_days = excluded.unaccessed_days, kind_decay = excluded.kind_decay, minimum_relevance = excluded.minimum_relevance, threshold = excluded.threshold, candidate_limit = excluded.candidate_limit, line_limit = excluded.line_limit, extra_lines = excluded.extra_lines, mmr_lambda = excluded.mmr_lambda, mmr_lines = excluded.mmr_lines, duplicate_at = excluded.duplicate_at, event_hours = excluded.event_hours, event_limit = excluded.event_limit, event_relevance = excluded.event_relevance, event_types = excluded.event_types, profile = excluded.profile, day_headings = excluded.day_headings, name_boost = excluded.name_boost, time_boost = excluded.time_boost, time_before = excluded.time_before, time_after = excluded.time_after, time_after_day = excluded.time_after_day, when_boost = excluded.when_boost, question_penalty = excluded.question_penalty, boost_without_vector = excluded.boost_without_vector, neighbour_weight = excluded.neighbour_weight, second_neighbour_weight = excluded.second_neighbour_weight, answer_weight = excluded.answer_weight, session_weight = excluded.session_weight, squared = excluded.squared, question_factor = excluded.question_factor, cost_power = excluded.cost_power, detail_weight = excluded.detail_weight, common_share = excluded.common_share;

INSERT INTO memoir.profile (user_id, settings, ann, snippet, snippet_cost, snippet_ids, overview, rolling_summary, counted_up_to, counted, expanding, expansions, narrow_for, some_expire, updated_at, summarised_at) VALUES
('ada', '{"show_references": true}', '0', '## Current goals
- Search on 18 (in_progress, 40%)
', '18.31', '{4}', NULL, 'Ada runs the gateway team and cooks on Sundays.', '11', '9', '{517305,12553330,22311483,23972075,25701090,28596412,30995537,31645597,33586813,35549725,38911041,42173656,42307022,45747333,45842646,53251384,53965170,54745010,55653803,55683834,59717358,63600409,72136497,72148911,77876674,78868696,79641620,79910892,81818633,87423537,88346485,93390125,94247281,94288081,100224503,100254892,101958572,104673522,108029725,110052339,112568486,114373237,115605529,116117190,116700770,116789516,117821819,119242654,123414165,125879806,126219245,129876574,133639943,139654623,150179668,154125441,157311466,167775243,169157478,171948477,172460870,178304562,184247207,184316755,190968628,192566920,193139977,196843099,197239596,197411743,203642375,203904572,206891797,208616134,211816397,213402185,221078668,226548747,228911659,237189652,248498643,257729424,258456745,261035890,263920316,266931636}', '214328152', '4', 'true', '2026-04-01 00:00:29+00:00', '2026-04-01 00:00:01+00:00'),
('moved', '{}', '0', '', '0', '{}', NULL, '用户偏好简洁', '0', '0', '{}', '-1', '-1', 'true', '2026-04-01 00:00:34+00:00', '2026-04-01 00:00:34+00:00'),
('o''hara 🙂', '{}', '0', '', '0', '{}', NULL, NULL, '15', '1', '{45842646,55683834,62887914,108017127,114373237,148204710,156866948,248498643,258456745}', '214328152', '4', 'false', '2026-04-01 00:00:28+00:00', NULL),
('李雷', '{"confirm": true}', '0', '', '0', '{}', NULL, NULL, '13', '2', '{7457315,10153508,12118506,22311483,30995537,31645597,43978655,53522852,63203818,68209138,68898986,69763604,74636408,78195567,85098715,86273896,90787081,100173634,107982659,109508423,113452101,123714099,127024410,134495046,137821977,139654623,141745275,143548410,144387788,151334940,154125441,171681088,197244929,199182788,211266789,211816397,212543045,232571406,254712356,261966848,263920316}', '214328152', '4', 'false', '2026-04-01 00:00:28+00:00', NULL);

INSERT INTO memoir.prompt (kind, language, version, template, input, answer_schema, active) VALUES
('system', 'en', '2', 'You have a memory. Call `search_memories` when you need it.', NULL, NULL, 'true')
ON CONFLICT (kind, language, version) DO UPDATE SET kind = excluded.kind, language = excluded.language, version = excluded.version, template = excluded.template, input = excluded.input, answer_schema = excluded.answer_schema, active = excluded.active;

INSERT INTO memoir.query_expansion (user_id, query_hash, query, expansion, uses, created_at) VALUES
('ada', E'\\x82bd81ea4b0302554165ae91628c0965b68b976a62ecf107c2e79688833f7599', 'cooking', '{"synonyms": ["kitchen"]}', '0', '2026-04-01 00:00:26+00:00');

INSERT INTO memoir.redaction_rule (name, kind, matches, context, pattern, any_case, proof, sign, enabled, description) VALUES
('badge', 'badge', 'text', '', 'BDG-[0-9]{6}', 'false', NULL, NULL, 'true', 'Badges of the canteen'),
('discord', 'api_key', 'text', '', E'(?<![A-Za-z0-9])[MNO][A-Za-z0-9_-]{20,}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{16,}', 'false', NULL, '{"[A-Za-z0-9_-]{16}","[A-Za-z0-9_.-]{32}"}', 'false', 'Discord bot')
ON CONFLICT (name) DO UPDATE SET name = excluded.name, kind = excluded.kind, matches = excluded.matches, context = excluded.context, pattern = excluded.pattern, any_case = excluded.any_case, proof = excluded.proof, sign = excluded.sign, enabled = excluded.enabled, description = excluded.description;

INSERT INTO memoir.retrieval (user_id, retrieval_id, created_at, as_of, mode, query, ids, kinds, score, weights, chosen, token_used, token_budget, elapsed_ms, used_ids, counted) VALUES
('ada', '1', '2026-04-01 00:00:23+00:00', NULL, 'execute', 'login failed', '{1}', '{2}', '{0.5}', '{1.2,1,0.8,0.5,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}', '{1}', '43', '800', '1', '{1}', 'true'),
('李雷', '2', '2026-04-01 00:00:30+00:00', NULL, 'execute', '认证失败', '{12}', '{15}', '{0.5}', '{1.2,1,0.8,0.5,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}', '{1}', '19', '800', '1', NULL, 'false');

INSERT INTO memoir.session (user_id, session_id, number, temporary, data, started_at, ended_at, next_position, questions) VALUES
('ada', 'monday', '1', 'false', '{}', '2026-03-30 10:00:00+00', '2026-03-30 11:00:00+00', '2', '1');

INSERT INTO memoir.setting (name, value, description) VALUES
('installation', '"7c1d8f0a-0000-4000-8000-000000000001"', 'Names this database in what a sync keeps of files: it is no base for another database.'),
('profile_goals', '5', 'Goals in the profile part of a block (D0 1.5).')
ON CONFLICT (name) DO UPDATE SET name = excluded.name, value = excluded.value, description = excluded.description;

INSERT INTO memoir.source_error (user_id, error_id, source, source_key, place, code, reason, attempts, created_at) VALUES
('ada', '1', 'recipes', '2', NULL, 'ME007', 'the text is empty', '1', '2026-04-01 00:00:41+00:00');

INSERT INTO memoir.synonym (term, synonym, similarity) VALUES
('auth', 'login', '0'),
('azafrán', 'saffron', '0.9'),
('saffron', '藏红花', '0.8')
ON CONFLICT (term, synonym) DO UPDATE SET term = excluded.term, synonym = excluded.synonym, similarity = excluded.similarity;

INSERT INTO memoir.term (user_id, term, df) VALUES
('ada', '530298', '1'),
('ada', '9192003', '1'),
('ada', '11333962', '1'),
('ada', '18111200', '2'),
('ada', '19009102', '2'),
('ada', '24600327', '1'),
('ada', '26153558', '1'),
('ada', '34207589', '1'),
('ada', '36999066', '1'),
('ada', '37851946', '1'),
('ada', '46599699', '1'),
('ada', '69763604', '1'),
('ada', '82468583', '2'),
('ada', '82607188', '3'),
('ada', '82613658', '2'),
('ada', '85098715', '1'),
('ada', '89458976', '1'),
('ada', '102965506', '1'),
('ada', '104101518', '1'),
('ada', '105182743', '2'),
('ada', '109291053', '1'),
('ada', '118942892', '1'),
('ada', '125974270', '1'),
('ada', '127862635', '1'),
('ada', '132769197', '1'),
('ada', '136508315', '1'),
('ada', '146127324', '1'),
('ada', '161960472', '1'),
('ada', '171643947', '1'),
('ada', '172460870', '3'),
('ada', '174124061', '1'),
('ada', '181117526', '2'),
('ada', '192664925', '1'),
('ada', '193716923', '1'),
('ada', '197411743', '3'),
('ada', '203785776', '1'),
('ada', '207432234', '1'),
('ada', '209712861', '1'),
('ada', '213518006', '1'),
('ada', '239350459', '1'),
('ada', '249564169', '1'),
('ada', '276783605', '1'),
('ada', '317282581', '2'),
('ada', '335108340', '1'),
('ada', '372795063', '1'),
('ada', '408372540', '1'),
('ada', '433471355', '1'),
('ada', '460927881', '1'),
('ada', '479454090', '1'),
('o''hara 🙂', '23361385', '1'),
('o''hara 🙂', '46599699', '1'),
('o''hara 🙂', '105479756', '1'),
('o''hara 🙂', '113933987', '1'),
('o''hara 🙂', '122311108', '1'),
('o''hara 🙂', '217241969', '1'),
('o''hara 🙂', '221421330', '1'),
('李雷', '1040321', '1'),
('李雷', '4217244', '1'),
('李雷', '27354334', '1'),
('李雷', '42173656', '1'),
('李雷', '63548624', '1'),
('李雷', '75087405', '1'),
('李雷', '91495699', '1'),
('李雷', '96959872', '1'),
('李雷', '106147908', '1'),
('李雷', '120969764', '1'),
('李雷', '125974270', '1'),
('李雷', '127878111', '1'),
('李雷', '131836957', '1'),
('李雷', '164034506', '1'),
('李雷', '167641375', '2'),
('李雷', '204727169', '1'),
('李雷', '214234632', '1'),
('李雷', '221078668', '1'),
('李雷', '221193639', '1'),
('李雷', '221607321', '1'),
('李雷', '242156800', '1'),
('李雷', '311451779', '1'),
('李雷', '435158225', '1');

INSERT INTO memoir.tool (name, place, calls, offered, kind_argument, arguments, texts) VALUES
('related', '3', '_related_tool', 'false', NULL, '{"max_results": {"maximum": 20, "minimum": 1}}', '{"zh": {"arguments": {"key": "搜索结果中的 key。", "max_results": "最多返回几条，1 到 20。"}, "description": "列出与一条记忆有关联的其他记忆：有关系的、提到同一实体的、同一对话中相邻的、相似的。"}}')
ON CONFLICT (name) DO UPDATE SET name = excluded.name, place = excluded.place, calls = excluded.calls, offered = excluded.offered, kind_argument = excluded.kind_argument, arguments = excluded.arguments, texts = excluded.texts;

INSERT INTO memoir.tool_call (user_id, tool_call_id, created_at, tool, arguments, memory_ids, total_found, elapsed_ms, counted) VALUES
('ada', '1', '2026-04-01 00:00:24+00:00', 'search_memories', '{"query": "saffron rice"}', '{6}', '1', '1', 'true'),
('moved', '19', '2026-04-01 00:00:31+00:00', 'memory_search', '{"query": "key"}', '{32}', '1', '1', 'false'),
('o''hara 🙂', '2', '2026-04-01 00:00:31+00:00', 'memory_search', '{"query": "key"}', '{15}', '1', '1', 'false');

INSERT INTO memoir.uncompared (user_id, memory_id) VALUES
('ada', '16');

INSERT INTO memoir.job (user_id, job_id, kind, payload, dedup_key, status, priority, attempts, run_at, worker, error, created_at, finished_at) VALUES
('ada', '1', 'rolling_summary', '{}', NULL, 'waiting', '0', '0', '2026-04-01 00:00:12+00:00', NULL, NULL, '2026-04-01 00:00:12+00:00', NULL),
('ada', '2', 'reflect', '{"session_id": "monday"}', 'monday', 'waiting', '0', '0', '2026-04-01 00:00:18+00:00', NULL, NULL, '2026-04-01 00:00:18+00:00', NULL),
('ada', '3', 'expand', '{"query": "cooking"}', '82bd81ea4b0302554165ae91628c0965b68b976a62ecf107c2e79688833f7599', 'waiting', '0', '0', '2026-04-01 00:00:25+00:00', NULL, NULL, '2026-04-01 00:00:25+00:00', NULL),
('ada', '4', 'archive', '{"event_ids": ["2", "1"]}', NULL, 'waiting', '0', '0', '2026-04-01 00:00:28+00:00', NULL, NULL, '2026-04-01 00:00:28+00:00', NULL),
('ada', '6', 'report', '{"week": 14}', NULL, 'waiting', '0', '0', '2026-04-01 00:00:36+00:00', NULL, NULL, '2026-04-01 00:00:36+00:00', NULL),
('ada', '7', 'report', '{"week": 13}', NULL, 'done', '1', '1', '2026-04-01 00:00:42+00:00', 'w', NULL, '2026-04-01 00:00:37+00:00', '2026-04-01 00:00:38+00:00'),
('李雷', '5', 'archive', '{"event_ids": ["3"]}', NULL, 'waiting', '0', '0', '2026-04-01 00:00:28+00:00', NULL, NULL, '2026-04-01 00:00:28+00:00', NULL);

INSERT INTO memoir.memory (user_id, memory_id, kind, content, summary, data, subject, importance, confidence, origin, session_id, position, speaker, source, source_key, valid_from, valid_until, lifetime, status, retired_at, content_hash, created_at, recorded_at, updated_at) VALUES
('ada', '1', 'learning', 'Logins failed after the key rotation: three gateways kept the old JWKS', NULL, '{}', NULL, '0.8', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-01-05 10:00:00+00', NULL, 'core', 'active', NULL, E'\\x40496c2ca05f2dfddd09295c29f4b6930f6df09ecb032745003b41d1d4e10d62', '2026-01-05 10:00:00+00', '2026-04-01 00:00:02+00:00', '2026-04-01 00:00:02+00:00'),
('ada', '2', 'fact', 'The staging database runs PostgreSQL 16', NULL, '{}', 'staging.database', '0.8', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-01-07 09:00:00+00', '2026-02-20 09:00:00+00', 'core', 'superseded', '2026-02-20 09:00:00+00', E'\\x3728019c585f165f89f02b30355ec647f0e1827c4ec85ea356011a20cff58e21', '2026-01-07 09:00:00+00', '2026-04-01 00:00:03+00:00', '2026-04-01 00:00:04+00:00'),
('ada', '3', 'fact', 'The staging database runs PostgreSQL 18', NULL, '{}', 'staging.database', '0.8', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-02-20 09:00:00+00', NULL, 'core', 'active', NULL, E'\\x4f4ca26f13a0d3e42c27caec3e7d395f85637b3b9ec1379b322b4355f6eb53f2', '2026-02-20 09:00:00+00', '2026-04-01 00:00:04+00:00', '2026-04-01 00:00:04+00:00'),
('ada', '4', 'okr', 'Search moves to PostgreSQL 18', NULL, '{"title": "Search on 18", "status": "in_progress", "priority": 0, "progress": 40}', NULL, '0.5', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-01-10 09:00:00+00', NULL, 'core', 'active', NULL, E'\\x14e333c5908f95072f4345229fbdb435806f57e0c54529cf1c92551ece2b7333', '2026-01-10 09:00:00+00', '2026-04-01 00:00:05+00:00', '2026-04-01 00:00:05+00:00'),
('ada', '5', 'capability', 'Reads logs of the gateway', NULL, '{}', NULL, '0.5', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-01-10 09:05:00+00', NULL, 'core', 'forgotten', '2026-04-01 00:00:12+00:00', E'\\x31b326339511b4f633d16553525f8f669bb11801a8c76c5d9ef349b6fa20bdc2', '2026-01-10 09:05:00+00', '2026-04-01 00:00:06+00:00', '2026-04-01 00:00:12+00:00'),
('ada', '6', 'recipe', 'Rice with saffron: toast the rice, then add stock by the ladle', 'Rice with saffron', '{}', NULL, '0.5', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-03-01 18:00:00+00', NULL, 'core', 'active', NULL, E'\\xc071c9f65ba2ef38b8a1e449cf2bb9bee03dabee6f7c2ddcb300454404d19314', '2026-03-01 18:00:00+00', '2026-04-01 00:00:07+00:00', '2026-04-01 00:00:07+00:00'),
('ada', '7', 'general', 'The badge [redacted:badge] opens the canteen', NULL, '{}', NULL, '0.5', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-03-02 12:00:00+00', NULL, 'core', 'active', NULL, E'\\xb0151812175eff8be7db131cc485198846d70452e9c3a901a1545522e300afeb', '2026-03-02 12:00:00+00', '2026-04-01 00:00:08+00:00', '2026-04-01 00:00:08+00:00'),
('ada', '8', 'procedural', 'Deploys of the gateway wait twenty minutes for the canary', NULL, '{}', NULL, '0.5', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-02-02 12:00:00+00', NULL, 'core', 'active', NULL, E'\\xee3cb170bf5ba7dced0886f32f79c2f69a58c0ffab3819e7f674ca985ec8687b', '2026-02-02 12:00:00+00', '2026-04-01 00:00:09+00:00', '2026-04-01 00:00:11+00:00'),
('ada', '9', 'fact', 'The canary runs ten minutes', NULL, '{}', NULL, '0.8', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-02-03 12:00:00+00', '2026-03-15 00:00:00+00', 'core', 'active', NULL, E'\\x1aa33e60ffac6ab2943f7ca8e656449ddb888868390e07da1a43e13e8be10b12', '2026-02-03 12:00:00+00', '2026-04-01 00:00:10+00:00', '2026-04-01 00:00:10+00:00'),
('ada', '10', 'turn', 'Which database does billing use?', NULL, '{}', NULL, '0.5', '1', 'user', 'monday', '0', 'Mara', NULL, NULL, '2026-03-30 10:00:00+00', NULL, 'core', 'active', NULL, E'\\xeb539f6a3983207bb2ce03c0ceeb05621c51c003363ece9cf9e9502625418647', '2026-03-30 10:00:00+00', '2026-04-01 00:00:16+00:00', '2026-04-01 00:00:16+00:00'),
('ada', '11', 'turn', 'PostgreSQL, for its row-level security.', NULL, '{}', NULL, '0.5', '1', 'user', 'monday', '1', 'Ken', NULL, NULL, '2026-03-30 10:01:00+00', NULL, 'core', 'active', NULL, E'\\x0d89c472fd2d621aba9b094e4258a003e9c0e9baac29f654234dd85fdfb3a5ad', '2026-03-30 10:01:00+00', '2026-04-01 00:00:17+00:00', '2026-04-01 00:00:17+00:00'),
('ada', '16', 'general', 'Written after the words were counted', NULL, '{}', NULL, '0.5', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-03-31 09:00:00+00', NULL, 'core', 'active', NULL, E'\\x4307aa67f3342896c00ced279b90f8a97d64370e4a4a66220f7333ed1cffd005', '2026-03-31 09:00:00+00', '2026-04-01 00:00:32+00:00', '2026-04-01 00:00:32+00:00'),
('ada', '10019', 'recipe', 'Bread: flour, water, salt and a day of waiting', NULL, '{}', NULL, '0.5', '1', 'source', NULL, NULL, NULL, 'recipes', '1', '2026-04-01 00:00:40+00:00', NULL, 'core', 'active', NULL, E'\\x35d7ccd711638fef9bb83e77df775bfe0c14732637ac9c08fbbede76620738b6', '2026-04-01 00:00:40+00:00', '2026-04-01 00:00:40+00:00', '2026-04-01 00:00:40+00:00'),
('moved', '32', 'fact', E'Keeps the spare key under the "blue" pot \\ never in the drawer 🔑', NULL, '{}', NULL, '0.8', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00+00', NULL, 'core', 'active', NULL, E'\\xb7d53c5a9c383b61afee5b4c6773f3ee76a3c6e694c5737af13a33d3f1d738df', '2026-01-01 00:00:00+00', '2026-04-01 00:00:22+00:00', '2026-04-01 00:00:22+00:00'),
('moved', '10018', 'preference', '用户偏好东方航空，尤其是早班机', NULL, '{"mood": "calm"}', NULL, '0.85', '1', 'user_explicit', NULL, NULL, NULL, NULL, NULL, '2026-02-21 10:30:00+00', NULL, 'core', 'active', NULL, E'\\x15693fdb65357e5f25082840dcd7829cc8dd4a8f76354b1e905e30103a5207f0', '2026-02-21 10:30:00+00', '2026-04-01 00:00:34+00:00', '2026-04-01 00:00:34+00:00'),
('o''hara 🙂', '15', 'fact', E'Keeps the spare key under the "blue" pot \\ never in the drawer 🔑', NULL, '{}', NULL, '0.8', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00+00', NULL, 'core', 'active', NULL, E'\\xb7d53c5a9c383b61afee5b4c6773f3ee76a3c6e694c5737af13a33d3f1d738df', '2026-01-01 00:00:00+00', '2026-04-01 00:00:22+00:00', '2026-04-01 00:00:22+00:00'),
('李雷', '12', 'procedural', '认证失败先看令牌的 kid 是否在 JWKS 里', NULL, '{}', NULL, '0.5', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-02-11 03:00:00+00', NULL, 'core', 'active', NULL, E'\\xd89f825a91d9e2ce56fe8eaac2e2cdab97eb9b2a6164b6506f60f614c31f1fc9', '2026-02-11 03:00:00+00', '2026-04-01 00:00:19+00:00', '2026-04-01 00:00:19+00:00'),
('李雷', '13', 'preference', '喜欢先看日志再看代码', NULL, '{}', '习惯.排查', '0.9', '1', 'user', NULL, NULL, NULL, NULL, NULL, '2026-02-12 03:00:00+00', NULL, 'core', 'active', NULL, E'\\x38a411d4d3e78298a336fffca2c30cec4e5473cf7f453e701a2fb84de6a9bdcd', '2026-02-12 03:00:00+00', '2026-04-01 00:00:20+00:00', '2026-04-01 00:00:20+00:00'),
('李雷', '14', 'fact', '预发环境的网关每周二重启', NULL, '{}', NULL, '0.8', '1', 'model', NULL, NULL, NULL, NULL, NULL, '2026-03-01 00:00:00+00', NULL, 'core', 'pending', NULL, E'\\xba94073d4f13dc06056acc4ce477d4d2babb0b7d544948bfa8d35d10fc0f0d2b', '2026-03-01 00:00:00+00', '2026-04-01 00:00:21+00:00', '2026-04-01 00:00:21+00:00');

INSERT INTO memoir.message (user_id, session_id, position, role, speaker, content, tokens, data, private, created_at) VALUES
('ada', 'monday', '0', 'user', 'Mara', 'Which database does billing use?', '8', '{}', 'false', '2026-03-30 10:00:00+00'),
('ada', 'monday', '1', 'assistant', NULL, 'PostgreSQL, for its row-level security.', '12', '{"tool": "search_memories", "success": true}', 'false', '2026-03-30 10:01:00+00');

INSERT INTO memoir.mode_weight (mode, kind, weight) VALUES
('debug', 'event', '1.4'),
('kitchen', 'recipe', '2')
ON CONFLICT (mode, kind) DO UPDATE SET mode = excluded.mode, kind = excluded.kind, weight = excluded.weight;

INSERT INTO memoir.source (name, source_id, kind, relation, query, follows, mapping, on_delete, write_retrievals, attached_by, read_up_to, checking, complete, last_read, created_at) VALUES
('recipes', '1', 'recipe', 'public.recipes', NULL, 'true', '{"content": ["body"], "user_id": "ada", "source_id": ["id"], "time_zone": "UTC"}', 'forget', 'false', 'postgres', NULL, NULL, 'false', NULL, '2026-04-01 00:00:39+00:00')
ON CONFLICT (name) DO UPDATE SET name = excluded.name, source_id = excluded.source_id, kind = excluded.kind, relation = excluded.relation, query = excluded.query, follows = excluded.follows, mapping = excluded.mapping, on_delete = excluded.on_delete, write_retrievals = excluded.write_retrievals, attached_by = excluded.attached_by, read_up_to = excluded.read_up_to, checking = excluded.checking, complete = excluded.complete, last_read = excluded.last_read, created_at = excluded.created_at;

INSERT INTO memoir.access (user_id, memory_id, count, last_at) VALUES
('ada', '1', '1', '2026-04-01 00:00:23+00:00'),
('ada', '6', '1', '2026-04-01 00:00:24+00:00'),
('moved', '10018', '3', '2026-02-21 14:00:00+00');

INSERT INTO memoir.file_entry (user_id, entry_id, memory_id, place, written, digest) VALUES
('moved', 'a1b2c3d4', '10018', '0', '{"id": "a1b2c3d4", "category": "preferences",
    "content": "用户偏好东方航空，尤其是早班机", "salience": 0.85, "mood": "calm",
    "created_at": "2026-02-21T10:30:00Z", "last_accessed": "2026-02-21T14:00:00Z",
    "access_count": 3, "source": "user_explicit"}', 'b1cb82bb-d06f-f74a-c5a5-c30a561b5251');

INSERT INTO memoir.gold_relevant (user_id, gold_id, memory_id, grade) VALUES
('ada', '1', '1', '1'),
('ada', '1', '8', '1');

INSERT INTO memoir.keyword (user_id, keyword, memory_id, weight, origin, created_at) VALUES
('ada', 'badge', '7', '0.45', 'system', '2026-04-01 00:00:08+00:00'),
('ada', 'billing', '10', '0.55', 'system', '2026-04-01 00:00:16+00:00'),
('ada', 'canary', '9', '0.5', 'system', '2026-04-01 00:00:10+00:00'),
('ada', 'canteen', '7', '0.55', 'system', '2026-04-01 00:00:08+00:00'),
('ada', 'counted', '16', '0.55', 'system', '2026-04-01 00:00:32+00:00'),
('ada', 'database', '2', '0.6000000000000001', 'system', '2026-04-01 00:00:03+00:00'),
('ada', 'database', '3', '0.6000000000000001', 'system', '2026-04-01 00:00:04+00:00'),
('ada', 'database', '10', '0.6000000000000001', 'system', '2026-04-01 00:00:16+00:00'),
('ada', 'deploys', '8', '0.65', 'system', '2026-04-01 00:00:11+00:00'),
('ada', 'gateway', '5', '0.55', 'system', '2026-04-01 00:00:06+00:00'),
('ada', 'gateway', '8', '0.55', 'system', '2026-04-01 00:00:11+00:00'),
('ada', 'gateways', '1', '0.6000000000000001', 'system', '2026-04-01 00:00:02+00:00'),
('ada', 'jwks', '1', '1', 'user_tag', '2026-04-01 00:00:02+00:00'),
('ada', 'ladle', '6', '0.45', 'system', '2026-04-01 00:00:07+00:00'),
('ada', 'level', '11', '0.45', 'system', '2026-04-01 00:00:17+00:00'),
('ada', 'logins', '1', '0.6000000000000001', 'system', '2026-04-01 00:00:02+00:00'),
('ada', 'logs', '5', '0.4', 'system', '2026-04-01 00:00:06+00:00'),
('ada', 'minutes', '8', '0.55', 'system', '2026-04-01 00:00:11+00:00'),
('ada', 'minutes', '9', '0.55', 'system', '2026-04-01 00:00:10+00:00'),
('ada', 'moves', '4', '0.45', 'system', '2026-04-01 00:00:05+00:00'),
('ada', 'opens', '7', '0.45', 'system', '2026-04-01 00:00:08+00:00'),
('ada', 'postgresql', '2', '0.9000000000000001', 'system', '2026-04-01 00:00:03+00:00'),
('ada', 'postgresql', '3', '0.9000000000000001', 'system', '2026-04-01 00:00:04+00:00'),
('ada', 'postgresql', '4', '0.9000000000000001', 'system', '2026-04-01 00:00:05+00:00'),
('ada', 'postgresql', '11', '0.9000000000000001', 'system', '2026-04-01 00:00:17+00:00'),
('ada', 'reads', '5', '0.55', 'system', '2026-04-01 00:00:06+00:00'),
('ada', 'rice', '6', '0.5', 'system', '2026-04-01 00:00:07+00:00'),
('ada', 'rotation', '1', '1', 'user_tag', '2026-04-01 00:00:02+00:00'),
('ada', 'row-level', '11', '1', 'system', '2026-04-01 00:00:17+00:00'),
('ada', 'runs', '9', '0.4', 'system', '2026-04-01 00:00:10+00:00'),
('ada', 'saffron', '6', '0.55', 'system', '2026-04-01 00:00:07+00:00'),
('ada', 'search', '4', '0.6000000000000001', 'system', '2026-04-01 00:00:05+00:00'),
('ada', 'security', '11', '0.6000000000000001', 'system', '2026-04-01 00:00:17+00:00'),
('ada', 'staging', '2', '0.55', 'system', '2026-04-01 00:00:03+00:00'),
('ada', 'staging', '3', '0.55', 'system', '2026-04-01 00:00:04+00:00'),
('ada', 'words', '16', '0.45', 'system', '2026-04-01 00:00:32+00:00'),
('ada', 'written', '16', '0.65', 'system', '2026-04-01 00:00:32+00:00'),
('moved', 'drawer', '32', '0.5', 'system', '2026-04-01 00:00:22+00:00'),
('moved', 'keeps', '32', '0.55', 'system', '2026-04-01 00:00:22+00:00'),
('moved', 'never', '32', '0.45', 'system', '2026-04-01 00:00:22+00:00'),
('moved', '偏好', '10018', '0.7', 'system', '2026-04-01 00:00:34+00:00'),
('moved', '尤其', '10018', '0.5', 'system', '2026-04-01 00:00:34+00:00'),
('moved', '早班机', '10018', '0.5', 'system', '2026-04-01 00:00:34+00:00'),
('moved', '用户', '10018', '0.7', 'system', '2026-04-01 00:00:34+00:00'),
('o''hara 🙂', 'drawer', '15', '0.5', 'system', '2026-04-01 00:00:22+00:00'),
('o''hara 🙂', 'keeps', '15', '0.55', 'system', '2026-04-01 00:00:22+00:00'),
('o''hara 🙂', 'never', '15', '0.45', 'system', '2026-04-01 00:00:22+00:00'),
('李雷', 'jwks', '12', '0.6000000000000001', 'system', '2026-04-01 00:00:19+00:00'),
('李雷', '代码', '13', '0.7', 'system', '2026-04-01 00:00:20+00:00'),
('李雷', '令牌', '12', '0.7', 'system', '2026-04-01 00:00:19+00:00'),
('李雷', '周二', '14', '0.7', 'system', '2026-04-01 00:00:21+00:00'),
('李雷', '喜欢', '13', '0.7', 'system', '2026-04-01 00:00:20+00:00'),
('李雷', '失败', '12', '0.7', 'system', '2026-04-01 00:00:19+00:00'),
('李雷', '日志', '13', '0.7', 'system', '2026-04-01 00:00:20+00:00'),
('李雷', '每周', '14', '0.7', 'system', '2026-04-01 00:00:21+00:00'),
('李雷', '环境', '14', '0.7', 'system', '2026-04-01 00:00:21+00:00'),
('李雷', '网关', '14', '0.7', 'system', '2026-04-01 00:00:21+00:00'),
('李雷', '认证', '12', '0.7', 'system', '2026-04-01 00:00:19+00:00'),
('李雷', '重启', '14', '0.7', 'system', '2026-04-01 00:00:21+00:00');

INSERT INTO memoir.mention (user_id, entity_id, memory_id) VALUES
('ada', '1', '1'),
('ada', '1', '8'),
('ada', '3', '6');

INSERT INTO memoir.relation (user_id, from_id, to_id, type, strength, change_id, created_at) VALUES
('ada', '3', '2', 'supersedes', '1', '2', '2026-04-01 00:00:04+00:00'),
('ada', '6', '1', 'derived_from', '1', NULL, '2026-04-01 00:00:07+00:00'),
('ada', '8', '1', 'supports', '0.7', NULL, '2026-04-01 00:00:13+00:00');

INSERT INTO memoir.revision (user_id, revision_id, memory_id, action, author, reason, old_values, model, change_id, run_id, undoes, created_at) VALUES
('ada', '1', '2', 'SUPERSEDE', 'user', 'memory 3 follows', '{"status": "active", "retired_at": null, "valid_until": null}', NULL, '2', NULL, NULL, '2026-04-01 00:00:04+00:00'),
('ada', '2', '3', 'ADD', 'user', NULL, NULL, NULL, '2', NULL, NULL, '2026-04-01 00:00:04+00:00'),
('ada', '3', '8', 'UPDATE', 'user', NULL, '{"content": "Deploys of the gateway wait for the canary"}', NULL, '3', NULL, NULL, '2026-04-01 00:00:11+00:00'),
('ada', '4', '5', 'FORGET', 'user', 'It reads more than that', '{"status": "active", "retired_at": null}', NULL, '4', NULL, NULL, '2026-04-01 00:00:12+00:00'),
('moved', '10007', '10018', 'ADD', 'file', NULL, NULL, NULL, '10008', '10004', NULL, '2026-04-01 00:00:34+00:00'),
('李雷', '5', '14', 'ADD', 'model', NULL, NULL, NULL, '6', '1', NULL, '2026-04-01 00:00:21+00:00');

INSERT INTO memoir.trace (user_id, memory_id, model, kind, created_at, importance, session, position, asks, derived, details, cost, brief_cost, term_count, terms, embedding, line, brief, active, wide) VALUES
('ada', '1', '1', '2', '2026-01-05 10:00:00+00', '0.8', '0', '-1', 'false', 'false', '0', '16.43', NULL, '9', '{11333962:1,46599699:1,69763604:1,82468583:1,85098715:1,125974270:1,127862635:1,146127324:1,213518006:1,317282581:0.00024414062}/536870912', '[1,0,0,0]', 'Logins failed after the key rotation: three gateways kept the old JWKS', NULL, 'true', 'false'),
('ada', '2', '1', '8', '2026-01-07 09:00:00+00', '0.8', '0', '-1', 'false', 'false', '3', '12.57', NULL, '8', '{18111200:1,82607188:1,172460870:1,181117526:1,186117998:1,197411743:1,203785776:1,209712861:1,372795063:0.00024414062,408372540:0.00024414062,460927881:0.00024414062}/536870912', '[0,1,0,0]', 'The staging database runs PostgreSQL 16', NULL, 'false', 'false'),
('ada', '3', '1', '8', '2026-02-20 09:00:00+00', '0.8', '0', '-1', 'false', 'false', '3', '12.57', NULL, '8', '{18111200:1,82607188:1,82613658:1,172460870:1,181117526:1,197411743:1,203785776:1,209712861:1,372795063:0.00024414062,408372540:0.00024414062,460927881:0.00024414062}/536870912', '[0,1,0.099975586,0]', 'The staging database runs PostgreSQL 18', NULL, 'true', 'false'),
('ada', '4', '1', '4', '2026-01-10 09:00:00+00', '0.5', '0', '-1', 'false', 'false', '3', '18.81', NULL, '6', '{37851946:1,82607188:1,82613658:1,109291053:1,172460870:1,197411743:1}/536870912', NULL, 'Search moves to PostgreSQL 18 (in_progress, 40%)', NULL, 'true', 'false'),
('ada', '5', '1', '5', '2026-01-10 09:05:00+00', '0.5', '0', '-1', 'false', 'false', '0', '6.43', NULL, '3', '{53568329:1,82468583:1,137821977:1}/536870912', NULL, 'Reads logs of the gateway', NULL, 'false', 'false'),
('ada', '6', '1', '61', '2026-03-01 18:00:00+00', '0.5', '0', '-1', 'false', 'true', '0', '15.3', '4.75', '6', '{9192003:1,34207589:1,132769197:1,136508315:1,161960472:1,174124061:1,276783605:0.00024414062}/536870912', '[0,0,1,0]', 'Rice with saffron: toast the rice, then add stock by the ladle', 'Rice with saffron', 'true', 'false'),
('ada', '7', '1', '17', '2026-03-02 12:00:00+00', '0.5', '0', '-1', 'false', 'false', '0', '12.07', NULL, '4', '{24600327:1,26153558:1,36999066:1,89458976:1}/536870912', NULL, 'The badge [redacted:badge] opens the canteen', NULL, 'true', 'false'),
('ada', '8', '1', '15', '2026-02-02 12:00:00+00', '0.5', '0', '-1', 'false', 'false', '0', '13.15', NULL, '6', '{19009102:1,82468583:1,105182743:1,118942892:1,192664925:1,207432234:1,317282581:0.00024414062}/536870912', NULL, 'Deploys of the gateway wait twenty minutes for the canary', NULL, 'true', 'false'),
('ada', '9', '1', '8', '2026-02-03 12:00:00+00', '0.8', '0', '-1', 'false', 'false', '0', '6.85', NULL, '4', '{19009102:1,105182743:1,181117526:1,239350459:1}/536870912', NULL, 'The canary runs ten minutes', NULL, 'true', 'false'),
('ada', '10', '1', '6', '2026-03-30 10:00:00+00', '0.5', '1', '0', 'true', 'false', '0', '10.26', NULL, '3', '{18111200:1,102965506:1,171643947:1,335108340:0.00024414062,479454090:0.00024414062}/536870912', '[0.5,0.5,0,0]', 'Mara: Which database does billing use?', NULL, 'true', 'false'),
('ada', '11', '1', '6', '2026-03-30 10:01:00+00', '0.5', '1', '1', 'false', 'false', '0', '14.22', NULL, '7', '{530298:1,82607188:1,104101518:1,172460870:1,193716923:1,197411743:1,249564169:1,433471355:0.00024414062}/536870912', NULL, 'Ken: PostgreSQL, for its row-level security.', NULL, 'true', 'false'),
('ada', '16', '1', '17', '2026-03-31 09:00:00+00', '0.5', '0', '-1', 'false', 'false', '0', '8.74', NULL, '3', '{113464468:1,160177845:1,214699662:1}/536870912', NULL, 'Written after the words were counted', NULL, 'true', 'false'),
('ada', '10019', '1', '61', '2026-04-01 00:00:40+00:00', '0.5', '0', '-1', 'false', 'false', '0', '12.49', NULL, '6', '{15996549:1,104102318:1,118942892:1,155501183:1,159735885:1,257292669:1}/536870912', NULL, 'Bread: flour, water, salt and a day of waiting', NULL, 'true', 'false'),
('moved', '32', '1', '8', '2026-01-01 00:00:00+00', '0.8', '0', '-1', 'false', 'false', '2', '18.875', NULL, '7', '{23361385:1,46599699:1,105479756:1,113933987:1,122311108:1,217241969:1,221421330:1}/536870912', NULL, E'Keeps the spare key under the "blue" pot \\ never in the drawer 🔑', NULL, 'true', 'false'),
('moved', '10018', '1', '7', '2026-02-21 10:30:00+00', '0.85', '0', '-1', 'false', 'false', '0', '14.38', NULL, '10', '{5630172:1,13689257:1,25866871:1,60121572:1,93111876:1,108768604:1,133358708:1,164231671:1,252527095:1,253432580:1}/536870912', NULL, '用户偏好东方航空，尤其是早班机', NULL, 'true', 'false'),
('o''hara 🙂', '15', '1', '8', '2026-01-01 00:00:00+00', '0.8', '0', '-1', 'false', 'false', '2', '18.875', NULL, '7', '{23361385:1,46599699:1,105479756:1,113933987:1,122311108:1,217241969:1,221421330:1}/536870912', NULL, E'Keeps the spare key under the "blue" pot \\ never in the drawer 🔑', NULL, 'true', 'false'),
('李雷', '12', '1', '15', '2026-02-11 03:00:00+00', '0.5', '0', '-1', 'false', 'false', '0', '14.93', NULL, '11', '{1040321:1,27354334:1,42173656:1,75087405:1,96959872:1,120969764:1,125974270:1,127878111:1,167641375:1,221078668:1,221607321:1}/536870912', '[0.89990234,0,0,0.099975586]', '认证失败先看令牌的 kid 是否在 JWKS 里', NULL, 'true', 'false'),
('李雷', '13', '1', '7', '2026-02-12 03:00:00+00', '0.9', '0', '-1', 'false', 'false', '0', '9.98', NULL, '11', '{4217244:1,63548624:1,91495699:1,106147908:1,131836957:1,164034506:1,167641375:1,204727169:1,214234632:1,221193639:1,242156800:1,311451779:0.00024414062,435158225:0.00024414062}/536870912', NULL, '喜欢先看日志再看代码', NULL, 'true', 'false'),
('李雷', '14', '1', '8', '2026-03-01 00:00:00+00', '0.8', '0', '-1', 'false', 'false', '1', '11.74', NULL, '9', '{59717358:1,90341929:1,137568036:1,151313667:1,153634260:1,154043209:1,203904572:1,206621799:1,219379879:1,291416694:0.00024414062}/536870912', NULL, '预发环境的网关每周二重启', NULL, 'false', 'false');

SELECT setval('memoir.change_id_seq', 10008);

SELECT setval('memoir.entity_entity_id_seq', 10004);

SELECT setval('memoir.event_event_id_seq', 10005);

SELECT setval('memoir.gold_gold_id_seq', 10002);

SELECT setval('memoir.job_job_id_seq', 7);

SELECT setval('memoir.memory_memory_id_seq', 10019);

SELECT setval('memoir.retrieval_retrieval_id_seq', 10003);

SELECT setval('memoir.revision_revision_id_seq', 10007);

SELECT setval('memoir.run_id_seq', 10004);

SELECT setval('memoir.session_number_seq', 1);

SELECT setval('memoir.source_error_error_id_seq', 1);

SELECT setval('memoir.source_source_id_seq', 1);

SELECT setval('memoir.tool_call_tool_call_id_seq', 10003);
