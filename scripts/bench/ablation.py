"""What every feature of a mode adds, each variant a mode of its own in the scratch database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import psycopg
from psycopg import sql

Settings = Mapping[str, float | bool | None]

NAMES = {"name_boost": 0.0}
TIMES = {"time_boost": 0.0}
WHEN = {"when_boost": 0.0}
QUESTION = {"question_penalty": 0.0}
NEIGHBOURS = {"neighbour_weight": 0.0}
SECOND = {"second_neighbour_weight": 0.0}
ANSWER = {"answer_weight": 0.0}
SESSION = {"session_weight": 0.0}
SQUARED = {"squared": False}
ASKING = {"question_factor": 1.0}
ROOM = {"cost_power": 0.0}
DETAILS = {"detail_weight": 0.0}
STRIPPED: dict[str, float | None] = {"common_share": None}
WORDS = {"word_weight": 0.0}
VECTOR = {"vector_weight": 0.0}

# The mode without one feature. Boosts are shares of the word signal and go with it.
WITHOUT: dict[str, Settings] = {
    "the whole": {},
    "without names": NAMES,
    "without times": TIMES,
    "without when": WHEN,
    "without question penalty": QUESTION,
    "without neighbours": NEIGHBOURS,
    "without second neighbours": SECOND,
    "without either neighbours": NEIGHBOURS | SECOND,
    "without answer": ANSWER,
    "without session": SESSION,
    "without squares": SQUARED,
    "without question factor": ASKING,
    "without cost power": ROOM,
    "without details": DETAILS,
    "without the word signal": WORDS,
    "without the vector signal": VECTOR,
    "question not stripped": STRIPPED,
}

# From vectors alone, a step at a time: what is switched off still.
_STEPS: dict[str, Settings] = {
    "vectors alone": {},
    "+ words": WORDS,
    "+ stripped question": STRIPPED,
    "+ names": NAMES,
    "+ times": TIMES,
    "+ neighbours": NEIGHBOURS | SECOND,
    "+ session": SESSION,
    "+ squares": SQUARED,
    "+ answer, question, when": ANSWER | QUESTION | WHEN,
    "+ what a line is worth": ASKING | ROOM | DETAILS,
}


def additive() -> dict[str, Settings]:
    """The settings of every step from vectors alone to the whole."""
    steps = list(_STEPS.items())
    return {
        name: {key: value for _, later in steps[place + 1 :] for key, value in later.items()}
        for place, (name, _) in enumerate(steps)
    }


_COLUMNS = b"""SELECT attname FROM pg_attribute
WHERE attrelid = 'memoir.mode'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
ORDER BY attnum"""
_MODE = """INSERT INTO memoir.mode ({columns}) SELECT {values} FROM memoir.mode
WHERE name = {whole}"""
_WEIGHTS = """INSERT INTO memoir.mode_weight (mode, kind, weight)
SELECT {name}, kind, weight FROM memoir.mode_weight WHERE mode = {whole}"""


def make_mode(conn: psycopg.Connection[Any], name: str, whole: str, settings: Settings) -> None:
    """Add a mode to the database: another mode with some settings changed."""
    columns = [str(column) for (column,) in conn.execute(_COLUMNS)]
    changed = {"name": name, **settings}
    values = [
        sql.Literal(changed[column]) if column in changed else sql.Identifier(column)
        for column in columns
    ]
    conn.execute(
        sql.SQL(_MODE).format(
            columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
            values=sql.SQL(", ").join(values),
            whole=sql.Literal(whole),
        )
    )
    conn.execute(sql.SQL(_WEIGHTS).format(name=sql.Literal(name), whole=sql.Literal(whole)))


Row = dict[str, Any]


def ablation(
    conn: psycopg.Connection[Any], whole: str, measure: Callable[[str], Row]
) -> dict[str, Row]:
    """The figures of a mode, of the mode without each feature, and of the steps to it.

    Nothing of it stays in the database.

    Args:
        measure: the figures of a mode, by its name.
    """
    with conn.transaction(force_rollback=True):
        rows = {name: measure(mode) for name, mode in _modes(conn, whole, WITHOUT)}
        steps = {name: measure(mode) for name, mode in _modes(conn, whole, additive())}
        # Last: synonyms are of the database, not of a mode.
        conn.execute("DELETE FROM memoir.synonym")
        return {**rows, "without synonyms": measure(whole), **steps}


def _modes(
    conn: psycopg.Connection[Any], whole: str, variants: Mapping[str, Settings]
) -> Iterator[tuple[str, str]]:
    """Names of variants with the modes made for them."""
    for name, settings in variants.items():
        mode = f"{whole}: {name}"
        make_mode(conn, mode, whole, settings)
        yield name, mode


def ablation_table(rows: Mapping[str, Row], columns: Sequence[str]) -> str:
    """The figures for people, with the difference to the whole; of a step, to the step before."""
    names = list(rows)
    steps = [name for name in names if name in _STEPS]
    before = dict.fromkeys(names, names[0]) | {later: step for step, later in pairwise(steps)}
    heads = "".join(f"{column:>17}" for column in columns)
    lines = [f"{'what each feature adds, %':<26}{heads}"]
    for name in names:
        if name == steps[0]:
            lines.append("")
        cells = (
            f"{rows[name][column]:>9.2f}"
            + _difference(rows[name][column] - rows[before[name]][column], name, names[0], steps[0])
            for column in columns
        )
        lines.append((f"{name:<26}" + "".join(cells)).rstrip())
    return "\n".join(lines)


def _difference(points: float, name: str, *without: str) -> str:
    return " " * 8 if name in without else f"{points:>+8.2f}"
