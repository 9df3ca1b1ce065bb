"""Tables, JSON and progress on a terminal."""

from __future__ import annotations

import io
import json
import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

import click

# Columns of a table that goes into a file or a pipe.
_WIDTH_WITHOUT_TERMINAL = 160
_LEAST_CONTENT = 20
# In a terminal with fewer columns each row of a table that does not fit takes a line for each cell.
_NARROW = 80

T = TypeVar("T")


def counted(count: int, noun: str) -> str:
    """``1 memory`` or ``1,000 memories``."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def plain(value: int | None) -> str:
    """A number in a table, nothing if there is none."""
    return "" if value is None else str(value)


def minute(time: datetime | None) -> str:
    """A time in a table, nothing if there is none."""
    return f"{time:%Y-%m-%d %H:%M}" if time else ""


def print_json(value: Any) -> None:
    """Dataclasses, objects, and lists of them, as JSON; what could drive the terminal escaped."""
    said = [as_object(item) for item in value] if isinstance(value, list) else as_object(value)
    try:
        text = json.dumps(said, ensure_ascii=False, indent=2, default=_plain)
    except RecursionError:  # Python indents less deep a nesting than it reads
        text = json.dumps(said, ensure_ascii=False, default=_plain)
    is_known = _knows(sys.stdout.encoding or "utf-8", text)
    click.echo(
        "".join(
            c if c == "\n" or (_is_shown(c) and (is_known or c.isascii())) else json.dumps(c)[1:-1]
            for c in text
        )
    )


def _knows(encoding: str, text: str) -> bool:
    """Whether a stream of that encoding takes the text as it is."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def as_object(item: Any) -> dict[str, Any]:
    """The fields of one of them; ids are text, because they may pass 2^53 (JavaScript's limit)."""
    made = dict(item) if isinstance(item, dict) else _plain(item)
    for name, value in made.items():
        if name.endswith("_ids"):
            made[name] = [str(each) for each in value]
        elif name.endswith("_id") and value is not None:
            made[name] = str(value)
    return made


def _plain(item: Any) -> Any:
    """A time or a dataclass as JSON. Not by asdict, which copies data only 300 levels deep."""
    if isinstance(item, datetime):
        return item.isoformat()
    return {field.name: getattr(item, field.name) for field in fields(item)}


def print_found(found: T, as_json: bool, as_text: Callable[[T], str], empty: str = "") -> None:
    """Print what a command has found, as JSON or as text.

    Args:
        as_text: makes text of what was found.
        empty: the text if that is nothing.
    """
    if as_json:
        print_json(found)
    else:
        click.echo(as_text(found) if found else empty)


def print_page(
    ask: Callable[..., list[Any]],
    limit: int,
    after: str | None,
    as_json: bool,
    as_text: Callable[[list[Any]], str],
    empty: str,
) -> None:
    """As `print_found`, for a page of a list; as text, also say whether more follow.

    Args:
        ask: the call that gives a page, with its filters, without page_size and after.
    """
    rows = ask(page_size=limit, after=after)
    print_found(rows, as_json, as_text, empty)
    if not as_json and len(rows) == limit and ask(page_size=1, after=rows[-1].next):
        click.echo(f"{limit} listed; continue with --after {rows[-1].next}")


def progress_bar(length: int, label: str, more: Callable[[], str] | None = None) -> Any:
    """A bar on stderr with the time left, silent if nobody watches.

    Args:
        more: what to write behind it.
    """
    watched = sys.stderr.isatty()
    return click.progressbar(
        length=length,
        label=label,
        file=sys.stderr if watched else io.StringIO(),
        item_show_func=None if more is None else lambda _: more(),
    )


def table(cells: Sequence[Sequence[str]], flexible: int, right: set[int]) -> str:
    """Align columns by their width on a terminal; the first row is the head.

    Args:
        cells: rows of equal length, each cell as `one_line` makes it.
        flexible: the column that is cut, or filled, so that lines are as wide as the terminal.
        right: the columns that are aligned to the right.
    """
    cells = [[one_line(cell) for cell in row] for row in cells]
    widths = [max(map(text_width, column)) for column in zip(*cells, strict=True)]
    others = sum(widths) - widths[flexible] + 2 * (len(widths) - 1)
    width = shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns
    is_wide = width < min(_NARROW, others + min(widths[flexible], _LEAST_CONTENT))
    if is_wide and len(widths) > 2 and len(cells) > 1:
        return _records(cells, width)
    widths[flexible] = min(widths[flexible], max(_LEAST_CONTENT, width - others))
    lines = [_line(row, widths, right) for row in cells]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def _records(cells: Sequence[Sequence[str]], width: int) -> str:
    """The rows of a table below each other, each cell with its head; nothing of an empty one."""
    heads, *rows = cells
    indent = max(map(text_width, heads)) + 2
    return "\n\n".join(
        "\n".join(
            f"{head}{' ' * (indent - text_width(head))}{fit(cell, max(2, width - indent))}"
            for head, cell in zip(heads, row, strict=True)
            if cell
        )
        for row in rows
    )


def text_width(text: str) -> int:
    """Columns a text takes on a terminal: Chinese characters take two, combining marks none."""
    return sum(map(_character_width, text))


def fit(text: str, width: int) -> str:
    """The text on one line of at most ``width`` columns, cut with an ellipsis."""
    if text_width(text) <= width:
        return text
    used, kept = 1, []
    for character in text:
        used += _character_width(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def one_line(text: str) -> str:
    """White space as single blanks; no control characters, which could drive the terminal."""
    return _printable(" ".join(text.split()))


def lines(text: str) -> str:
    """The text with its lines as they are; no control characters either."""
    return "\n".join(map(_printable, text.expandtabs(4).splitlines()))


def _printable(line: str) -> str:
    return "".join(c for c in line if _is_shown(c))


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf")


def _line(row: Sequence[str], widths: Sequence[int], right: set[int]) -> str:
    cells = []
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        text = fit(cell, width)
        blanks = " " * (width - text_width(text))
        cells.append(blanks + text if place in right else text + blanks)
    return "  ".join(cells).rstrip()


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
