"""The content of a file of another program, as memories."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..calls import NewMemory

LARGEST_TEXT = 10 * 1024 * 1024


@dataclass
class Items:
    """Memories of a file.

    Attributes:
        memories: those to be remembered, in order.
        lines: the line where each begins.
        users: the user of each according to the file; None if it names none.
        skipped: how many entries have no text.
        notes: other remarks, for people.
    """

    memories: list[NewMemory] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    users: list[str | None] = field(default_factory=list)
    skipped: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, memory: NewMemory, line: int, user: str | None = None) -> None:
        """One more memory."""
        self.memories.append(memory)
        self.lines.append(line)
        self.users.append(user)
