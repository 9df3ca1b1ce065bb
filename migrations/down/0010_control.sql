-- Undoes 0010_control.sql.
DROP INDEX event_deleted;
DROP INDEX revision_created;
DROP INDEX memory_recorded;
DROP INDEX memory_created;
DROP TYPE listed_memory;
