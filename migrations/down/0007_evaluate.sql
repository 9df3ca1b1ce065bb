-- Undoes 0007_evaluate.sql.
DROP TABLE gold_relevant;
DROP TABLE gold;
