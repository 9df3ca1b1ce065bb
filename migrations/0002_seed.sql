-- The numbers of the documents, each once. Tests read the tables of the documents and compare.

INSERT INTO setting VALUES
    ('log_recalls', 'true', 'Write a row to the retrieval log for every recall.'),
    ('text_limit', '10485760', 'Largest text remember() takes, in bytes.'),
    ('line_length', '1200', 'Longest line of a block, in characters; a longer memory is cut here.'),
    ('brief_length', '200',
     'Length of the short line made of a long memory without a summary, in characters (D2 3.1.2).'),
    ('notify', 'true',
     'Say on channel memoir what a write did (LISTEN memoir); view outbox tells it either way.'),
    ('consolidate', 'true',
     'Decide about near-duplicates when they are stored (D3 8, MEMORY_CONSOLIDATION_ENABLED); '
     'false: only exact duplicates and slots.'),
    ('extract_messages', '10',
     'The working memory of a session, and what memories are drawn from: its newest messages, at '
     'most so many (D4 5.2).'),
    ('extract_tokens', '4000',
     'At most so many tokens of the messages that extract_messages allows (D4 5.2).'),
    ('extract_every', '5',
     'Memories are drawn from a conversation whenever the user has said so many messages more; 0: '
     'never (D4 5.2).'),
    ('recall_context', '3',
     'How many messages before the current one recall_query() asks memory with (D4 5.3).'),
    ('link_hub_limit', '50',
     'An entity mentioned by more memories than this links none of them.'),
    ('profile_goals', '3', 'Goals in the profile part of a block (D0 1.5).'),
    ('profile_tokens', '100', 'About how many tokens the profile may take (D0, architecture).'),
    ('ann_gain', '3',
     'A user gets indexes of his own when they make his recalls so many times faster, and loses '
     'them when the gain falls below 0.7 of that.'),
    ('ann_limit', '32',
     'At most so many users, the largest, have indexes of their own: each costs every insert.'),
    ('ann_inline', '20000',
     'maintain() builds the indexes of a user of up to so many memories itself (writers wait some '
     'seconds); larger ones are left to the command memoir maintain, which makes nobody wait.'),
    ('ann_near', '60',
     'How many memories near the question by vector are candidates where a user has indexes of his '
     'own; two thirds of it below 50,000 memories.'),
    ('ann_words', '5000',
     'Where a user has indexes of his own, the rarest words of the question are looked up while so '
     'many memories, or a fiftieth of his where that is more, have them together: the rarest by '
     'itself, others in pairs.');

INSERT INTO embedding_model (model_id, active) VALUES (1, true);

-- Half-lives: D0 1.2. Importance: D4 3.2 (preference, fact, lesson, goal, context).
-- Priority: D2 3.3.2. Lifetimes: D4 3.3.
INSERT INTO kind (kind_id, name, aliases, layer, half_life_days, importance, priority, lifetime,
                  heading, description) VALUES
    (1, 'task', '{tasks}', 'semantic', 30, 0.5, 0, 'core',
        'Tasks', 'A piece of work, done or to do (D0 tasks, D3 tasks).'),
    (2, 'learning', '{learnings}', 'semantic', 90, 0.5, 0, 'core',
        'Learnings', 'What was learned from work (D0 learnings).'),
    (3, 'event', '{events}', 'episodic', 1, 0.5, 0, 'temporary',
        'Recent events', 'What happened, as a memory; see event_add() (D0 cecelia_events).'),
    (4, 'okr', '{okrs}', 'profile', NULL, 0.5, 0, 'core',
        'Goals', 'A goal; in its data title, status, priority, progress (D0 goals).'),
    (5, 'capability', '{capabilities}', 'profile', NULL, 0.5, 0, 'core',
        'Capabilities', 'What the agent can do (D0 capabilities).'),
    (6, 'turn', '{turns,message}', 'working', NULL, 0.5, 0, 'core',
        'Conversation', 'One message of a conversation.'),
    (7, 'preference', '{preferences,user_preference}', 'semantic', NULL, 0.9, 2, 'core',
        'User preferences', 'What the user likes or wants (D1, D2, D3, D4).'),
    (8, 'fact', '{facts}', 'semantic', NULL, 0.8, 0, 'core',
        'Known facts', 'What is so (D1, D3, D4).'),
    (9, 'pattern', '{patterns}', 'semantic', NULL, 0.5, 0, 'core',
        'User patterns', 'A habit or way of working (D1).'),
    (10, 'skill', '{skills}', 'procedural', NULL, 0.7, 0, 'core',
         'Proven skills', 'A sequence of tools that worked (D1 5.3).'),
    (11, 'lesson', '{lessons}', 'procedural', NULL, 0.85, 0, 'core',
         'Lessons', 'A failure and what solved it (D4).'),
    (12, 'goal', '{}', 'semantic', NULL, 0.7, 0, 'core',
         'Plans', 'What the user plans to do (D4).'),
    (13, 'context', '{contexts}', 'semantic', NULL, 0.4, 0, 'temporary',
         'Context', 'Something of the moment (D4).'),
    (14, 'reflection', '{reflections}', 'semantic', NULL, 0.5, 0, 'core',
         'Reflections', 'A lesson not tied to a tool (D3).'),
    (15, 'procedural', '{}', 'procedural', NULL, 0.5, 0, 'core',
         'How to', 'How a tool or an environment behaves (D3).'),
    (16, 'command_output', '{}', 'semantic', NULL, 0.5, 1, 'core',
         'Command output', 'What a command printed (D2).'),
    (17, 'general', '{memory}', 'semantic', NULL, 0.5, 0, 'core',
         'Notes', 'Anything else (D2, D3).');

-- The four modes of D0 (mode weights: D0, architecture; event windows and the profile: D0 1.5;
-- lambda: D0 3.1).
INSERT INTO mode (name, description, event_hours, profile) VALUES
    ('plan', 'Deciding what to do next: goals first.', 24, true),
    ('execute', 'Doing a task: tasks like it and what was learned.', 24, true),
    ('debug', 'Finding out what went wrong: learnings and three days of events.', 72, true),
    ('chat', 'Talking: little history, no goals.', 24, false);

INSERT INTO mode_weight (kind, mode, weight) VALUES
    ('task', 'plan', 1.0), ('task', 'execute', 1.2),
    ('task', 'debug', 1.0), ('task', 'chat', 0.8),
    ('learning', 'plan', 0.8), ('learning', 'execute', 1.0),
    ('learning', 'debug', 1.5), ('learning', 'chat', 0.6),
    ('event', 'plan', 0.5), ('event', 'execute', 0.8),
    ('event', 'debug', 1.5), ('event', 'chat', 0.3),
    ('okr', 'plan', 1.5), ('okr', 'execute', 0.5),
    ('okr', 'debug', 0.3), ('okr', 'chat', 1.0);

-- Conversations turn by turn. Weights are round numbers near the best of DESIGN 5's ladder on half
-- of LoCoMo; scripts/bench/locomo.py prints what each one adds.
INSERT INTO mode (name, description, vector_weight, word_weight, candidate_limit, mmr_lines,
                  event_limit, profile, day_headings, name_boost, time_boost, when_boost,
                  question_penalty, boost_without_vector, neighbour_weight,
                  second_neighbour_weight, answer_weight, session_weight, squared,
                  question_factor, cost_power, detail_weight, common_share) VALUES
    ('conversation', 'Finding what was said: names, times, and turns beside good turns.',
     0.65, 0.35, 32, 0, 0, false, 'asked', 0.4, 0.4, 0.1, 0.05, 0.6, 0.2, 0.15, 0.2, 0.3, true,
     0.85, 0.22, 0.1, 0.2);

-- What was extracted from a turn says the same in half the words.
INSERT INTO mode_weight (kind, mode, weight) VALUES ('fact', 'conversation', 1.2);

-- The modes of the other documents: D1 4.1; D2 3.3 and 5.2; D3 4.3, 4.4; D4 5.3. They order by
-- score alone and have neither D0's events nor its profile.
INSERT INTO mode (name, description, vector_weight, word_weight, keyword_weight, recency_weight,
                  importance_weight, graph_weight, base_weight, interaction_weight,
                  priority_weight, importance_power, recency_power, recency_from, recency_rate,
                  recency_floor, whole_days, unaccessed_days, minimum_relevance, line_limit,
                  extra_lines, kind_decay, mmr_lines, event_limit, profile, day_headings) VALUES
    ('balanced', 'Likeness first, then what is fresh in use and important; ten lines (D1).',
     0.6, 0, 0, 0.2, 0.2, 0, 1, 0, 0, 0, 0, 'accessed', 1::float8 / 30, 0, true, 365, 0,
     10, 0, false, 0, 0, false, 'never'),
    ('search', 'Looking something up: keywords, words, freshness, use, kind (D2).',
     0, 0.4, 0.4, 0.2, 0, 0, 0.7, 0.2, 0.1, 0, 0, 'created', ln(2::float8) / 30, 0.5, true, 365,
     0.6, NULL, 0, false, 0, 0, false, 'never'),
    ('implicit', 'Opening a conversation: three memories, and how tools behave (D3).',
     1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 'accessed', 0.05, 0, true, NULL, 0,
     3, 10, false, 0, 0, false, 'never'),
    ('assistant', 'Answering a message: three memories that are surely relevant and valid (D4).',
     0.5, 0.5, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 'created', 0, 0, false, 365, 0.7,
     3, 0, false, 0, 0, false, 'asked');
