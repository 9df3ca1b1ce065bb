"""Hints of the database speak SQL. On the command line they name commands and options."""

from __future__ import annotations

import re

# SQL in a hint, and the command or option that does the same.
COMMANDS = {
    r"(?:SELECT \* FROM )?memoir\.(\w+)\((\d+), user_id => ('.+?')\)": r"memoir --user \3 \1 \2",
    r"a memory_id that remember\(\) or recall\(\) returned, and the user": (
        "an id that memoir list shows, and with --user the one"
    ),
    r"Keys are whole numbers; searches and lists of memories return them": (
        "Pass an id that memoir list shows, and with --user the one whose memory it is"
    ),
    r"maintain\(\) and apply_decisions\(\) return the run_id; history\(\) shows it": (
        "memoir history ID --json shows run_id, and memoir sync prints it"
    ),
    r"next of the last row, with the same sort, or NULL to start": (
        "what the page before it printed, with the same --sort"
    ),
    r"user_id => 'alice', or SET memoir\.user_id = 'alice'": "--user alice, or set MEMOIR_USER",
    r"user(?:_id|=).+ in the transaction of the call": "--user alice, or set MEMOIR_USER",
    r"another user_id, or this one after SELECT \* FROM memoir\.purge_user\('.+'\);": (
        "another --user, or this one after memoir purge --user-data."
    ),
    r"vectors => false": "--no-vectors",
    r"SELECT memoir\.event_add\('(\w+)', ('.+')\);": r"memoir event \1 \2",
    r"SELECT memoir\.set_settings\('{\"memory\": false}'\);": "memoir settings memory=off",
    r"SELECT memoir\.set_settings\('{\"memory\": true}', ('.+')\)": (
        r"memoir --user \1 settings memory=on"
    ),
    r"SELECT advice FROM memoir\.health\(\) WHERE name = '\w+'": "memoir doctor",
    r"SELECT (?:\*|name) FROM memoir\.sources;?": "memoir source list",
    r"SELECT \* FROM memoir\.detach_source\(('.+?')\);": r"memoir source detach \1,",
    r"SELECT name.* FROM memoir\.(?:mode|(?:job_)?kind)(?: WHERE needs <> 'nothing')?": (
        r'memoir psql -c "\g<0>"'
    ),
    r"SELECT (?:\* FROM memoir\.models\(\)|name, dimensions FROM memoir\.embedding_model .+\.)": (
        "memoir model list"
    ),
    r"memoir\.add_model\(name, dimensions\)": "memoir model add NAME --dimensions N",
    r"SELECT memoir\.add_model\('([^']+)', (\d+)\)(?:;$)?": r"memoir model add \1 --dimensions \2",
    r"SELECT memoir\.(drop|switch)_model\('([^']+)'\)(?:; until it returns 0|;)": (
        r"memoir model \1 \2"
    ),
    r"SELECT memoir\.switch_model\('([^']+)', force => true\)": r"memoir model switch \1 --force",
    r"without vectors, .+: SELECT \* FROM memoir\.fill_model\('([^']+)'\);": (
        r"without vectors: memoir model switch \1 --force"
    ),
}


def in_commands(hint: str) -> str:
    """A hint as it helps on the command line."""
    for sql, command in COMMANDS.items():
        hint = re.sub(sql, command, hint)
    return hint.replace(" --user 'default'", "")
