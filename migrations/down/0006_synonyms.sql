-- Undoes 0006_synonyms.sql.
DELETE FROM synonym;
DROP TABLE expansion;
