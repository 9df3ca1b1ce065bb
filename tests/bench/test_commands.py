"""Every benchmark says what it takes, refuses what it cannot measure, and ends when told to."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from pathlib import Path

import all as everything
import click
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


MEASURES = """
import sys, time
sys.path.insert(0, "HERE")
from common import benchmark, processes

@benchmark(str)
def main(where):
    try:
        with processes(1) as pool:
            print("begun", flush=True)
            pool.submit(time.sleep, 60).result()
    finally:
        print("ended", flush=True)

if __name__ == "__main__":
    main()
"""


def test_who_is_told_to_end_ends_all_that_it_has_begun(tmp_path: Path) -> None:
    # Given a benchmark at work, with a process of its own
    script = tmp_path / "measures.py"
    script.write_text(MEASURES.replace("HERE", str(BENCH)))
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        # When it is told to end
        process.terminate()
        # Then it does, in order
        assert process.stdout.read() == "ended\n"
    assert process.returncode == 128 + signal.SIGTERM


def test_numbers_stand_to_the_right_of_their_names() -> None:
    assert table(("ms", "p50"), ("recall", "1.25")) == "ms       p50\nrecall  1.25"


def test_a_bar_is_kept_up_to_its_value_or_from_it_on() -> None:
    assert verdict("the ratio", 2.0, 2.0) == "bar for the ratio: 2, kept (2)"
    assert verdict("rows", 1.9, 2.0, at_least=True) == "bar for rows: 2, NOT kept (1.9)"
