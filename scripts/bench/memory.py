#!/usr/bin/env python3
"""How many bytes a memory takes, by table and index, after a load and with what belongs to it.

See the README beside this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from common import SEED, Figures, Floor, Where, benchmark, table, verdict
from filled import Amount, about, name_of, sized, synthetic, told

# Bytes a memory may take, by dimensions.
BARS = {384: 5000, 1536: 12000}

# Tables with user data, with TOAST and maps, and their indexes one by one.
_SIZES = b"""SELECT t.relname, i.relname, coalesce(a.amname = 'hnsw', false),
       CASE WHEN i.oid IS NULL THEN pg_table_size(t.oid) ELSE pg_relation_size(i.oid) END
FROM pg_class AS t
LEFT JOIN LATERAL (
    SELECT NULL::oid AS oid, NULL::name AS relname, NULL::oid AS relam
    UNION ALL
    SELECT c.oid, c.relname, c.relam
    FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indexrelid WHERE x.indrelid = t.oid
) AS i ON true
LEFT JOIN pg_am AS a ON a.oid = i.relam
WHERE t.relkind = 'r'
  AND (t.relname = 'memoir_floor' OR t.relnamespace = 'memoir'::regnamespace
       AND EXISTS (SELECT FROM pg_attribute AS u
                   WHERE u.attrelid = t.oid AND u.attname = 'user_id'))
ORDER BY t.relname, i.relname NULLS FIRST"""
_FLOOR = "memoir_floor"
_LEAST = 12


def measured(conn: psycopg.Connection[Any], memories: int) -> dict[str, Any]:
    """Bytes a memory: of every table and index, their sums, and of the bare table.

    What takes less than `_LEAST` is summed up: an index without a row has a page.
    """
    tables: dict[str, float] = {}
    exact = approximate = floor = floor_hnsw = small = 0.0
    for name, index, is_approximate, size in conn.execute(_SIZES):
        each = size / memories
        if name == _FLOOR:
            floor += 0 if is_approximate else each
            floor_hnsw += each
            continue
        exact += 0 if is_approximate else each
        approximate += each if is_approximate else 0
        if each < _LEAST:
            small += each
        else:
            tables[f"{name}: {index}" if index else name] = each
    return {
        "tables": {**tables, "others": small},
        "bytes_per_memory": exact,
        "bytes_per_memory_with_approximate": exact + approximate,
        "floor_bytes": floor,
        "floor_bytes_with_hnsw": floor_hnsw,
    }


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    exact, whole = (
        result[name] for name in ("bytes_per_memory", "bytes_per_memory_with_approximate")
    )
    sums = {
        "all but the approximate index": exact,
        "all": whole,
        "a bare table with btree (user_id)": result["floor_bytes"],
    }
    if result["floor_bytes_with_hnsw"] > result["floor_bytes"]:
        sums["and an HNSW index"] = result["floor_bytes_with_hnsw"]
    sizes = {**result["tables"], **sums}
    lines = [
        told(result),
        "",
        table(("bytes a memory", ""), *((name, f"{size:.0f}") for name, size in sizes.items())),
    ]
    if whole == exact:
        lines.append("no memory of these is in an approximate index")
    if result["dims"] in BARS:
        lines.append(verdict("the bytes", whole, BARS[result["dims"]]))
    return "\n".join(lines)


@benchmark(report)
@sized(20_000)
@SEED
def main(where: Where, users: int, rows: int, dims: int, seed: int) -> Figures:
    """Count the bytes of synthetic memories, by table and index. Takes about a minute."""
    amount = Amount(users=users, rows=rows, dims=dims, seed=seed)
    with synthetic(where, amount) as filled:
        filled.fill(amount)
        filled.tidy()
        if users == 1:
            Floor(filled.conn).build_approximate(name_of(0))
        return {**about(filled, amount), **measured(filled.conn, amount.total)}


if __name__ == "__main__":
    main()
