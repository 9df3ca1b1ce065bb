"""What a memory is in a file: byte for byte what it was, and everything else stays where it is."""

from __future__ import annotations

import re

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb
from tests.examples import examples
from tests.markdown_folder import Folder
from tests.rows import call, remember, set_to, store, value, working_at_most

AWKWARD = [
    "",
    " ",
    "\t",
    "\r",
    "---",
    "- item",
    "* item",
    "1. item",
    "# heading",
    "## Known facts",
    "```python",
    "```",
    "~~~",
    "    four spaces",
    "\ttab",
    "trailing  ",
    "> quote",
    "| a | b |",
    "|---|---|",
    "<!-- m:1 -->",
    "<!-- \\m:1.abcde -->",
    "<!--m:1-->",
    "text <!-- m:12.3f9a1 --> text",
    "<!-- begin",
    "-->",
    "<<<<<<< HEAD",
    "=======",
    ">>>>>>> other",
    "title: front matter",
    "认证失败时先看 JWKS 缓存",
    "emoji 🙂👩‍👩‍👧",
    "\u2028separator\v\f",
    "\\",
    "plain",
]
LINES = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=20), min_size=1, max_size=8)
VISIBLE = re.compile(r"[^\W_]")


def _text(lines: list[str]) -> str:
    return "\n".join(lines).replace("\0", "").encode("utf-8", "ignore").decode()


CONTENTS = LINES.map(_text).filter(lambda text: bool(VISIBLE.search(text)))


@given(content=CONTENTS, bullet=st.sampled_from(["- ", "* ", "-   ", "  + ", "   *    "]))
@examples(150)
@example(content="\n\n  code\n\n\n", bullet="- ")
@example(content="```\na\n```\r\n\r\nb\r\n", bullet="- ")
def test_an_item_says_what_the_memory_says(tx: psycopg.Connection, content: str, bullet: str):
    said = value(
        tx,
        "SELECT p.said FROM unnest(memoir._markdown_parts('memory', '# Memory' || E'\\n'"
        " || memoir._markdown_item('12.3f9a1', %s, %s) || E'\\n\\ntext\\n- other\\n')) AS p"
        " WHERE p.mark = '12.3f9a1'",
        content,
        bullet,
    )
    assert said == content


@given(contents=st.lists(CONTENTS, min_size=1, max_size=4, unique_by=str.strip))
@examples(20)
def test_export_import_export_is_the_same(tx, contents):
    with tx.transaction(force_rollback=True):
        set_to(tx, consolidate=False)
        kinds = ("fact", "task")
        ids = store(tx, ({"content": c, "kind": kind} for c in contents for kind in kinds))
        text = value(tx, "SELECT memoir.export_markdown()")
        assert call(tx, "import_markdown", content=text, base=text) == []
        assert call(tx, "import_markdown", content=text) == []
        assert value(tx, "SELECT memoir.export_markdown()") == text
        assert len(call(tx, "import_markdown", content=text, user_id="bob")) == len(ids)
        for text in contents:
            stored = tx.execute(
                "SELECT content FROM memoir.memory WHERE user_id = 'bob' AND content = %s", (text,)
            )
            assert len(stored.fetchall()) == 2


OWN = """---
title: mine
tags:
- not a memory
---

Some words before.

# Memory

A paragraph of *mine*.
1. a numbered line
> - a quoted bullet

```yaml
- code is no memory
```

<!--
- nor is a comment
-->

## Known facts
Words right below a heading.

- tea is green
  - with a bullet below it

  and a paragraph
+ another bullet

* * *

Words at the end, without a line end."""


def test_what_is_no_memory_stays_where_it_is(tx):
    folder = Folder(tx, files={"memory": OWN})
    assert folder.sync() == [("ADD", "database")] * 2
    marks = re.compile(r" <!-- m:[^ ]+ -->")
    assert len(marks.findall(folder.files["memory"])) == 2
    assert marks.sub("", folder.files["memory"]) == OWN
    assert folder.changes[0]["file_text"] == (
        "tea is green\n- with a bullet below it\n\nand a paragraph"
    )
    remember(tx, "milk is white")
    assert folder.sync() == [("ADD", "file")]
    assert marks.sub("", folder.files["memory"]) == OWN.replace(
        "+ another bullet\n", "+ another bullet\n+ milk is white\n"
    )


def test_a_memory_that_comes_below_a_heading_does_not_swallow_the_text_below_it(tx):
    folder = Folder(tx, files={"memory": "## Known facts\nmine\n## Plans\n"})
    folder.sync()
    remember(tx, "tea is green")
    remember(tx, "buy tea", "goal")
    folder.sync()
    assert re.sub(r" <!-- m:[^ ]+ -->", "", folder.files["memory"]) == (
        "## Known facts\n\n- tea is green\n\nmine\n## Plans\n\n- buy tea\n"
    )
    assert folder.sync() == []


@pytest.mark.parametrize(
    "typed",
    [
        "- tea is green\n  or black",
        "-   tea is green\n    or black",
        "- tea is green\nor black",
        "* tea is green\n\tor black",
        "+ tea is green  \n  or black  ",
        " - tea is green\n   or black",
        "- tea is green\r\n  or black\r",
    ],
)
def test_however_it_is_typed_it_says_the_same(tx, typed):
    folder = Folder(tx, files={"memory": f"## Known facts\n{typed}\n"})
    folder.sync()
    said = value(tx, "SELECT content FROM memoir.memory")
    assert re.sub("[ \r]+\n", "\n", said) == "tea is green\nor black"
    assert folder.sync() == []


def _told(folder: Folder) -> list[str]:
    return [change["file_text"] for change in folder.changes]


def test_each_bullet_of_a_list_set_in_from_the_margin_is_a_memory(tx):
    typed = "  * tea is green\n  * milk is white\n\n    if fresh\n    * or not\n * salt too\n"
    folder = Folder(tx, files={"memory": f"Notes:\n{typed}\n  Words.\n"})
    folder.sync()
    assert _told(folder) == ["tea is green", "milk is white\n\nif fresh\n* or not", "salt too"]


def test_a_tag_that_begins_a_block_is_no_part_of_the_bullet_above_it(tx):
    typed = "<details>\n\n- tea is green\n- milk\n<b>is</b> white\n</details>\n\n- salt\n<Hr/>\n"
    folder = Folder(tx, files={"memory": typed})
    folder.sync()
    assert _told(folder) == ["tea is green", "milk\n<b>is</b> white", "salt"]


def test_an_edit_in_the_database_and_what_is_new_take_the_bullet_of_their_list(tx):
    typed = "## Known facts\n\n  *   tea is green\n  *   milk is white\n"
    folder = Folder(tx, files={"memory": typed})
    folder.sync()
    call(tx, "update_memory", memory_id=folder.changes[0]["memory_id"], content="tea\nis black")
    remember(tx, "salt is white")
    folder.sync()
    assert re.sub(r" <!-- m:[^ ]+ -->", "", folder.files["memory"]) == (
        "## Known facts\n\n  *   tea\n      is black\n  *   milk is white\n  *   salt is white\n"
    )
    assert folder.sync() == []


def test_line_ends_that_differ_within_a_file_are_no_part_of_a_text(tx):
    folder = Folder(tx, files={"memory": "- tea\r\n  is green\r\n- milk\n"})
    folder.sync()
    assert _told(folder) == ["tea\nis green", "milk"]


@pytest.mark.parametrize("first", ["```sh\n  make\n  ```", "| a | b |\n  |---|---|"])
def test_a_mark_breaks_neither_code_nor_a_table(tx, first):
    folder = Folder(tx, files={"memory": f"## Known facts\n\n- {first}\n"})
    folder.sync()
    assert re.sub("<!-- .* -->", "MARK", folder.files["memory"]) == (
        f"## Known facts\n\n- MARK\n  {first}\n"
    )
    assert folder.sync() == []


@pytest.fixture
def folder(tx: psycopg.Connection) -> Folder:
    """memory.md with two facts."""
    remember(tx, "tea is green", created_at="2025-01-01")
    remember(tx, "coffee is black", created_at="2025-01-02")
    made = Folder(tx, files={"memory": None})
    made.sync()
    return made


def _mark(folder: Folder, text: str) -> str:
    found = re.search(re.escape(text) + r" (<!-- m:[^ ]+ -->)", folder.files["memory"])
    assert found is not None
    return found[1]


@pytest.mark.parametrize("bullet", ["-", "*  "])
def test_a_mark_stands_behind_a_bullet_above_code(tx, bullet):
    folder = Folder(tx, files={"memory": f"{bullet}\n  ```sh\n  make\n  ```\n"})
    assert folder.sync() == [("ADD", "database")]
    assert folder.files["memory"].startswith(f"{bullet[0]} <!-- m:")
    assert folder.sync() == []
    assert value(tx, "SELECT content FROM memoir.memory") == "```sh\nmake\n```"


def test_a_mark_that_an_editor_wrapped_or_moved_is_found(folder):
    mark = _mark(folder, "tea is green")
    folder.edit(f"- tea is green {mark}", f"- tea is\n  green\n  {mark}")
    assert folder.sync() == [("UPDATE", "database")]
    assert folder.changes[0]["file_text"] == "tea is\ngreen"


def test_editors_may_change_blanks_at_line_ends(folder):
    folder.files["memory"] = folder.files["memory"].replace(" -->\n", " -->   \n")
    assert folder.sync() == []


def test_a_lost_mark_is_found_again_by_the_text(folder):
    mark = _mark(folder, "tea is green")
    folder.edit(f" {mark}", "")
    assert folder.sync() == [("NOOP", "file")]
    assert _mark(folder, "tea is green") == mark
    assert folder.sync() == []


def test_a_mark_edited_by_hand_is_no_mark(folder, tx):
    mark = _mark(folder, "tea is green")
    folder.edit(mark, mark.replace("m:", "m:1"))
    assert folder.sync() == [("NOOP", "file")]
    assert _mark(folder, "tea is green") == mark
    folder.edit(f"tea is green {mark}", "tea is black <!-- m:oops -->")
    assert sorted(folder.sync()) == [("ADD", "database"), ("FORGET", "database")]
    assert folder.changes[0]["reason"] == "its mark is none of this user, or stands twice"
    assert value(tx, "SELECT count(*) FROM memoir.memory WHERE status = 'active'") == 2


def test_a_row_of_an_attached_table_is_in_no_file(folder, tx):
    tx.execute(
        "UPDATE memoir.memory SET source = 'drinks', source_key = '7'"
        " WHERE content = 'tea is green'"
    )
    assert folder.sync() == [("FORGET", "file")]
    assert "tea is green" not in folder.files["memory"]


@pytest.mark.usefixtures("side_by_side")
def test_of_two_lost_marks_of_the_same_text_each_finds_its_own(folder, tx):
    remember(tx, "tea is green", session_id="monday", created_at="2025-01-03")
    folder.sync()
    before = folder.files["memory"]
    marked = re.compile(r"(tea is green) <!-- m:[^ ]+ -->")
    folder.files["memory"] = marked.sub(r"\1", before)
    assert folder.sync() == [("NOOP", "file")] * 2
    assert folder.files["memory"] == before


def test_the_mark_of_another_database_is_no_mark(folder, tx):
    theirs = re.sub(r"[.]\w+", ".00000", _mark(folder, "tea is green"))
    file = f"# Memory\n\n## Known facts\n\n- beer is brown {theirs}\n"
    other = Folder(tx, files={"memory": file, "learnings": None})
    assert ("ADD", "database") in other.sync()
    stored = "SELECT count(*) FROM memoir.memory WHERE content IN ('tea is green', 'beer is brown')"
    assert value(tx, stored) == 2


def test_a_memory_with_the_number_of_another_is_new(folder, tx):
    # As after a restored backup: the number in file and base is another memory's
    tx.execute(
        "UPDATE memoir.memory SET content = 'juice is red', content_hash = '', created_at ="
        " created_at - interval '1 day' WHERE content = 'tea is green'"
    )
    assert sorted(folder.sync()) == [("ADD", "database"), ("ADD", "file")]


def test_of_a_copied_bullet_the_copy_becomes_a_memory_of_its_own(folder):
    mark = _mark(folder, "tea is green")
    folder.edit(f"- tea is green {mark}", f"- tea is black {mark}\n- tea is green {mark}")
    assert folder.sync() == [("ADD", "database")]
    assert (_mark(folder, "tea is green"), folder.files["memory"].count(mark)) == (mark, 1)
    assert folder.sync() == []


def test_an_exact_copy_is_left_and_told(folder):
    mark = _mark(folder, "tea is green")
    folder.edit(f"- tea is green {mark}", f"- tea is green {mark}\n- tea is green")
    assert folder.sync() == [("NOOP", None)]
    assert folder.files["memory"].count("tea is green") == 2


def test_two_bullets_made_one_are_one_memory(folder):
    first, second = _mark(folder, "tea is green"), _mark(folder, "coffee is black")
    folder.edit(f" {first}\n- coffee is black {second}", f", coffee is black {first} {second}")
    assert sorted(folder.sync()) == [("FORGET", "database"), ("UPDATE", "database")]
    assert "- tea is green, coffee is black <!--" in folder.files["memory"]


def test_what_looks_like_a_mark_in_a_memory_is_none(folder, tx):
    remember(tx, f"a text with {_mark(folder, 'tea is green')} in it")
    assert folder.sync() == [("ADD", "file")]
    assert folder.sync() == []
    assert value(tx, "SELECT count(*) FROM memoir.memory WHERE status = 'active'") == 3


def test_a_file_that_ends_within_a_memory_is_refused(folder, tx):
    text = folder.files["memory"]
    for cut in (text.index("is black"), text.rindex(" -->")):
        folder.files["memory"] = text[:cut]
        with pytest.raises(psycopg.Error, match=r"it ends within memory \d+"), tx.transaction():
            folder.sync()


@pytest.mark.parametrize("opener", ["```", "~~~ sh", "<!-- note"])
def test_a_file_that_ends_within_code_or_a_comment_is_refused(folder, tx, opener):
    text = folder.files["memory"]
    folder.files["memory"] = f"{text}\n{opener}\n"
    line = folder.files["memory"].count("\n")
    with pytest.raises(psycopg.Error, match=f"line {line}: .* not end"), tx.transaction():
        folder.sync()


def test_code_in_a_line_of_words_begins_no_block(folder):
    folder.edit("## Known facts\n", "## Known facts\n\n```make``` builds it.\n")
    assert folder.sync() == []


def test_a_large_memory_is_taken(folder, tx):
    folder.files["memory"] += "- " + "长 text, " * 12_500 + "\n"
    assert folder.sync() == [("ADD", "database")]
    assert value(tx, "SELECT max(length(content)) FROM memoir.memory") == 99_999


@pytest.mark.parametrize("line", ["  a\n", "  a\n\n"])
def test_an_item_of_many_lines_takes_time_that_grows_with_them(tx, line):
    parts = "SELECT count(*) FROM memoir._markdown_parts('memory', %s)"
    with working_at_most(tx, 5):
        assert value(tx, parts, "- b\n" + line * 30_000) >= 1


def test_a_mark_that_file_and_base_have_a_thousand_times_is_compared_once_for_each(tx):
    lines = [f"- x{n} <!-- m:7.abcde -->\n" for n in range(1000)]
    files = {"memory": {"content": "".join(lines), "base": "".join(lines).replace("x", "y")}}
    with working_at_most(tx, 2):  # each with each took 4 s
        answer = value(tx, "SELECT memoir.sync_markdown(%s, dry_run => true)", Jsonb(files))
    assert len(answer["changes"]) == 1000


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ({"strategy": "mine"}, "ME008", 'unknown strategy "mine"'),
        ({"file": "notes"}, "ME008", 'no kind of memory is kept in a file "notes"'),
        ({"file": None}, "ME008", 'no kind of memory is kept in a file ""'),
        ({"content": "a\n>>>>>>> b"}, "ME017", "memory.md, line 2: a merge of Git"),
        ({"user_id": " "}, "ME006", "user_id must have 1 to 200 characters"),
    ],
)
def test_bad_arguments_are_refused(tx, arguments, code, said):
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        call(tx, "import_markdown", **{"content": "", **arguments})
    assert (caught.value.diag.sqlstate, said in caught.value.diag.message_primary) == (code, True)


def test_a_kind_of_ones_own_has_a_file_of_its_own(tx):
    tx.execute("UPDATE memoir.kind SET file = 'notes' WHERE name = 'general'")
    remember(tx, "tea is green", "general")
    text = value(tx, "SELECT memoir.export_markdown('notes')")
    assert re.fullmatch(r"# Notes\n\n<!-- .* -->\n\n## Notes\n\n- tea is green <!-- .* -->\n", text)
