-- Takes several files at once, because a memory may be moved from one to another: taken alone, each
-- file would say that it was deleted here and is new there. It decides everything, writes what the
-- files changed in the caller's transaction, and returns how the files are to be written. A file
-- that cannot be right is refused as a whole, before anything is changed.

CREATE OR REPLACE FUNCTION _ends_in_crlf(content text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN strpos(content, E'\r\n') > 0
           AND strpos(replace(content, E'\r\n', ''), E'\n') = 0;

-- A file as it is read: without byte order mark, with lines ended by a line feed.
CREATE OR REPLACE FUNCTION _plain_lines(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN _ends_in_crlf(content) THEN replace(ltrim(content, chr(65279)), E'\r\n', E'\n')
                ELSE ltrim(content, chr(65279)) END;

-- And as it is written: with the line ends that its editor has chosen.
CREATE OR REPLACE FUNCTION _lines_as(content text, before text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN starts_with(before, chr(65279)) THEN chr(65279) ELSE '' END
           || CASE WHEN _ends_in_crlf(before)
                   THEN replace(replace(content, E'\r\n', E'\n'), E'\n', E'\r\n')
                   ELSE content END;

CREATE OR REPLACE FUNCTION _check_file(file text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM kind AS k WHERE k.file = _check_file.file) THEN
        RAISE EXCEPTION 'no kind of memory is kept in a file "%"', file
            USING ERRCODE = 'ME008',
                  DETAIL = (SELECT 'Files: ' || string_agg(DISTINCT k.file, ', ') FROM kind AS k),
                  HINT = 'Give its name without .md. UPDATE memoir.kind SET file = ''notes'' '
                         'WHERE name = ''general'' makes a file of your own.';
    END IF;
    RETURN file;
END $$;

-- Text that Git could not merge is nobody's text.
CREATE OR REPLACE FUNCTION _check_markdown(file text, content text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    most CONSTANT int := _config('markdown_limit');
    -- The start of a line, in the file as a whole.
    marker CONSTANT text := '(?n)^(<<<<<<<|>>>>>>>|[|]{7})( |\r?$)';
BEGIN
    IF octet_length(content) > most THEN
        RAISE EXCEPTION '%.md has % bytes, the limit is %', file, octet_length(content), most
            USING ERRCODE = 'ME017',
                  HINT = 'Give some kinds a file of their own: UPDATE memoir.kind SET file = '
                         '''notes'' WHERE name = ''general''; or raise setting markdown_limit.';
    ELSIF content ~ marker THEN
        RAISE EXCEPTION '%.md, line %: a merge of Git is not finished', file, (
                SELECT min(l.number) FROM string_to_table(content, E'\n')
                                              WITH ORDINALITY AS l (said, number)
                WHERE l.said ~ marker)
            USING ERRCODE = 'ME017',
                  HINT = 'Choose between the text above and below =======, remove the three '
                         'marked lines, and sync again.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _check_parts(parts markdown_part[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    large record;
BEGIN
    SELECT p.file, p.line, octet_length(p.said) AS bytes INTO large
    FROM unnest(parts) AS p
    WHERE octet_length(p.said) > _text_limit()
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '%.md, line %: a memory of % bytes, the limit is %',
                large.file, large.line, large.bytes, _text_limit()
            USING ERRCODE = 'ME017',
                  HINT = 'Keep a summary here and the document elsewhere, or raise setting '
                         'text_limit.';
    END IF;
END $$;

-- A file that ends inside a memory of the base was not written to its end.
CREATE OR REPLACE FUNCTION _check_whole(
    file text, content text, parts markdown_part[], bases markdown_part[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    final CONSTANT markdown_part := parts[cardinality(parts)];
    cut text;
BEGIN
    IF final.said IS NULL OR right(content, 1) = E'\n' THEN
        RETURN;
    END IF;
    SELECT b.mark INTO cut
    FROM unnest(bases) AS b
    WHERE b.said IS NOT NULL AND starts_with(_markdown_item(b.mark, b.said), final.raw)
      AND _markdown_item(b.mark, b.said) <> final.raw
      AND NOT EXISTS (SELECT FROM unnest(parts) AS p
                      WHERE p.mark = b.mark AND p.place <> final.place)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '%.md, line %: it ends within memory %: is the file complete?',
                file, final.line, split_part(cut, '.', 1)
            USING ERRCODE = 'ME017',
                  HINT = 'Restore the file. If that is all it should say, end it with an empty '
                         'line.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _check_deletions(plan markdown_change[], bases markdown_part[])
    RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    lost record;
BEGIN
    SELECT c.file, count(*) AS number, b.number AS known INTO lost
    FROM unnest(plan) AS c
    CROSS JOIN LATERAL (SELECT count(*) AS number FROM unnest(bases) AS b
                        WHERE b.file = c.file AND b.said IS NOT NULL) AS b
    WHERE c.action = 'FORGET' AND c.changed = 'database'
    GROUP BY c.file, b.number
    HAVING count(*) > _config('deletions_at_once') AND 2 * count(*) > b.number
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '% of % memories are missing from %.md: is the file complete?',
                lost.number, lost.known, lost.file
            USING ERRCODE = 'ME017',
                  HINT = 'Restore the file. If they are to be forgotten, pass '
                         'allow_deletions => true (memoir sync --allow-deletions).';
    END IF;
END $$;

-- The files of a call, read. A file that is missing or empty has deleted nothing.
CREATE OR REPLACE FUNCTION _read_files(
    user_id text, files jsonb, OUT parts markdown_part[], OUT bases markdown_part[],
    OUT with_base text[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    given record;
    read_parts markdown_part[];
    base_parts markdown_part[];
BEGIN
    parts := '{}';
    bases := '{}';
    with_base := '{}';
    FOR given IN
        SELECT f.file, _plain_lines(f.said ->> 'content') AS content,
               _plain_lines(f.said ->> 'base') AS base
        FROM jsonb_each(files) AS f (file, said)
        ORDER BY f.file
    LOOP
        PERFORM _check_markdown(_check_file(given.file), given.content);
        IF _trimmed(given.content) IS NULL THEN
            given.content := _empty_markdown(given.file);
            given.base := NULL;
        END IF;
        IF given.base ~ '^<!-- base [0-9a-f]+ -->'
           AND NOT starts_with(given.base, _base_head(user_id))
        THEN
            given.base := NULL;
        END IF;
        read_parts := _markdown_parts(given.file, given.content);
        IF given.base IS NOT NULL THEN
            -- Within unnest() it would be read a second time, to plan for how many rows it has.
            base_parts := _markdown_parts(given.file, given.base);
            base_parts := ARRAY(SELECT b FROM unnest(base_parts) AS b WHERE b.mark IS NOT NULL);
            PERFORM _check_whole(given.file, given.content, read_parts, base_parts);
            bases := bases || base_parts;
            with_base := with_base || given.file;
        END IF;
        parts := parts || read_parts;
    END LOOP;
    PERFORM _check_parts(parts);
END $$;

CREATE OR REPLACE FUNCTION _check_sync(files jsonb, strategy text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF (strategy IN ('report', 'ours', 'theirs')) IS NOT TRUE THEN
        RAISE EXCEPTION 'unknown strategy "%"', strategy
            USING ERRCODE = 'ME008',
                  HINT = 'report lists conflicts; with ours the files win, with theirs the '
                         'database.';
    END IF;
    PERFORM _check_json(files, '{
        "type": "object", "additionalProperties": {
            "type": "object", "additionalProperties": false, "properties": {
                "content": {"type": ["string", "null"]}, "base": {"type": ["string", "null"]}}}}',
        'files');
END $$;

CREATE OR REPLACE FUNCTION sync_markdown(
    files jsonb, strategy text DEFAULT 'report', dry_run boolean DEFAULT false,
    allow_deletions boolean DEFAULT false, user_id text DEFAULT NULL,
    at timestamptz DEFAULT NULL)
    RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    read_files record;
    parts markdown_part[];
    plan markdown_change[];
    run bigint;
    written jsonb := '{}';
BEGIN
    PERFORM _check_sync(files, strategy);
    IF dry_run IS NOT TRUE THEN
        PERFORM _lock_user(owner);
    END IF;
    read_files := _read_files(owner, files);
    parts := _claim_parts(owner, read_files.parts, read_files.bases);
    plan := _markdown_plan(owner, ARRAY(SELECT jsonb_object_keys(files)), parts,
                           read_files.bases, read_files.with_base, strategy);
    IF allow_deletions IS NOT TRUE THEN
        PERFORM _check_deletions(plan, read_files.bases);
    END IF;
    IF dry_run IS NOT TRUE THEN
        IF EXISTS (SELECT FROM unnest(plan) AS c WHERE c.changed = 'database') THEN
            IF _writing_refused(owner, NULL) IS NOT NULL THEN
                RAISE EXCEPTION 'memory of user "%" is off: its files cannot change it', owner
                    USING ERRCODE = 'ME014',
                          HINT = format('SELECT memoir.set_settings(''{"memory": true}'', %L) '
                                        'switches it on.', owner);
            END IF;
            run := _next_run();
            plan := _carry_out_files(owner, plan, run, coalesce(at, now()));
        END IF;
        written := (
            SELECT jsonb_object_agg(f.file, jsonb_build_object(
                       'content', _lines_as(w.content, coalesce(f.said ->> 'content', '')),
                       'base', w.base))
            FROM jsonb_each(files) AS f (file, said)
            CROSS JOIN LATERAL _written_markdown(
                owner, f.file, parts,
                ARRAY(SELECT b FROM unnest(read_files.bases) AS b WHERE b.file = f.file),
                plan) AS w);
        PERFORM _check_markdown(w.key, w.value ->> 'content') FROM jsonb_each(written) AS w;
    END IF;
    RETURN jsonb_build_object(
        'files', coalesce(written, '{}'), 'run_id', run::text,
        'changes', coalesce((
            SELECT jsonb_agg(to_jsonb(c) - 'place'
                             || jsonb_build_object('memory_id', c.memory_id::text)
                             ORDER BY c.file, c.place)
            FROM unnest(plan) AS c), '[]'));
END $$;

COMMENT ON FUNCTION sync_markdown(jsonb, text, boolean, boolean, text, timestamptz) IS
    'Brings Markdown files and the database together, both ways; memoir sync does it with the '
    'files of a folder. files: {"memory": {"content": ..., "base": ...}, "learnings": ...}, the '
    'text of each file as it is (NULL: it is missing) and the base that the sync before returned '
    '(NULL: none). What changed since the base on one side alone is changed on the other; what '
    'changed on both sides is a conflict, and both stay as they are, or with strategy ours the '
    'file wins, with theirs the database (default report: neither). Without a base nothing counts '
    'as deleted. Changes of memories are by author file; deleted ones are forgotten, restore() '
    'brings them back. Returns files: {"memory": {"content", "base"}, ...}, how they are to be '
    'written and what to pass as base next time; changes: a list of {file, line (NULL: not in the '
    'file), action, changed, memory_id, kind, file_text, database_text, reason}; run_id: what '
    'undo_run() takes back, NULL where nothing was changed here. action: ADD, UPDATE, FORGET, '
    'RESTORE, NOOP (stored already) or CONFLICT; changed: database or file, which of them. '
    'dry_run: changes only. allow_deletions: forget even if more than half of a file is missing. '
    'at: when it is (default now). Errors: ME006 user, ME008 strategy or file, ME011 at, ME014 '
    'memory is off, ME015 files, ME017 a file cannot be read, with its line, or would be too large '
    'to be read again. Source: D1, update note; SPEC 6.';
