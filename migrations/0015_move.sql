-- What import_user() knows of the files it has read, and of the one it is reading.

CREATE TABLE import (
    user_id text NOT NULL CHECK (btrim(user_id, E' \t\r\n') <> '' AND length(user_id) <= 200),
    file_hash bytea NOT NULL,
    vectors boolean NOT NULL,
    counts jsonb NOT NULL,
    highest_id bigint NOT NULL,
    shift bigint NOT NULL,
    line bigint NOT NULL DEFAULT 0,
    checksum bytea NOT NULL DEFAULT '',
    place smallint NOT NULL DEFAULT 0,
    found jsonb NOT NULL DEFAULT '{}',
    archive_job bigint,
    ended_at timestamptz,
    PRIMARY KEY (user_id, file_hash)
);
ALTER TABLE import ENABLE ROW LEVEL SECURITY;
COMMENT ON TABLE import IS
    'Files that import_user() has read: the same one again changes nothing. One without ended_at '
    'is being read by this transaction, which cannot commit before its last line.';
COMMENT ON COLUMN import.file_hash IS 'sha256 of the first line, which has the time of the export.';
COMMENT ON COLUMN import.vectors IS
    'Whether the vectors of the file are imported.';
COMMENT ON COLUMN import.counts IS 'How many records of each sort the first line promises.';
COMMENT ON COLUMN import.shift IS 'What is added to every id of the file; 0: they stay.';
COMMENT ON COLUMN import.line IS
    'Lines read so far; checksum: of those after the first; place: which sort of record the last '
    'one was; found: how many of each.';
COMMENT ON COLUMN import.archive_job IS
    'The job, done, that stands for those which summarised the events of the file.';
