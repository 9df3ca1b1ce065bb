"""Workers that are killed lose nothing, and nothing is done twice."""

from __future__ import annotations

import subprocess
import sys

from tests.jobs import add_kind, claim, enqueue, finish, soon
from tests.rows import until, value

# Claims five jobs, brings two results, and is killed with the third in an open transaction.
WORKER = """
import sys, psycopg
conn = psycopg.connect(sys.argv[1], autocommit=True)
jobs = conn.execute("SELECT job_id FROM memoir.claim('default', 5, 'victim')").fetchall()
for number, (job_id,) in enumerate(jobs[:3]):
    conn.autocommit = number < 2
    conn.execute("SELECT memoir.finish(%s, user_id => 'default', worker => 'victim')", (job_id,))
print(conn.info.backend_pid, flush=True)
sys.stdin.read()
"""
DONE = """
CREATE TABLE done (job_id bigint);
CREATE FUNCTION count_done() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO public.done VALUES (NEW.job_id); RETURN NULL; END';
CREATE TRIGGER done AFTER UPDATE ON memoir.job FOR EACH ROW
    WHEN (NEW.status = 'done') EXECUTE FUNCTION count_done()
"""


def kill_a_worker(db, dsn):
    """Let a worker be killed at its work, and wait until the server has noticed."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, dsn],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with worker:
        assert worker.stdout is not None
        pid = int(worker.stdout.readline())
        worker.kill()
    until(lambda: not value(db, "SELECT count(*) FROM pg_stat_activity WHERE pid = %s", pid))


def test_jobs_of_a_killed_worker_are_done_by_the_next_each_of_them_once(db, dsn):
    add_kind(db)
    db.execute(DONE)
    ids = [enqueue(db) for _ in range(7)]
    kill_a_worker(db, dsn)
    assert [each.job_id for each in claim(db, worker="w2", lease="1 hour")] == ids[5:]
    assert [each.job_id for each in claim(db, worker="w3", at=soon())] == ids[2:5]
    assert [finish(db, each, worker="w3") for each in ids[2:5]] == ["done"] * 3
    assert [finish(db, each, worker="w2") for each in ids[5:]] == ["done"] * 2
    assert [finish(db, each, worker="victim") for each in ids] == ["done already"] * 7
    assert value(db, "SELECT array_agg(job_id ORDER BY job_id) FROM done") == ids
