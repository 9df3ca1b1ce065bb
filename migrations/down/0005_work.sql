-- Undoes 0005_work.sql.
DROP TABLE access;
DROP TABLE retrieval;
DROP TABLE job;
DROP TABLE job_kind;
