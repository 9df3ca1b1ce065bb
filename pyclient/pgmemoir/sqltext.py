"""Where the statements of a SQL text begin, so that an error can name a line.

The text itself is sent to the server whole; nothing here decides what is executed.
"""

from __future__ import annotations

import re

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
