"""What `make test` leaves out of one version of PostgreSQL is the same with each."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import WHERE_VERSIONS_DIFFER

ROOT = Path(__file__).resolve().parents[2]
MARK = "pytest.mark" + ".once"

# How the embedded server is started, and what is left when the server or its disk goes.
ABOUT_SERVERS = {"install/test_server.py", "trust/test_crash.py", "trust/test_disk_full.py"}


def having(folder: str, text: str) -> set[Path]:
    """The files in a folder that have this text, relative to it."""
    root = ROOT / folder
    return {path.relative_to(root) for path in root.rglob("*.py") if text in path.read_text()}


def test_only_files_about_the_client_servers_and_the_benchmarks_are_marked():
    marked = having("tests", MARK) - {Path("conftest.py"), *map(Path, ABOUT_SERVERS)}
    assert {path.parts[0] for path in marked} == {"bench", "client"}


def test_the_client_does_nothing_by_the_version_of_the_server_but_refuse_an_old_one():
    asking = having("pyclient/pgmemoir", "server_version")
    assert asking == {Path("doctor.py"), Path("prerequisites.py")}


def test_the_files_about_differences_between_versions_are_there():
    assert [path for path in WHERE_VERSIONS_DIFFER if not (ROOT / path).exists()] == []
