"""What a worker takes for a model that is away, and what for a job at which the model fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.openai_server import OpenAIServer

from pgmemoir.chat_models import ModelUnavailable, OpenAIChat
from pgmemoir.jobs import Fail, Job
from pgmemoir.lanes import ChatLane, EmbedLane, Pause
from pgmemoir.openai_api import Fault, Unavailable

pytestmark = pytest.mark.once


class Model:
    """A model that fails at some jobs; as an embedder and as a chat model."""

    name = "m"
    dimensions = 1

    def __init__(self, fault: Fault, *at: int) -> None:
        self.fault = fault
        self.at = at

    def answer(self, messages: Sequence[Any], _schema: Any, _kind: str) -> Any:
        """Of the chat model."""
        if messages[0]["job"] in self.at:
            raise ModelUnavailable("it fails", self.fault)
        return {}

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Of the embedder."""
        if {*map(int, texts)} & {*self.at}:
            raise Unavailable("it fails", self.fault)
        return [[1.0]] * len(texts)


def job(number: int) -> Job:
    """One for either model."""
    return Job(number, "ada", "keywords", 1, [{"job": number}], None, [str(number)])


def counted(lane: ChatLane | EmbedLane, *numbers: int) -> str:
    """One job after the other: c where that was an attempt, w where the job waits, else a dot."""
    said = [lane.work([job(number)])[0] for number in numbers]
    signs = {True: "c", False: "w"}
    return "".join(
        signs[each.retry_after is None] if isinstance(each, Fail) else "." for each in said
    )


def lanes(model: Model) -> list[ChatLane | EmbedLane]:
    return [ChatLane(model, ["keywords"], 4), EmbedLane(model, ["embed"], 50)]


def test_a_model_that_fails_at_five_jobs_in_a_row_fails_at_none_of_them() -> None:
    for lane in lanes(Model("unknown", *range(9))):
        assert counted(lane, 0, 1, 2, 3, 4, 5, 0, 1) == "ccccwwww"


def test_two_jobs_at_which_a_model_fails_are_to_blame_however_often_it_does() -> None:
    for lane in lanes(Model("unknown", 1, 2)):
        assert counted(lane, *[1, 2] * 8) == "c" * 16


def test_an_answer_ends_an_outage() -> None:
    for lane in lanes(Model("unknown", *range(9))):
        assert counted(lane, *range(6), 10, 1) == "ccccww.c"


def test_in_an_outage_one_question_is_asked_at_a_time() -> None:
    for lane in lanes(Model("unknown", *range(9))):
        before = lane.room(0)
        counted(lane, *range(5))
        assert (lane.room(1), lane.room(0) > 0) == (0, True)
        counted(lane, 10)
        assert lane.room(0) == before


def test_no_more_is_claimed_than_one_request_takes_and_in_turns() -> None:
    lane = EmbedLane(Model("server"), ["embed"], 50)
    lane.ready.extend([("ada", 10_000), ("bob", 60)])
    assert lane.next_users(lane.room(0)) == [("ada", 5)]
    assert lane.next_users(lane.room(0)) == [("bob", 2), ("ada", 3)]
    assert list(lane.ready) == [("ada", 9600)]


def test_requests_that_fail_together_make_one_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgmemoir.lanes._FIRST_PAUSE", 60.0)
    for lane in lanes(Model("unknown", *range(20))):
        counted(lane, *range(20))
        assert 20 < lane.pause.left() <= 60


def test_a_pause_is_twice_as_long_as_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgmemoir.lanes._FIRST_PAUSE", 1.0)
    pause = Pause()
    for longest in (1, 2, 4, 8):
        assert longest / 2 <= pause.begin() <= longest
        pause._until = 0.0  # it is over


@pytest.mark.parametrize(("jobs", "least", "most"), [(1, 30, 60), (5, 300, 600)])
def test_only_a_model_that_fails_at_many_jobs_is_left_alone_for_long(
    jobs: int, least: float, most: float
) -> None:
    for lane in lanes(Model("unknown", *range(jobs))):
        for number in [*range(jobs)] * 10:
            lane.pause._until = 0.0  # the pause is over
            counted(lane, number)
        assert least - 1 < lane.pause.left() <= most


@pytest.mark.parametrize("fault", ["server", "settings", "either"])
def test_a_model_that_is_away_fails_at_no_job(fault: Fault) -> None:
    for lane in lanes(Model(fault, *range(9))):
        assert counted(lane, 0, 0, 0, 1, 2) == "wwwww"


@pytest.mark.parametrize("fault", ["server", "settings"])
def test_a_model_that_goes_away_between_two_jobs_fails_at_none(fault: Fault) -> None:
    for lane in lanes(Model(fault, 0)):
        assert counted(lane, 10, 0, 10, 0) == ".w.w"


def test_a_job_that_alone_is_refused_by_a_filter_is_to_blame() -> None:
    for lane in lanes(Model("either", 0)):
        assert counted(lane, 0, 10, 0, 0, 10, 0) == "w.cw.c"


def test_a_proxy_that_does_not_reach_the_server_is_away(
    api: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", api.url.removesuffix("/v1"))
    model = OpenAIChat("m", "https://model.test/v1", "none")
    with pytest.raises(ModelUnavailable, match="no connection") as caught:
        model.answer([{"role": "user", "content": "?"}], None, "keywords")
    assert caught.value.fault == "server"
