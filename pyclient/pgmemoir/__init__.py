"""pgmemoir: the long-term memory of an agent, in PostgreSQL.

>>> from pgmemoir import Memoir
>>> with Memoir(user="ada") as memory:
...     memory.remember("The staging database runs PostgreSQL 16.", kind="fact")
...     print(memory.context("which database is staging on?"))
"""

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
    BadText,
    BadTimestamp,
    BudgetOutOfRange,
    DimensionMismatch,
    MemoirError,
    MissingUser,
    ModelMismatch,
    NotFound,
    NotInstalled,
    OutOfRange,
    UnknownKind,
    UnknownMode,
    UnusableVector,
)
from .evaluation import Evaluation, GoldQuestion, Replayed

__version__ = "0.1.0"

__all__ = [
    "AsyncMemoir",
    "BadEvent",
    "BadText",
    "BadTimestamp",
    "BudgetOutOfRange",
    "CacheInfo",
    "Detail",
    "DimensionMismatch",
    "Embedder",
    "EmbedderUnavailable",
    "Evaluation",
    "Explained",
    "Found",
    "GoldQuestion",
    "Maintained",
    "Memoir",
    "MemoirError",
    "MissingUser",
    "ModelMismatch",
    "NewMemory",
    "NotFound",
    "NotInstalled",
    "OpenAIEmbedder",
    "OutOfRange",
    "Recall",
    "Remembered",
    "Replayed",
    "UnknownKind",
    "UnknownMode",
    "UnusableVector",
    "WordLlamaEmbedder",
    "default_embedder",
]
