-- What is attached, and whether it works. The state comes from the catalogue, because tables change
-- without telling memoir.
CREATE OR REPLACE FUNCTION _source_state(s source) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    relation CONSTANT regclass := CASE WHEN s.follows THEN _followed_table(s.source_id)
                                       WHEN s.query IS NULL THEN to_regclass(s.relation) END;
    triggers CONSTANT "char"[] := ARRAY(
        SELECT t.tgenabled FROM pg_trigger AS t
        WHERE t.tgrelid = relation AND t.tgname ~ format('^memoir_source_%s(_|$)', s.source_id));
    missing text;
BEGIN
    IF relation IS NULL AND s.query IS NULL THEN
        RETURN 'broken: its table is gone';
    END IF;
    SELECT string_agg(format('"%s"', m.name), ', ' ORDER BY m.name) INTO missing
    FROM _mapped_columns(s.mapping) AS m
    WHERE s.query IS NULL AND NOT _columns_of(relation) ? m.name;
    RETURN CASE
        WHEN s.follows AND _why_not_attachable(relation) IS NOT NULL
        THEN 'broken: ' || _why_not_attachable(relation)
        WHEN s.query IS NULL AND EXISTS (
            SELECT FROM pg_class AS c, pg_proc AS p
            WHERE c.oid = relation AND p.proowner <> c.relowner
              AND p.pronamespace = current_schema()::regnamespace
              AND p.proname = format('_source_%s_read', s.source_id))
            THEN 'broken: it belongs to another role now'
        WHEN missing IS NOT NULL THEN format('broken: %s has no column %s', relation, missing)
        WHEN 'D' = ANY (triggers) THEN 'broken: its trigger is disabled'
        -- A partitioned table has one for its rows, one for TRUNCATE; others one more for INSERT.
        WHEN s.follows AND cardinality(triggers)
                           < (SELECT CASE c.relkind WHEN 'p' THEN 2 ELSE 3 END FROM pg_class AS c
                              WHERE c.oid = relation)
            THEN 'broken: one of its triggers is gone'
        -- A copy of the whole database gets its memories with the rows.
        WHEN s.follows AND _is_subscribed(relation) AND NOT _is_subscribed('memory')
            THEN 'broken: a subscription fills it, which triggers do not see'
        WHEN NOT s.complete OR s.checking IS NOT NULL
            THEN CASE WHEN s.follows THEN 'filling' ELSE 'pulling' END
        WHEN s.follows THEN 'following'
        ELSE 'pulled' END;
END $$;

CREATE OR REPLACE VIEW sources WITH (security_invoker = true) AS
SELECT s.name, s.kind, coalesce(_followed_table(s.source_id)::text, s.relation) AS relation,
       _source_state(s) AS state,
       CASE WHEN s.kind = 'event'
            THEN (SELECT count(*) FROM event AS e WHERE e.source = s.name)
            ELSE (SELECT count(*) FROM memory AS m
                  WHERE m.source = s.name AND m.status <> 'forgotten') END AS rows,
       (SELECT count(*) FROM source_error AS e WHERE e.source = s.name) AS waiting,
       s.last_read AS last_pull,
       (SELECT format('%s (%s)', e.reason, e.code) FROM source_error AS e
        WHERE e.source = s.name ORDER BY e.error_id DESC LIMIT 1) AS last_error,
       s.mapping, s.query, s.attached_by, s.created_at
FROM source AS s;

COMMENT ON VIEW sources IS
    'What attach_source() attached. state: filling (fill_source() has not read it to its end), '
    'following (changes come with the transaction that makes them), pulling, pulled, or broken: '
    'and why; detach_source() and attach it again, the application''s writes went on meanwhile. '
    'rows: memories or events of it, without forgotten ones. waiting: rows that could not be taken '
    'over (table source_error), last_error: the reason of the newest. last_pull: when it was read '
    'last. mapping: names of columns by what they are.';
