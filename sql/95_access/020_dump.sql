-- What a dump has to load into tables that are there already, with the rows of the installation in
-- them: a dump of data alone (pg_dump --data-only), or one of a database with the extension, whose
-- tables CREATE EXTENSION makes. A dumped row then replaces the row of its key. Rows that the dump
-- does not have stay: an installation newer than the dump needs its own settings.

-- Arguments: the columns of the key, and all that are not computed, as lists in parentheses.
CREATE OR REPLACE FUNCTION _restore_row() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    is_there boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %1$I WHERE %2$s = (SELECT %2$s FROM (SELECT ($1).*) '
                   'AS n))', TG_TABLE_NAME, TG_ARGV[0])
    INTO is_there USING NEW;
    IF NOT is_there THEN
        RETURN NEW;
    END IF;
    -- Most are as they were: an UPDATE of each would compile all synonyms a thousand times.
    EXECUTE format('UPDATE %1$I SET %3$s = (SELECT %3$s FROM (SELECT ($1).*) AS n) '
                   'WHERE %2$s = (SELECT %2$s FROM (SELECT ($1).*) AS n) '
                   'AND ROW%3$s IS DISTINCT FROM (SELECT ROW%3$s FROM (SELECT ($1).*) AS n)',
                   TG_TABLE_NAME, TG_ARGV[0], TG_ARGV[1])
    USING NEW;
    RETURN NULL;
END $$;

-- One model is in use, and the row that is not may come later.
CREATE OR REPLACE FUNCTION _restore_model() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    UPDATE embedding_model AS e SET active = false WHERE e.active AND e.model_id <> NEW.model_id;
    RETURN NEW;
END $$;

-- The own indexes of users are not in such a dump; maintain builds them again.
CREATE OR REPLACE FUNCTION _restore_profile() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    NEW.ann := 0;
    NEW.counted := 0;
    NEW.counted_up_to := 0;
    RETURN NEW;
END $$;

-- The ledger says what ran here, not where the rows come from; expansion is compiled from synonym.
CREATE OR REPLACE FUNCTION _restore_nothing() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER restore BEFORE INSERT ON migration
    FOR EACH ROW WHEN (_restoring()) EXECUTE FUNCTION _restore_nothing();
CREATE OR REPLACE TRIGGER restore BEFORE INSERT ON expansion
    FOR EACH ROW WHEN (_restoring()) EXECUTE FUNCTION _restore_nothing();
CREATE OR REPLACE TRIGGER restore BEFORE INSERT ON profile
    FOR EACH ROW WHEN (NEW.ann > 0 AND _restoring()) EXECUTE FUNCTION _restore_profile();
CREATE OR REPLACE TRIGGER restore_active BEFORE INSERT ON embedding_model
    FOR EACH ROW WHEN (NEW.active AND _restoring()) EXECUTE FUNCTION _restore_model();

-- Configuration is what has no user_id. The trigger of a key fires after the others of its table:
-- they fire in the order of their names.
DO $$
DECLARE
    part record;
BEGIN
    FOR part IN
        SELECT c.relname AS name,
               '(' || string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
                      FILTER (WHERE a.attnum = ANY (p.conkey)) || ')' AS key,
               '(' || string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
                      FILTER (WHERE a.attgenerated = '') || ')' AS given
        FROM pg_class AS c
        JOIN pg_constraint AS p ON p.conrelid = c.oid AND p.contype = 'p'
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
          AND c.relname NOT IN ('migration', 'expansion')
        GROUP BY c.relname
        HAVING NOT bool_or(a.attname = 'user_id')
        ORDER BY c.relname
    LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER restore_row BEFORE INSERT ON %I '
                       'FOR EACH ROW WHEN (_restoring()) EXECUTE FUNCTION _restore_row(%L, %L)',
                       part.name, part.key, part.given);
    END LOOP;
END $$;

-- On the extension road pg_dump writes the rows of a table only where it is marked, and goes on
-- counting a sequence. Of a partitioned table the parts have the rows.
DO $$
DECLARE
    part regclass;
BEGIN
    IF EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'pgmemoir') THEN
        FOR part IN
            SELECT c.oid::regclass
            FROM pg_class AS c
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'S')
              AND c.relname NOT IN ('migration', 'expansion')
              AND EXISTS (SELECT FROM pg_depend AS d
                          WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                            AND d.deptype = 'e')
            ORDER BY c.relname
        LOOP
            PERFORM pg_extension_config_dump(part, '');
        END LOOP;
    END IF;
END $$;
