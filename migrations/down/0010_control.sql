-- Undoes 0010_control.sql.
DROP INDEX memory_created;
DROP TYPE listed_memory;
