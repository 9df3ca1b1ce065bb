"""Options and arguments that several commands have."""

from __future__ import annotations

import click

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

DRY_RUN = click.option("--dry-run", is_flag=True, help="Change nothing, show what would happen.")

REASON = click.option("--reason", help="Why; kept in the history.")

LIMIT = click.option("--limit", type=int, default=20, show_default=True, help="Rows, 1 to 1000.")

AFTER = click.option("--after", metavar="PLACE", help="Go on behind a page, as it says itself.")

ID = click.argument("memory_id", metavar="ID", type=int)

IDS = click.argument("memory_ids", metavar="ID...", type=int, nargs=-1, required=True)
