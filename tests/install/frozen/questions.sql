-- What recall says to a set of questions: the block, and a line for each candidate. Two databases
-- that answer alike here recall alike. Parameter: as_of; NULL for now, when scores fall all the time
-- and are left out.
WITH asked (name, user_id, mode, query_text, query_vec) AS (
    VALUES ('words', 'ada', 'execute', 'Why do logins fail?', NULL),
           ('hybrid', 'ada', 'debug', 'gateway deploy failed', '[0.9,0.1,0,0]'),
           ('vector alone', 'ada', 'balanced', NULL, '[0,1,0,0]'),
           ('goals', 'ada', 'plan', 'search on PostgreSQL', NULL),
           ('a mode of their own', 'ada', 'kitchen', 'azafrán rice', '[0,0,1,0]'),
           ('a subject', 'ada', 'assistant', 'staging database', '[0,1,0.1,0]'),
           ('a conversation', 'ada', 'conversation', 'What does billing use?', '[0.5,0.4,0,0]'),
           ('procedures', 'ada', 'implicit', 'canary', NULL),
           ('search', 'ada', 'search', 'jwks rotation', NULL),
           ('chat', 'ada', 'chat', NULL, NULL),
           ('Chinese', '李雷', 'execute', '认证失败怎么办', NULL),
           ('across languages', '李雷', 'debug', 'auth failure', '[1,0,0,0]'),
           ('a hostile name', 'o''hara 🙂', 'execute', 'where is the key?', NULL),
           ('one of a file', 'moved', 'execute', '早班机', NULL),
           ('nobody', 'nobody', 'execute', 'where is the key?', NULL))
SELECT a.name,
       memoir.memory_context(a.query_vec::halfvec, a.mode, 200, a.query_text, a.user_id,
                             as_of => %(as_of)s),
       ARRAY(SELECT format('%%s %%s %%s %%s %%s %%s', x.place, x.kind, x.memory_id, x.event_id,
                           CASE WHEN %(as_of)s::timestamptz IS NOT NULL
                                THEN round(x.score::numeric, 3) END, x.reason)
             FROM memoir.memory_explain(a.query_vec::halfvec, a.mode, 200, a.query_text, a.user_id,
                                        as_of => %(as_of)s) AS x)
FROM asked AS a
