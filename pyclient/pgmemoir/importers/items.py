"""What a file of another program holds, as memories."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..calls import NewMemory

LARGEST_TEXT = 10 * 1024 * 1024


@dataclass
class Items:
    """Memories of a file.

    Attributes:
        memories: what is to be remembered, in order.
        lines: where each begins.
        users: whose each is, as the file says; None where it says nothing.
        skipped: how many entries have no text.
        notes: what else there is to say, for people.
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
