-- Undoes 0014_files.sql.
DROP TYPE markdown_change;
DROP TYPE markdown_part;
DELETE FROM setting WHERE name IN ('markdown_limit', 'deletions_at_once', 'installation');
ALTER TABLE kind DROP COLUMN file;
