-- Files of agents (D3 2): the category of a kind in memory.json, and the content of the files when
-- they were read, so that they are printed as people wrote them: order of keys, form of numbers,
-- unknown fields. That is json, not jsonb, which keeps neither order nor form.

INSERT INTO setting VALUES
    ('file_limit', '52428800', 'Largest document of a file that is imported, in bytes.');

ALTER TABLE kind ADD category text DEFAULT 'general';
COMMENT ON COLUMN kind.category IS
    'Under which category memory.json has it (D3 3); NULL: it has no place there. A category is an '
    'alias or the name of the kind it is read as.';

-- Aliases also include the headings of the older MEMORY.md, and the names that D1 and D4 give their
-- kinds: memory_write accepts them as well.
UPDATE kind AS k
SET category = w.category, aliases = k.aliases || w.words
FROM (VALUES
    ('task', 'tasks', '{任务,任务备忘,待办,待办事项,任務,任務備忘,待辦,待辦事項}'::text[]),
    ('learning', 'reflections', '{}'),
    ('event', NULL, '{}'),
    ('okr', 'tasks', '{}'),
    ('capability', 'facts', '{}'),
    ('turn', NULL, '{}'),
    ('preference', 'preferences', '{偏好,用户偏好,习惯,用戶偏好,使用者偏好,習慣}'),
    ('fact', 'facts', '{事实,重要事实,事實,重要事實}'),
    ('pattern', 'preferences', '{行为模式,行為模式}'),
    ('skill', 'procedural', '{技能}'),
    ('lesson', 'reflections', '{教训,教訓}'),
    ('goal', 'tasks', '{目标,目標}'),
    ('context', 'general', '{情境}'),
    ('reflection', 'reflections', '{反思,反思日志,反思总结,经验教训,反思日誌,反思總結,經驗教訓}'),
    ('procedural', 'procedural', '{程序,程序经验,程序性记忆,工具经验,程式,程序經驗,工具經驗}'),
    ('command_output', 'general', '{}'),
    ('general', 'general', '{通用,通用记忆,通用信息,其他,其它,通用記憶}')) AS w (name, category, words)
WHERE k.name = w.name;

CREATE TABLE file_entry (
    user_id text NOT NULL,
    entry_id text NOT NULL CHECK (length(entry_id) BETWEEN 1 AND 200),
    memory_id bigint NOT NULL,
    place int NOT NULL,
    written json NOT NULL,
    digest uuid NOT NULL,
    PRIMARY KEY (user_id, entry_id),
    FOREIGN KEY (user_id, memory_id) REFERENCES memory ON DELETE CASCADE
);
CREATE INDEX file_entry_memory ON file_entry (user_id, memory_id);
COMMENT ON TABLE file_entry IS
    'The entries of memory.json, as it was last read or written: which memory each of them is.';
COMMENT ON COLUMN file_entry.written IS
    'The entry as it stands in the file, redacted. What differs from it in the file was changed '
    'there.';
COMMENT ON COLUMN file_entry.digest IS
    'Of the memory when it was all that the entry says: as long as it is the same, the entry is '
    'printed as written.';

CREATE TABLE file_head (
    user_id text NOT NULL CHECK (btrim(user_id, E' \t\r\n') <> '' AND length(user_id) <= 200),
    name text NOT NULL,
    written json NOT NULL,
    read_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, name)
);
COMMENT ON TABLE file_head IS
    'What a file says besides its entries, by the name of the file: memory.json, '
    'logs/2026-02-21.json. Of the rolling summary it has the md5, not the words.';
COMMENT ON COLUMN file_head.read_at IS 'When the last change came in from the file.';

CREATE TYPE file_change AS (
    place int,
    entry_id text,
    action text,
    reason text,
    memory_id bigint,
    same_as int,
    written json,
    kind text,
    content text,
    importance float8,
    data jsonb,
    origin text,
    created_at timestamptz,
    new_values jsonb,
    count int,
    last_at timestamptz,
    in_step boolean
);
COMMENT ON TYPE file_change IS
    'What an entry of memory.json means for the memories: ADD, UPDATE with new_values, NOOP, or '
    'FORGET where an entry is gone (its place is NULL then). same_as: the place of an entry above '
    'that is the same memory; count and last_at: what table access is to say, NULL: what it says; '
    'in_step: the memory will be all that the entry says.';

ALTER TABLE event ADD log_entry json, ADD log_place int;
COMMENT ON COLUMN event.log_entry IS
    'The entry of a daily log it came from, as written; log_place is its place there, from 0. NULL '
    'for events from elsewhere.';

-- Roles other than the owner of the tables see no row until a policy (sql/95_access) allows it.
ALTER TABLE file_entry ENABLE ROW LEVEL SECURITY;
ALTER TABLE file_head ENABLE ROW LEVEL SECURITY;
