-- Undoes 0004_episodes.sql.
DROP TABLE event;
DROP TABLE message;
DROP TABLE session;
