-- Undoes 0003_episodes.sql.
DROP TABLE event;
DROP TABLE message;
DROP TABLE session;
