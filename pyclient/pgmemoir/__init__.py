"""pgmemoir: the long-term memory of an agent, in PostgreSQL.

>>> from pgmemoir import Memoir
>>> with Memoir(user="ada") as memory:
...     memory.remember("The staging database runs PostgreSQL 16.", kind="fact")
...     print(memory.context("which database is staging on?"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Before any module of ours: of threads that read different ones, two could wait for each other in
# the circle of psycopg's modules, and one of them then fails.
import psycopg  # noqa: F401

if TYPE_CHECKING:
    from .cache import CacheInfo
    from .calls import Detail, Explained, Found, Maintained, NewMemory, Recall, Remembered
    from .client import AsyncMemoir, Memoir
    from .embedders import (
        Embedder,
        EmbedderUnavailable,
        OpenAIEmbedder,
        WordLlamaEmbedder,
        default_embedder,
    )
    from .errors import (
        BadEvent,
        BadSource,
        BadText,
        BadTimestamp,
        BudgetOutOfRange,
        DimensionMismatch,
        MemoirError,
        MissingUser,
        ModelMismatch,
        NotFound,
        NotInstalled,
        NotPossible,
        OutOfRange,
        SchemaMismatch,
        UnknownKind,
        UnknownMode,
        UnusableVector,
    )
    from .evaluation import Evaluation, GoldQuestion, Replayed
    from .memories import (
        Applied,
        Changed,
        Changes,
        Deleted,
        Entity,
        Filters,
        Listed,
        Related,
        Revision,
        Undone,
    )
    from .sessions import ListedSession, Message, Session, SessionEnd
    from .sources import Columns, Filled, Source

__version__ = "0.1.0"

__all__ = [
    "Applied",
    "AsyncMemoir",
    "BadEvent",
    "BadSource",
    "BadText",
    "BadTimestamp",
    "BudgetOutOfRange",
    "CacheInfo",
    "Changed",
    "Changes",
    "Columns",
    "Deleted",
    "Detail",
    "DimensionMismatch",
    "Embedder",
    "EmbedderUnavailable",
    "Entity",
    "Evaluation",
    "Explained",
    "Filled",
    "Filters",
    "Found",
    "GoldQuestion",
    "Listed",
    "ListedSession",
    "Maintained",
    "Memoir",
    "MemoirError",
    "Message",
    "MissingUser",
    "ModelMismatch",
    "NewMemory",
    "NotFound",
    "NotInstalled",
    "NotPossible",
    "OpenAIEmbedder",
    "OutOfRange",
    "Recall",
    "Related",
    "Remembered",
    "Replayed",
    "Revision",
    "SchemaMismatch",
    "Session",
    "SessionEnd",
    "Source",
    "Undone",
    "UnknownKind",
    "UnknownMode",
    "UnusableVector",
    "WordLlamaEmbedder",
    "default_embedder",
]

# The client reads most of the others.
_MODULES = (
    "client",
    "calls",
    "cache",
    "embedders",
    "errors",
    "evaluation",
    "memories",
    "sessions",
    "sources",
)

if not TYPE_CHECKING:  # a type checker would take any name for one of the package

    def __getattr__(name: str) -> Any:
        """A public name, or one of their modules, is read when it is asked for: few commands need
        them all.
        """
        if name in _MODULES:
            return import_module(f".{name}", __name__)
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        modules = (vars(import_module(f".{module}", __name__)) for module in _MODULES)
        globals()[name] = found = next(names[name] for names in modules if name in names)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
