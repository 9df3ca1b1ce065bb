-- Makes memories of rows that are not memories yet, whose ever they are: the statement of the
-- trigger, for a mapping that has everything. Of all users at once, because setting up a statement
-- takes as long as five rows, and a user may have just one in a batch. A row that cannot be stored
-- raises its error for all of them; the caller then takes fewer. Returns how many memories it made.
DO $install$
BEGIN
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION _source_add_many(s source, rows source_row[]) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS %L
$function$, format($body$
DECLARE
    of_kind CONSTANT int := (SELECT k.kind_id FROM kind AS k WHERE k.name = s.kind);
    number int;
BEGIN
    %s
    GET DIAGNOSTICS number = ROW_COUNT;
    %s
    RETURN number / (SELECT count(*) FROM embedding_model AS e WHERE NOT e.dropping);
END $body$,
        _adding_statement(
            's.name', 'of_kind',
            '{"user_column": "", "source_id": "", "content": "", "summary": "", "importance": "",
              "data": "", "subject": "", "status": "", "created_at": "", "valid_until": ""}',
            'SELECT r.user_id, r.source_key, r.content, r.summary, r.importance, r.data, '
            'r.subject, r.status, r.created_at, r.valid_until FROM unnest(rows) AS r'),
        _profile_statement('s.name', 'of_kind',
                           'SELECT r.user_id, r.source_key FROM unnest(rows) AS r')));
END $install$;
