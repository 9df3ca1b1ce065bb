"""The README runs from top to bottom and prints what it says."""

import re
import subprocess
from pathlib import Path

from pgmemoir import server

README = Path(__file__).parents[2] / "README.md"
EXAMPLE = re.compile(r"```sql\n(.*?)```\n```text\n(.*?)```", re.DOTALL)


def printed(dsn: str, statements: str, version: int) -> str:
    """What psql prints for them; a first line `-- psql -At` gives it options."""
    first = statements.split("\n", maxsplit=1)[0]
    options = first.split()[2:] if first.startswith("-- psql") else []
    command = [str(server.psql(version)), "-X", "-q", *options, "-v", "ON_ERROR_STOP=1", "-d", dsn]
    return subprocess.run(
        command, input=statements, text=True, capture_output=True, check=True
    ).stdout


def test_every_example_prints_what_the_readme_says(dsn, db):
    examples = EXAMPLE.findall(README.read_text(encoding="utf-8"))
    assert len(examples) >= 5
    version = db.info.server_version // 10000
    for statements, output in examples:
        assert printed(dsn, statements, version) == output
