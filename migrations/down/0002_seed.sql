-- Undoes 0002_seed.sql.
DELETE FROM mode_weight;
DELETE FROM mode;
DELETE FROM kind;
DELETE FROM embedding_model;
DELETE FROM setting;
