"""`scripts/build_extension.py`: what it writes, without a server."""

from __future__ import annotations

import hashlib
import json
import subprocess
import zipfile

import pytest

from pgmemoir import server

PROJECT = {"version": "0.2.0", "description": "Long-term memory", "keywords": ["memory"]}


def _released(tree, version: str, *names: str) -> None:
    hashes = [
        f"{hashlib.sha256((tree.migrations / name).read_bytes()).hexdigest()}  {name}\n"
        for name in names
    ]
    tree.write("migrations/released.txt", "".join([f"# {version}\n", *hashes]))


def test_the_script_has_every_file_in_order(tree, builder):
    made = builder.extension(tree, "0.1.0")
    places = [made.install.index(text) for text in ("0001_note", "0002_author", "sql/10_read")]
    assert places == sorted(places)
    assert made.updates == {}


def test_an_upgrade_has_what_the_release_had_not_and_all_of_the_code(tree, builder):
    _released(tree, "0.1.0", "0001_note.sql")
    (text,) = builder.extension(tree, "0.2.0").updates.values()
    assert "CREATE TABLE note" not in text
    assert "ALTER TABLE note ADD author" in text
    assert text.count("-- sql/") == 2


def test_the_same_sql_gives_the_same_bytes(tree, builder, tmp_path):
    _released(tree, "0.1.0", "0001_note.sql")
    folders = (tmp_path / "one", tmp_path / "other")
    one, other = ([p.read_bytes() for p in builder.build(tree, PROJECT, f)] for f in folders)
    assert one == other


def test_a_text_that_create_extension_would_change_is_refused(tree, builder):
    tree.write("sql/30_more/mail.sql", "SELECT 'me@extschema@you';\n")
    with pytest.raises(builder.BuildError, match=r"mail\.sql: @extschema@"):
        builder.extension(tree, "0.1.0")


def test_a_text_with_the_quotes_of_pg_tle_is_refused(tree, builder):
    tree.write("sql/30_more/quote.sql", "SELECT $_pgmemoir_$ $_pgmemoir_$;\n")
    with pytest.raises(builder.BuildError, match="pg_tle quotes with it"):
        builder.tle(builder.extension(tree, "0.1.0"), "")


def test_the_archive_for_pgxn_has_its_meta_and_its_makefile(tree, builder, tmp_path):
    builder.build(tree, PROJECT, tmp_path / "dist")
    with zipfile.ZipFile(tmp_path / "dist/pgmemoir-0.2.0.zip") as archive:
        names = {name.removeprefix("pgmemoir-0.2.0/") for name in archive.namelist()}
        meta = json.loads(archive.read("pgmemoir-0.2.0/META.json"))
    assert {"Makefile", "META.json", "pgmemoir.control", "pgmemoir--0.2.0.sql"} <= names
    assert meta["provides"]["pgmemoir"]["file"] in names


def test_make_install_puts_the_files_where_the_server_looks(tree, builder, tmp_path, pytestconfig):
    builder.build(tree, PROJECT, tmp_path / "dist")
    tools = server.psql(pytestconfig.getoption("pg")).parent
    if " " in str(tools):
        pytest.skip("make reads no path with a blank: move the checkout")
    command = ["make", "-C", tmp_path / "dist/extension", "install", f"DESTDIR={tmp_path}/root"]
    subprocess.run([*command, f"PG_CONFIG={tools}/pg_config"], check=True, capture_output=True)
    share = subprocess.run(
        [tools / "pg_config", "--sharedir"], capture_output=True, text=True, check=True
    )
    placed = (tmp_path / "root" / share.stdout.strip().lstrip("/") / "extension").iterdir()
    assert {path.name for path in placed} == {"pgmemoir.control", "pgmemoir--0.2.0.sql"}
