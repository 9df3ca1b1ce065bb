"""Where the statements of a SQL text begin, so that an error can name a line; and its functions.

The text itself is sent to the server whole; nothing here decides what of it is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
      --[^\n]*                              # comment to the end of the line
    | /\*                                   # comment, may nest: its end is looked for separately
    | [eE]'(?:[^'\\]|\\.|'')*'              # string with backslash escapes
    | '(?:[^']|'')*'
    | "(?:[^"]|"")*"
    | \$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$
    | (?P<word>[^\W\d][\w$]*)
    | \S
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_ROUTINE = re.compile(r"CREATE( OR REPLACE)? (FUNCTION|PROCEDURE)")
_VIEW = re.compile(r"^CREATE (?:OR REPLACE )?VIEW (\w+)", re.MULTILINE)
_HEADER = re.compile(r"^CREATE (?:OR REPLACE )?(FUNCTION|PROCEDURE) (\w+)(?=\()", re.MULTILINE)
_RESULT = re.compile(r"\s*RETURNS\s+(SETOF\s+)?(?:TABLE\s*(?=\()|(.+?)\s*(?=[A-Z]|$))", re.DOTALL)
_MODES = {"IN": "i", "OUT": "o", "INOUT": "b", "VARIADIC": "v"}


class Routine(NamedTuple):
    """A function or procedure as its header in a file says, types as they are written there.

    ``arguments`` has mode (as in ``pg_proc``), name and type of each. Where they are also the
    result, ``result`` is None.
    """

    kind: str
    name: str
    arguments: list[tuple[str, str, str]]
    defaults: int
    is_set: bool
    result: str | None


def views(text: str) -> list[str]:
    """The names of the views that a text makes at the beginning of a line."""
    return _VIEW.findall(text)


def routines(text: str) -> Iterator[Routine]:
    """The functions and procedures that a text makes at the beginning of a line."""
    for header in _HEADER.finditer(text):
        parts, end = _parts(text, header.end())
        arguments = [_argument(part) for part in parts]
        defaults = sum(any(word in ("DEFAULT", "=") for word in part) for part in parts)
        result = _RESULT.match(text, end)
        if result and result[2] is None:
            columns, _ = _parts(text, result.end())
            arguments += [("t", *_argument(column)[1:]) for column in columns]
        of_arguments = any(mode in "obt" for mode, _, _ in arguments)
        yield Routine(
            kind=header[1][0].lower(),
            name=header[2],
            arguments=arguments,
            defaults=defaults,
            is_set=bool(result and (result[1] or result[2] is None)),
            result=None if result is None or of_arguments else result[2],
        )


def _parts(text: str, position: int) -> tuple[list[list[str]], int]:
    """The words and signs between parentheses, split at commas; and where they end."""
    parts: list[list[str]] = [[]]
    depth = 0
    while token := _TOKEN.search(text, position):
        found, position = token.group(), token.end()
        if found.startswith("--"):
            continue
        depth += (found == "(") - (found == ")")
        if depth == 0:
            break
        if found == "," and depth == 1:
            parts.append([])
        elif (found, depth) != ("(", 1) or parts[-1]:
            parts[-1].append(found)
    return [part for part in parts if part], position


def _argument(words: list[str]) -> tuple[str, str, str]:
    """Mode, name and type."""
    mode = _MODES.get(words[0].upper(), "")
    name, *words = words[1:] if mode else words
    ends = [place for place, word in enumerate(words) if word in ("DEFAULT", "=")]
    return mode or "i", name.strip('"'), " ".join(words[: ends[0]] if ends else words)


def statement_starts(text: str) -> list[int]:
    """Offsets of the first character of every statement, empty statements left out.

    Knows comments, every kind of quote, parentheses and ``BEGIN ATOMIC`` bodies.
    """
    starts: list[int] = []
    position, parentheses, blocks = 0, 0, 0
    words: list[str] = []
    inside = False
    while token := _TOKEN.search(text, position):
        found, position = token.group(), token.end()
        if found == "/*":
            position = _comment_end(text, position)
            continue
        if found.startswith("--"):
            continue
        if found == ";" and parentheses == 0 and blocks == 0:
            inside, words = False, []
            continue
        if not inside and found != ";":
            inside = True
            starts.append(token.start())
        parentheses += (found == "(") - (found == ")")
        if word := token.group("word"):
            words = [*words, word.upper()] if len(words) < 4 else words
            if _ROUTINE.match(" ".join(words)):
                blocks += _block_step(word.upper(), blocks)
    return starts


def _block_step(word: str, blocks: int) -> int:
    """How a word changes the depth of ``BEGIN ... END`` inside a routine's definition."""
    if word == "BEGIN" or (word == "CASE" and blocks):
        return 1
    return -1 if word == "END" and blocks else 0


def _comment_end(text: str, position: int) -> int:
    """The offset after a block comment whose opening ends at ``position``."""
    depth = 1
    while depth and (edge := _COMMENT_EDGE.search(text, position)):
        depth += 1 if edge.group() == "/*" else -1
        position = edge.end()
    return position if depth == 0 else len(text)


def line_of(text: str, offset: int) -> int:
    """The line, counted from 1, of a character offset counted from 0."""
    return text.count("\n", 0, offset) + 1
