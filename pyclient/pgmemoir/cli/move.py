"""``memoir export`` and ``memoir import``: all of a user, and files of other programs."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, cast

import click
import psycopg

from ..calls import NewMemory, Remembered
from ..client import Memoir
from ..errors import BadFile, MemoirError
from ..files import replacing
from ..importers import FORMATS, Items, check_mapping, detect, read
from ..importers.conversation import parse
from ..move import Imported, export_lines, header_of, import_lines, read_lines, user_of
from .app import App, main
from .options import DRY_RUN, USER, stem
from .output import counted, one_line, progress_bar
from .upkeep import index_loaded

_GZIP = b"\x1f\x8b"
# What is read whole may have so many pieces of so many bytes: its objects take four times as much.
_PIECES, _PIECE = 1024, 1 << 20


@main.command()
@click.argument("file", metavar="[FILE]", type=click.Path(dir_okay=False), default="-")
@click.option(
    "--vectors", is_flag=True, help="Include vectors, so that an import need not compute them."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@USER
@click.pass_obj
def export(app: App, file: str, vectors: bool, force: bool) -> None:
    """Write everything a user has to FILE, as lines of JSON.

    Memories of every status with their history, relations and validity, conversations, events,
    settings and logs. memoir import reads it, here or in another database. FILE is complete or not
    there, unless it is a pipe or a device, and only you may read it, unless it was there before
    with other permissions; one that ends in .gz is compressed; - is stdout.
    """
    path = Path(file)
    if path.is_file() and not force:
        raise BadFile(f"{file} already exists", hint="Give another name, or use --force.")
    with app.transaction() as conn:
        lines = export_lines(conn, app.user, vectors)
        header = header_of(first := next(lines))
        counts: dict[str, int] = header["counts"]
        every = chain([first], lines)
        with _output(path) as output, progress_bar(sum(counts.values()), "exporting") as bar:
            for line in every:
                output.write(line.encode() + b"\n")
                bar.update(1)
    click.echo(f"exported user {one_line(header['user_id'])}: {_told(counts)}", err=True)


@main.command("import")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option(
    "--format", "format", type=click.Choice(FORMATS), help="Format of FILE; default: detected."
)
@USER
@DRY_RUN
@click.option("--new-ids", is_flag=True, help="For an export: give every record a new id.")
@click.option("--no-vectors", is_flag=True, help="For an export: leave its vectors out.")
@click.option("--session", help="For a conversation: the session of messages that name none.")
@click.option(
    "--map",
    "pairs",
    metavar="FIELD=COLUMN,...",
    help="For CSV and JSONL: which field is which column, as content=note,created_at=date. For "
    "LangGraph also user_id=namespace.1,subject=key.",
)
@click.option("--keep-users", is_flag=True, help="Store each memory for the user FILE names.")
@click.pass_obj
def import_file(
    app: App,
    file: str,
    format: str | None,
    dry_run: bool,
    new_ids: bool,
    no_vectors: bool,
    session: str | None,
    pairs: str | None,
    keep_users: bool,
) -> None:
    """Import FILE: all of it or nothing.

    FILE is an export of memoir, a conversation (JSON or JSONL, also as ChatGPT, Claude, Telegram
    and Slack export it: each message becomes a memory), memories of mem0 (its get_all), items of a
    LangGraph store, or rows with the fields of a memory (CSV or JSONL). - reads stdin; .gz is
    unpacked. Importing the same file again adds only what is new.
    """
    mapping = _mapping(pairs)
    check_mapping(mapping)
    path = Path("stdin" if file == "-" else file)
    with _input(file) as source:
        lines = read_lines(source)
        if format is None or format == "pgmemoir":
            start = source.peek(64)[:64]
            if format == "pgmemoir" or detect(start, file, {}) == "pgmemoir":
                _refuse("pgmemoir", session=session, map=pairs, keep_users=keep_users)
                _import_user(app, lines, dry_run, new_ids, not no_vectors)
                return
        data = _whole(source, file)
    found = format or detect(data, file, mapping)
    _refuse(found, new_ids=new_ids, no_vectors=no_vectors)
    if found == "conversation":
        _refuse(found, map=pairs, keep_users=keep_users)
        _import_conversation(app, data, session or stem(path.name), path.name, dry_run)
        return
    _refuse(found, session=session, map=pairs if found == "mem0" else None)
    _import_items(app, read(data, found, path.name, mapping), found, keep_users, dry_run)


def _import_user(
    app: App, lines: Iterator[str], dry_run: bool, new_ids: bool, vectors: bool
) -> None:
    """Everything of a user, who keeps the name unless another is given."""
    first = next(lines, "")
    header = header_of(first)
    if app.user is None:
        app.user = user_of(header)
    promised = header.get("counts")
    length = 2 + sum(
        number
        for number in (promised.values() if isinstance(promised, dict) else ())
        if isinstance(number, int)
    )
    with (
        app.transaction(keep=not dry_run) as conn,
        progress_bar(length, "importing") as bar,
    ):
        done = import_lines(
            conn,
            chain([first], lines),
            app.user,
            new_ids=new_ids,
            vectors=vectors,
            progress=lambda line: bar.update(line - bar.pos),
        )
    click.echo(_imported(done, one_line(str(app.user)), dry_run))
    if not (dry_run or done.known):
        index_loaded(app, done.records.get("memory", 0))


def _imported(done: Imported, user: str, dry_run: bool) -> str:
    if done.known:
        return f"this file was imported for user {user} before: nothing is changed"
    alike = done.records.get("alike")
    return f"{'would import' if dry_run else 'imported'} user {user}: {_told(done.records)}" + (
        f"; by the rules here {alike:,} of the memories had the text or the subject of another, "
        "and memoir history tells what became of them"
        if alike
        else ""
    )


def _import_conversation(app: App, data: bytes, name: str, file: str, dry_run: bool) -> None:
    conversation = parse(data, name, file)
    with app.transaction(keep=not dry_run) as conn:
        memory = Memoir(conn, user=app.user)
        for session in conversation.sessions:
            conversation.follow(session, memory.memories(kinds=["turn"], session=session))
        done = _remember_in(conn, conversation.turns, conversation.lines, app.user)
    added = sum(result.action == "ADD" for result in done)
    refused = [result.reason for result in done if result.memory_id is None]
    click.echo(
        f"{counted(added, 'message')} {'would be ' if dry_run else ''}stored, "
        f"{len(done) - added - len(refused)} known already, "
        f"{conversation.skipped} without text, {counted(len(conversation.sessions), 'session')}"
        + (f"; {len(refused)} not stored: {refused[0]}" if refused else "")
    )
    if not dry_run:
        index_loaded(app, added)


def _import_items(app: App, items: Items, format: str, keep_users: bool, dry_run: bool) -> None:
    """Memories of another program, with all their users or none."""
    named = sorted({user for user in items.users if user is not None})
    if len(named) > 1 and not keep_users and app.user is None:
        raise click.UsageError(
            f"the file has memories of {len(named)} users ({_few(named)}): "
            "give --keep-users to store each for its own, or --user for one"
            + ("; --map user_id=namespace.1 tells who it is" if format == "langgraph" else "")
        )
    done: list[Remembered] = []
    with app.transaction(keep=not dry_run) as conn:
        for user in dict.fromkeys(items.users if keep_users else [None]):
            places = [i for i, each in enumerate(items.users) if not keep_users or each == user]
            whose = app.user if user is None else user
            memories = [items.memories[i] for i in places]
            done += _remember_in(conn, memories, [items.lines[i] for i in places], whose)
    click.echo(_remembered(done, items, format, dry_run))
    if not (dry_run or keep_users):
        index_loaded(app, sum(each.action == "ADD" for each in done))


def _remembered(done: list[Remembered], items: Items, format: str, dry_run: bool) -> str:
    """What became of the memories of a file, as a line."""
    if not (items.memories or items.skipped or items.notes):
        return f"{format}: nothing to import"
    actions = Counter(each.action if each.memory_id is not None else "" for each in done)
    stored = actions["ADD"] + actions["SUPERSEDE"] + actions["PENDING"]
    parts = [
        f"{counted(stored, 'memory')} {'would be ' if dry_run else ''}stored",
        f"{actions['UPDATE']} updated",
        f"{actions['NOOP']} known already",
        f"{items.skipped} without text",
        *items.notes,
    ]
    if actions[""]:
        reason = next(each.reason for each in done if each.memory_id is None)
        parts.append(f"{actions['']} not stored: {reason}")
    return f"{format}: {', '.join(parts)}"


def _remember_in(
    conn: psycopg.Connection, memories: list[NewMemory], lines: list[int], user: str | None
) -> list[Remembered]:
    """Store memories; an error of one names its line."""
    try:
        with progress_bar(len(memories), "remembering") as bar:
            return Memoir(conn, user=user).remember_many(
                memories, lambda count: bar.update(count - bar.pos)
            )
    except MemoirError as error:
        raise _of_line(error, lines) from error


def _of_line(error: MemoirError, lines: list[int]) -> MemoirError:
    """The error of a memory, with its line instead of its number."""
    place, message = error.in_batch()
    return error if place is None else error.reworded(f"line {lines[place - 1]}: {message}")


def _told(records: dict[str, int]) -> str:
    """The counts of each sort as text, memories first."""
    counts = sorted(records.items(), key=lambda each: (each[0] != "memory", each[0]))
    return (
        ", ".join(
            counted(count, "gold question" if record == "gold" else record.replace("_", " "))
            for record, count in counts
            if record not in ("user", "alike")
        )
        or "no memories"
    )


def _few(names: list[str]) -> str:
    return ", ".join(names if len(names) < 4 else [*names[:3], "..."])


def _mapping(pairs: str | None) -> dict[str, str]:
    """``content=text,created_at=date`` as a dictionary."""
    mapping: dict[str, str] = {}
    for pair in filter(None, (pairs or "").split(",")):
        field, sign, column = (part.strip() for part in pair.partition("="))
        if not (field and sign and column):
            raise click.UsageError(f"--map: {pair!r} is not FIELD=COLUMN")
        mapping[field] = column
    return mapping


def _refuse(format: str, **given: object) -> None:
    """Refuse options that mean nothing for a file of this format."""
    for name, value in given.items():
        if value:
            raise click.UsageError(
                f"--{name.replace('_', '-')} is not for a file of format {format}"
            )


def _whole(source: BinaryIO, file: str) -> bytes:
    """All of a file, within a limit: a small one can unpack to more memory than there is."""
    pieces = list(islice(iter(partial(source.read, _PIECE), b""), _PIECES + 1))
    if len(pieces) > _PIECES:
        raise BadFile(
            f"{file} is too large", detail="Unpacked it has more than 1 GiB.", hint="Split it."
        )
    return b"".join(pieces)


@contextmanager
def _output(path: Path) -> Iterator[BinaryIO]:
    """Where an export goes: stdout, or a file that is there once it is complete."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    is_place = path.exists() and not path.is_file()  # a pipe or device cannot be replaced
    with path.open("wb") if is_place else replacing(path) as file:
        if path.suffix != ".gz":
            yield file
            return
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            yield cast(BinaryIO, packed)


@contextmanager
def _input(file: str) -> Iterator[io.BufferedReader]:
    """A file or stdin, unpacked."""
    try:
        with click.open_file(file, "rb") as given:
            reader = io.BufferedReader(cast(io.RawIOBase, given))
            packed = reader.peek(2)[:2] == _GZIP
            unpacked = gzip.GzipFile(fileobj=reader) if packed else reader
            yield io.BufferedReader(cast(io.RawIOBase, unpacked))
    except FileNotFoundError:
        raise click.UsageError(f"there is no file {file}") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise BadFile(f"{file} cannot be unpacked: {error}", hint="It was cut.") from error
