-- Undoes 0016_files.sql.
ALTER TABLE event DROP log_place, DROP log_entry;
DROP TYPE file_change;
DROP TABLE file_head;
DROP TABLE file_entry;
UPDATE kind SET aliases = ARRAY(SELECT a FROM unnest(aliases) WITH ORDINALITY AS w (a, place)
                                WHERE a !~ '[一-龥]' ORDER BY place);
ALTER TABLE kind DROP category;
DELETE FROM setting WHERE name = 'file_limit';
