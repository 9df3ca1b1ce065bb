-- Read your writes, on a replica: written_at() after a commit on the primary gives a token, and
-- wait_for() with it on the replica tells when a read there sees what was written.

-- The end of the last record before a position of the log. If that record ends with its page, the
-- server names the place after the header of the next page, which a replica reaches only with the
-- next record: on an idle primary in up to 15 s. About one record in 1,000 ends so.
CREATE OR REPLACE FUNCTION _record_end(place pg_lsn) RETURNS pg_lsn
    LANGUAGE sql STABLE
    RETURN place - CASE
        WHEN (place - '0/0') % pg_size_bytes(current_setting('wal_segment_size')) = 40 THEN 40
        WHEN (place - '0/0') % current_setting('wal_block_size')::int = 24 THEN 24
        ELSE 0 END;

-- Not the flushed position: with synchronous_commit off a commit is there before it is flushed.
CREATE OR REPLACE FUNCTION written_at() RETURNS pg_lsn
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                ELSE _record_end(pg_current_wal_insert_lsn()) END;

COMMENT ON FUNCTION written_at() IS
    'A token for all that is committed so far: pass it to wait_for() on a replica, and what is '
    'read there afterwards has seen it. Call it after COMMIT, on any connection to the primary: '
    'inside the transaction that writes it is too early. It is a place in the write-ahead log '
    '(pg_lsn, text such as 0/3000060 in JSON), the same for all users and databases. On a '
    'replica: what has arrived there, so that what was read on one replica is found on another. '
    'With synchronous_commit off a crash of the primary may lose what a token speaks of. Source: '
    'DESIGN 7.';
