"""Every benchmark says what it takes, refuses what it cannot measure, and leaves nothing behind."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import all as everything
import click
import psutil
import pytest
from click.testing import CliRunner
from common import table, verdict

pytestmark = pytest.mark.once

BENCH = Path(everything.__file__).parent
SCRIPTS = [p.stem for p in BENCH.glob("*.py") if p.read_text().startswith("#!")]


def run(script: str, *options: str) -> click.testing.Result:
    return CliRunner().invoke(importlib.import_module(script).main, options)


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_help_says_how_long_it_takes_and_the_readme_what_it_measures(script: str) -> None:
    assert " Takes " in run(script, "--help").stdout
    assert f"{script}.py" in (BENCH / "README.md").read_text()


@pytest.mark.parametrize(
    ("script", "options", "says"),
    [
        ("latency", ("--rows", "0"), "0 is not in the range"),
        ("latency", ("--dims", "5000"), "5000 is not in the range"),
        ("latency", ("--pg", "15"), "'15' is not one of"),
        ("writers", ("--seconds", "0"), "0.0 is not in the range"),
        ("worker", ("--memories", "3", "--users", "9"), "less than one for each of 9 users"),
        ("growth", ("--max", "9"), "--max 9 is less than the smallest size"),
        ("locomo", ("nothing.json",), "'nothing.json' does not exist"),
        ("memory", ("--dsn", "host=/nowhere"), "connection is bad"),
        ("all", ("lantency",), "no lantency; there are crash, growth"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_a_sentence(
    script: str, options: tuple[str, ...], says: str
) -> None:
    done = run(script, *options)
    assert says in " ".join(done.stderr.split())
    assert done.exit_code != 0


def ended(process: psutil.Process) -> bool:
    """Whether it does nothing any more, though nobody may have asked how it ended."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_who_is_told_to_end_leaves_no_server_and_no_folder(tmp_path: Path) -> None:
    # Given a benchmark whose server runs
    command = [sys.executable, str(BENCH / "memory.py"), "--rows", "100000"]
    with subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.DEVNULL
    ) as process:
        while not (pids := list(tmp_path.glob("*/pg18/postmaster.pid"))):
            time.sleep(0.05)
        server = psutil.Process(int(pids[0].read_text().split()[0]))
        # When it is told to end
        process.terminate()
        assert process.wait(30) == 128 + signal.SIGTERM
    # Then all is gone
    assert list(tmp_path.iterdir()) == []
    assert any(ended(server) or time.sleep(0.05) for _ in range(100))


def test_numbers_stand_to_the_right_of_their_names() -> None:
    assert table(("ms", "p50"), ("recall", "1.25")) == "ms       p50\nrecall  1.25"


def test_a_bar_is_kept_up_to_its_value_or_from_it_on() -> None:
    assert verdict("the ratio", 2.0, 2.0) == "bar for the ratio: 2, kept (2)"
    assert verdict("rows", 1.9, 2.0, at_least=True) == "bar for rows: 2, NOT kept (1.9)"
