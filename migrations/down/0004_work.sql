-- Undoes 0004_work.sql.
DROP TABLE access;
DROP TABLE retrieval;
DROP TABLE job;
