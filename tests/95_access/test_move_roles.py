"""Who may move a user: an admin, whoever the user is."""

from __future__ import annotations

from tests.moving import export, import_lines, live


def test_an_admin_exports_and_imports_everybody(become, tx):
    live(tx, "ada")
    conn = become("admin", "root")
    lines = export(conn, "ada", vectors=True)
    lines[0] = lines[0].replace('"highest_id": "', '"highest_id": "9')
    assert import_lines(conn, lines, "bob").state == "imported"
    assert export(conn, "bob", vectors=True)[1:] == lines[1:]
