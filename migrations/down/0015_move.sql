-- Undoes 0015_move.sql.
DROP TABLE import;
