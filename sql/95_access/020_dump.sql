-- What a dump needs to load into existing tables that contain the rows of the installation: a dump
-- of data alone (pg_dump --data-only), or one of a database with the extension, whose tables CREATE
-- EXTENSION makes. A dumped row then replaces the row with its key. Rows that the dump does not
-- have stay: an installation newer than the dump needs its own settings.

-- Arguments, each an array as text: the columns of the key, and all columns that are not computed.
CREATE OR REPLACE FUNCTION _restore_row() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    same_key CONSTANT text := (SELECT string_agg(format('t.%1$I = n.%1$I', k.name), ' AND ')
                               FROM unnest(TG_ARGV[0]::name[]) AS k (name));
    columns text;
    stored text;
    given text;
    differs boolean;
BEGIN
    SELECT string_agg(quote_ident(c.name), ', '), string_agg(format('t.%I', c.name), ', '),
           string_agg(format('n.%I', c.name), ', ')
    INTO columns, stored, given
    FROM unnest(TG_ARGV[1]::name[]) AS c (name);
    EXECUTE format('SELECT ROW(%s)::text <> ROW(%s)::text '
                   'FROM %I AS t, (SELECT ($1).*) AS n WHERE %s',
                   stored, given, TG_TABLE_NAME, same_key)
    INTO differs USING NEW;
    IF differs IS NULL THEN
        RETURN NEW;
    END IF;
    -- Most rows are unchanged, and an UPDATE, even of no row, recompiles what the table makes.
    IF differs THEN
        EXECUTE format('UPDATE %I AS t SET (%s) = ROW(%s) FROM (SELECT ($1).*) AS n WHERE %s',
                       TG_TABLE_NAME, columns, given, same_key)
        USING NEW;
    END IF;
    RETURN NULL;
END $$;

-- Passes over what is there already, before _restore_row plans a statement for it: there are
-- thousands of synonyms, and hardly any is ever changed.
CREATE OR REPLACE FUNCTION _restore_synonym() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    IF EXISTS (SELECT FROM synonym AS s
               WHERE s.term = NEW.term AND s.synonym = NEW.synonym AND s = NEW) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;

-- One model is in use, and the row of an unused one may come later.
CREATE OR REPLACE FUNCTION _restore_model() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    UPDATE embedding_model AS e SET active = false WHERE e.active AND e.model_id <> NEW.model_id;
    RETURN NEW;
END $$;

-- Users' own indexes are not in such a dump; maintain builds them again.
CREATE OR REPLACE FUNCTION _restore_profile() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
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
    SET search_path FROM CURRENT SET jit = off
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

CREATE OR REPLACE TRIGGER restore BEFORE INSERT ON synonym
    FOR EACH ROW WHEN (_restoring()) EXECUTE FUNCTION _restore_synonym();

-- A table without user_id is configuration. The trigger of a key fires after the others of its
-- table, because triggers fire in the order of their names.
DO $$
DECLARE
    part record;
BEGIN
    FOR part IN
        SELECT c.relname AS name,
               array_agg(a.attname ORDER BY a.attnum)
                   FILTER (WHERE a.attnum = ANY (p.conkey)) AS key,
               array_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS given
        FROM pg_class AS c
        JOIN pg_constraint AS p ON p.conrelid = c.oid AND p.contype = 'p'
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
          AND c.relname NOT IN ('migration', 'expansion') AND NOT _has_user(c.oid)
        GROUP BY c.relname
        ORDER BY c.relname
    LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER restore_row BEFORE INSERT ON %I '
                       'FOR EACH ROW WHEN (_restoring()) EXECUTE FUNCTION _restore_row(%L, %L)',
                       part.name, part.key, part.given);
    END LOOP;
END $$;

-- With the extension pg_dump writes the rows of a table only if it is marked, and keeps the state
-- of a sequence likewise. The rows of a partitioned table are in its parts.
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
