"""What a killed run left in memory goes, and the runs of make test begin at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import conftest

NO_PROCESS = f"{conftest.PREFIX}0-"


def test_of_two_runs_one_sweeps_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / f"{NO_PROCESS}killed" / "pg18").mkdir(parents=True)
    stopped = []

    def stop(home: Path) -> None:
        stopped.append(home)
        if len(stopped) == 1:
            conftest.sweep()  # as another run does meanwhile

    monkeypatch.setattr(conftest, "IN_MEMORY", tmp_path)
    monkeypatch.setattr(conftest.embedded, "stop", stop)
    conftest.sweep()
    assert len(stopped) == 2
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_another_run_took_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    gone = tmp_path / f"{NO_PROCESS}killed"
    monkeypatch.setattr(Path, "glob", lambda *_: [gone])
    conftest.sweep()
    assert [*tmp_path.iterdir()] == []
