-- Which kinds of memory are in which Markdown file, and what a sync of such files needs. D1:
-- memory.md is the semantic layer, learnings.md the procedural one; the layer of a kind is a value
-- of its row.

ALTER TABLE kind ADD COLUMN file text DEFAULT 'memory'
    CONSTRAINT file_is_up_to_40_small_letters_digits_and_hyphens
    CHECK (file ~ '^[a-z][a-z0-9_-]{0,39}$');
COMMENT ON COLUMN kind.file IS
    'The Markdown file its memories are written to, without .md; NULL: to none. Where a person '
    'moves them to they stay.';
UPDATE kind SET file = 'learnings'
WHERE name IN ('learning', 'skill', 'lesson', 'reflection', 'procedural');
UPDATE kind SET file = NULL WHERE name IN ('event', 'turn');

INSERT INTO setting VALUES
    ('markdown_limit', '16777216', 'Largest Markdown file that is read, in bytes.'),
    ('deletions_at_once', '10',
     'A Markdown file in which more memories are missing than this, and more than half, is taken '
     'for one that was cut off.'),
    ('installation', to_jsonb(gen_random_uuid()),
     'Names this database in what a sync keeps of files: it is no base for another database.');

CREATE TYPE markdown_part AS (
    file text,
    place int,
    line int,
    kind text,
    heading boolean,
    opens boolean,
    mark text,
    said text,
    raw text,
    memory_id bigint
);
COMMENT ON TYPE markdown_part IS
    'A line or a memory of a Markdown file. kind: what the headings above it name, NULL where they '
    'name none. heading: it is one; opens: the one that names the kind. mark: what its mark says, '
    'NULL without one. said: the text of a memory, NULL for a line that is none. raw: as it stands '
    'in the file. memory_id: which memory it is, NULL: none yet.';

CREATE TYPE markdown_change AS (
    file text,
    place int,
    line int,
    action text,
    changed text,
    memory_id bigint,
    kind text,
    file_text text,
    database_text text,
    reason text
);
COMMENT ON TYPE markdown_change IS
    'A difference between Markdown files and the database, and what becomes of it: action ADD, '
    'UPDATE, FORGET, RESTORE, NOOP or CONFLICT, on the side that is changed (database, file, NULL '
    'for neither). place and line: where it stands in the file as it was read.';
