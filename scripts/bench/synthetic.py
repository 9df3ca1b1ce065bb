"""Synthetic memories and questions: seeded, fast, any number of users, for measuring speed.

Memory i of user u is the same whatever else is asked for: rows come in blocks of 1,024 with random
streams of their own (seed, user, block), so a longer corpus begins with the shorter one.

Like real memories:
- 2,000 topics in 200 fields of 20 domains: topics of a field have a cosine of .55, of a domain .25.
  A user has his own order of topics and meets them by Zipf's law. A memory mixes 1 to 3 of them.
- Rows come in sessions, each about one matter, with two speakers and some 10 to 30 turns. Between
  those stand facts, preferences, tasks, learnings, lessons and notes of the same matter.
- Words and vector follow the same mixture. Words are Zipf distributed: half function words, then
  general ones and those of the domain, the field and the topic; some belong to the session. Names,
  numbers and identifiers occur now and then. A tenth of the sessions is Chinese.
- The components of vectors have a decaying spectrum and a common part, as those of models have. At
  384 dimensions two unrelated memories have a cosine of about .13 +- .08, two on a topic .4 to .8,
  two of a session .5 to .9; a memory and its nearest .78, the tenth .70 (2,760 rows; MiniLM on as
  many turns of LoCoMo: .73 and .63), a question and its best .68, its 20th .57 (.62 and .46).
- 3 % of the memories are near-duplicates: up to three words changed, the vector a little off.
- A question asks for one memory, with 3 to 7 content words: half are of that memory, half others of
  its topics. Its vector has the same mixture, a neighbouring topic and much noise: neither words
  nor vector alone find everything. One in ten is Chinese, some of them for English memories; some
  English ones are for Chinese memories.

Not like real memories: there is no grammar and no meaning, words of a topic occur independently of
each other, every user's topics are drawn from the same 2,000, and times are not in the order of
insertion (a session has an age of its own, so that a corpus can grow). So the numbers say how fast
a recall is and whether it finds what scores best, not whether it helps: locomo.py says that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from lexicon import (
    CAPITAL,
    COMMA,
    DOMAINS,
    DRAW_BITS,
    FIELDS,
    PLAIN,
    PLURAL,
    QUESTION,
    STOP,
    TOPICS,
    Ints,
    Lexicon,
    chinese,
    english,
    zipf_table,
)
from numpy.typing import NDArray

from pgmemoir.calls import NewMemory

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

BLOCK = 1024
# Rows from here on are of the same user and not among his memories: goals and capabilities.
ASIDE = 1 << 40

MIN_WORDS, MAX_WORDS = 8, 40
CHINESE_SHARE = 0.1
DUPLICATE_SHARE = 0.03
TURN_SHARE = 0.72
DAYS = 730
_SHORTEST, _LONGEST = 14, 42  # rows of a session, of which TURN_SHARE are turns

# Kinds of memories that are no turns, and how many of them there are.
KINDS = {
    "fact": 0.32,
    "learning": 0.2,
    "task": 0.18,
    "preference": 0.12,
    "lesson": 0.08,
    "general": 0.1,
}

# What a vector is made of: parts of its squared length, before it is scaled to 1. The noise varies
# from row to row: some texts are to the point, others say little of their topic.
_TOPIC, _SESSION, _COMMON, _LANGUAGE = 0.50, 0.12, 0.15, 0.03
_NOISE = (0.10, 0.60)
_ASKED_TOPIC, _ASKED_SESSION, _ASKED_NOISE = 0.45, 0.08, (0.25, 0.75)
_DUPLICATE_NOISE = 0.05
# And a topic's, which its neighbours share.
_OF_DOMAIN, _OF_FIELD, _OF_TOPIC = 0.25, 0.30, 0.45

# What a word is: function, general, domain, field, topic, session.
_CLASSES = {False: (0.43, 0.20, 0.05, 0.09, 0.17, 0.06), True: (0.36, 0.20, 0.08, 0.12, 0.18, 0.06)}
_FUNCTION, _GENERAL, _DOMAIN, _FIELD, _OWN, _PET = range(6)
# Among the content words of a question.
_ASKED_CLASSES = (_GENERAL, _DOMAIN, _FIELD, _FIELD, _OWN, _OWN, _OWN)

_OPENINGS = (
    "what did we say about the",
    "how do we handle the",
    "when was the",
    "why does the",
    "who told me about",
    "where is the",
    "did I ever mention",
    "what happened with the",
    "remind me of the",
    "which of the",
)
_OPENINGS_CHINESE = ("我们说过的", "怎么处理", "为什么", "谁提到过", "什么时候", "关于")
_LINKS = ("and the", "for the", "with", "in the", "of", "or", "from the", "to")
_TIMES = ("last month", "in March", "yesterday", "last week", "in 2025", "this year")


@dataclass(frozen=True)
class Memories:
    """Some rows of a user, column by column; ``topics`` are up to three a row, the first leads."""

    contents: list[str]
    vectors: Floats
    kinds: list[str]
    sessions: list[str | None]
    turns: list[int | None]
    speakers: list[str | None]
    importance: list[float]
    created_at: list[datetime]
    chinese: Flags
    topics: Ints
    duplicate_of: Ints

    def __len__(self) -> int:
        return len(self.contents)

    def part(self, first: int, last: int) -> Memories:
        """The rows from ``first`` to ``last``, which is not included."""
        return Memories(**{name: column[first:last] for name, column in vars(self).items()})

    def rows(self) -> Iterator[NewMemory]:
        """The rows as the client takes them; ``vector`` is a numpy row."""
        for place, content in enumerate(self.contents):
            yield {
                "content": content,
                "kind": self.kinds[place],
                "session": self.sessions[place],
                "turn": self.turns[place],
                "speaker": self.speakers[place],
                "importance": self.importance[place],
                "created_at": self.created_at[place],
                "vector": self.vectors[place],
            }


@dataclass(frozen=True)
class Question:
    """A question of a user; ``memory`` is the place of the memory it asks for."""

    user: int
    text: str
    vector: Floats
    memory: int
    chinese: bool


@dataclass(frozen=True)
class _Sessions:
    """The sessions of a block; ``of_row`` and ``place`` say where a row stands."""

    of_row: Ints
    place: Ints
    topics: Ints  # three of each
    weights: Floats  # of them, 0 for none
    directions: Floats
    chinese: Flags
    days: NDArray[np.float64]
    partners: Ints  # -1: the assistant
    pets: Ints  # draws of four words


@dataclass(frozen=True)
class _Block:
    """The first rows of a block, what their vectors are made of, and their words."""

    memories: Memories
    mixtures: Floats
    directions: Floats
    weights: Floats
    words: Ints  # -1 behind the end
    speaker: str


class Corpus:
    """Memories and questions of any number of users.

    Args:
        seed: another seed, other memories.
        dims: dimensions of the vectors.
        until: the newest memory may be this old; default: the last midnight, UTC.
    """

    def __init__(self, seed: int = 1, dims: int = 384, until: datetime | None = None) -> None:
        self.seed, self.dims = seed, dims
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        self._until = until or midnight
        # The first principal components carry most: about 100 of 384 dimensions count.
        decay = (np.arange(dims) + 8.0) ** -0.4
        self._spectrum = (decay / np.sqrt((decay**2).sum())).astype(np.float32)
        self._user_topics = zipf_table(TOPICS, 0.9, 3)

    def memories(self, user: int, start: int, stop: int) -> Memories:
        """Rows ``start`` to ``stop`` (not included) of a user."""
        parts = []
        for block in range(start // BLOCK, -(-stop // BLOCK)):
            first, last = max(start - block * BLOCK, 0), min(stop - block * BLOCK, BLOCK)
            parts.append(self._block(user, block, last).memories.part(first, last))
        return parts[0] if len(parts) == 1 else _join(parts)

    def questions(self, user: int, rows: int, start: int, stop: int) -> list[Question]:
        """Questions ``start`` to ``stop`` to a user with so many rows."""
        return [self._question(user, rows, number) for number in range(start, stop)]

    @cached_property
    def _topics(self) -> Floats:
        """The vectors of the topics."""
        domain, field, own = (
            self._directions(self._stream(1, place), size)
            for place, size in enumerate((DOMAINS, FIELDS, TOPICS))
        )
        of = np.arange(TOPICS)
        return _unit(
            _OF_DOMAIN**0.5 * domain[of * DOMAINS // TOPICS]
            + _OF_FIELD**0.5 * field[of * FIELDS // TOPICS]
            + _OF_TOPIC**0.5 * own
        )

    @cached_property
    def _common(self) -> Floats:
        """What all vectors share, and those of Chinese texts."""
        return self._directions(self._stream(2), 2)

    def _stream(self, *key: int) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence((self.seed, *key))))

    def _directions(self, rng: np.random.Generator, size: int) -> Floats:
        """Random unit vectors; the first of more are the same."""
        return _unit(rng.standard_normal((size, self.dims), np.float32) * self._spectrum)

    def _block(self, user: int, block: int, rows: int) -> _Block:
        """The first rows of a block. Everything is drawn row by row: more rows change none."""
        session = self._sessions(user, block, rows)
        drawn = self._stream(5, user, block).random((rows, 12), np.float32)
        slots = self._stream(6, user, block).integers(0, 1 << 62, (rows, MAX_WORDS))
        noises = self._directions(self._stream(7, user, block), rows)
        # A near-duplicate has topics, language, words and vector of the row before it that it
        # repeats.
        source = _sources(drawn[:, 0], drawn[:, 1])
        of = session.of_row[source]
        topics, weights = _row_topics(session, of, drawn[source])
        mixtures = self._mixtures(topics, weights)
        noises *= np.sqrt(_NOISE[0] + (_NOISE[1] - _NOISE[0]) * drawn[:, 10:11])
        vectors = self._vectors(
            mixtures, session.directions[of], noises, source, session.chinese[of]
        )
        writer = _Writer(topics, weights, session.pets[of], drawn, slots, source)
        words = np.full((rows, MAX_WORDS), -1)
        contents = np.empty(rows, object)
        for lexicon, flag in ((english(), False), (chinese(), True)):
            which = np.flatnonzero(session.chinese[of] == flag)
            if which.size:
                words[which], contents[which] = writer.write(lexicon, which)

        is_turn = drawn[:, 2] < TURN_SHARE
        before = np.concatenate(([0], np.cumsum(is_turn)[:-1]))
        turns = before - before[np.arange(rows) - session.place]
        speaker, partners = self._speakers(user), ("the assistant", *english_names())
        number = session.of_row.tolist()
        memories = Memories(
            contents=contents.tolist(),
            vectors=vectors,
            kinds=_kinds(is_turn, drawn[:, 3]),
            sessions=[
                f"{user}-{block}-{number[row]}" if turn else None
                for row, turn in enumerate(is_turn.tolist())
            ],
            turns=[
                place if turn else None
                for place, turn in zip(turns.tolist(), is_turn.tolist(), strict=True)
            ],
            speakers=[
                None if not turn else partners[partner + 1] if place % 2 else speaker
                for turn, place, partner in zip(
                    is_turn.tolist(),
                    turns.tolist(),
                    session.partners[session.of_row].tolist(),
                    strict=True,
                )
            ],
            importance=[round(value, 2) for value in (0.2 + 0.7 * drawn[:, 4]).tolist()],
            created_at=[
                self._until - timedelta(days=days, minutes=-2 * place)
                for days, place in zip(
                    (session.days[session.of_row] + 0.1).tolist(),
                    session.place.tolist(),
                    strict=True,
                )
            ],
            chinese=session.chinese[of],
            topics=np.where(weights > 0, topics, -1),
            duplicate_of=np.where(source != np.arange(rows), block * BLOCK + source, -1),
        )
        return _Block(memories, mixtures, session.directions[of], weights, words, speaker)

    def _sessions(self, user: int, block: int, rows: int) -> _Sessions:
        """The sessions of so many rows."""
        rng = self._stream(3, user, block)
        most = BLOCK // _SHORTEST + 1
        lengths = rng.integers(_SHORTEST, _LONGEST + 1, most)
        drawn = rng.random((most, 11))
        pets = rng.integers(0, 1 << DRAW_BITS, (most, 4))
        of_row = np.repeat(np.arange(most), lengths)[:rows]
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        number = int(of_row[-1]) + 1
        order = self._stream(4, user).permutation(TOPICS)
        by_zipf = order[self._user_topics[(drawn[:, :3] * (1 << DRAW_BITS)).astype(np.int64)]]
        # A second or third topic is a neighbour of the first, or another of the user's.
        size = TOPICS // FIELDS
        beside = by_zipf[:, :1] // size * size + (drawn[:, 3:5] * size).astype(np.int64)
        others = np.where(drawn[:, 5:7] < 0.5, beside, by_zipf[:, 1:])
        weights = np.array([1, 0.6, 0.35]) * (drawn[:, 7:8] > (0, 0.4, 0.75))
        names = len(english_names())
        partners = np.floor(drawn[:, 8] * 2.5 * names).astype(np.int64)
        return _Sessions(
            of_row=of_row,
            place=np.arange(rows) - starts[of_row],
            topics=np.column_stack((by_zipf[:, :1], others)),
            weights=weights.astype(np.float32),
            directions=self._directions(self._stream(8, user, block), number),
            chinese=drawn[:, 10] < CHINESE_SHARE,
            days=DAYS * drawn[:, 9] ** 2,
            partners=np.where(partners < names, partners, -1),
            pets=pets,
        )

    def _speakers(self, user: int) -> str:
        names = english_names()
        return names[int(self._stream(9, user).integers(len(names)))]

    def _mixtures(self, topics: Ints, weights: Floats) -> Floats:
        """The mixed directions of topics, a row each."""
        mixed = weights[:, [0]] * self._topics[topics[:, 0]]
        for place in (1, 2):
            some = np.flatnonzero(weights[:, place])
            mixed[some] += weights[some, place, None] * self._topics[topics[some, place]]
        return _unit(mixed)

    def _vectors(
        self, mixtures: Floats, directions: Floats, noises: Floats, source: Ints, chinese: Flags
    ) -> Floats:
        """The vectors of memories."""
        made = _TOPIC**0.5 * mixtures
        made += _SESSION**0.5 * directions
        made += noises[source]
        made = self._with_common(made, chinese)
        other = np.flatnonzero(source != np.arange(len(source)))
        made[other] = _unit(made[other] + _DUPLICATE_NOISE**0.5 * _unit(noises[other]))
        return made

    def _with_common(self, made: Floats, chinese: Flags) -> Floats:
        made += _COMMON**0.5 * self._common[0]
        made[chinese] += _LANGUAGE**0.5 * self._common[1]
        return _unit(made)

    def _question(self, user: int, rows: int, number: int) -> Question:
        """The question of this number."""
        rng = self._stream(10, user, number)
        memory = int(rng.integers(rows))
        block = self._block(user, memory // BLOCK, memory % BLOCK + 1)
        was_chinese = bool(block.memories.chinese[-1])
        asks_chinese = bool(rng.random() < (0.7 if was_chinese else CHINESE_SHARE / 3))
        size = TOPICS // FIELDS
        beside = int(block.memories.topics[-1, 0]) // size * size + int(rng.integers(size))
        mixture = _unit(block.mixtures[-1:] + rng.random() * 0.8 * self._topics[[beside]])
        made = (
            _ASKED_TOPIC**0.5 * mixture
            + (_ASKED_SESSION * rng.random()) ** 0.5 * block.directions[-1:]
            + rng.uniform(*_ASKED_NOISE) ** 0.5 * self._directions(rng, 1)
        )
        known = block.words[-1] if asks_chinese == was_chinese else np.array([], np.int64)
        return Question(
            user=user,
            text=_asked(rng, asks_chinese, known, block),
            vector=self._with_common(made, np.array([asks_chinese]))[0],
            memory=memory,
            chinese=asks_chinese,
        )


@dataclass(frozen=True)
class _Writer:
    """Writes the texts of rows: ``drawn`` and ``slots`` are their random numbers."""

    topics: Ints
    weights: Floats
    pets: Ints
    drawn: Floats
    slots: Ints
    source: Ints

    def write(self, lexicon: Lexicon, which: Ints) -> tuple[Ints, list[str]]:
        """The words of some rows (-1 behind the end) and their texts."""
        source = self.source[which]
        slots, drawn, topics = self.slots[source], self.drawn[source], self.topics[which]
        rank, rest = slots & ((1 << DRAW_BITS) - 1), slots >> DRAW_BITS
        kind_of = _class_table(lexicon is chinese())[rest & 255]
        words = _of_class(lexicon, kind_of, _chosen(topics, self.weights[which], rest >> 8), rank)
        lengths = MIN_WORDS + ((MAX_WORDS - MIN_WORDS + 1) * drawn[:, 5] ** 2).astype(np.int64)
        every = np.arange(len(which))
        pets = lexicon.topics[topics[:, :1], lexicon.topic_ranks[self.pets[which]]]
        pet = kind_of == _PET
        words[pet] = pets[np.nonzero(pet)[0], (rest[pet] >> 18) & 3]
        self._insert(lexicon, words, drawn, topics, lengths)
        self._change(lexicon, words, which, lengths)
        forms = self._forms(lexicon, words, rest >> 20)
        forms[every, lengths - 1] = words[every, lengths - 1] + lexicon.size * np.where(
            drawn[:, 8] < 0.12, QUESTION, STOP
        )
        inside = np.arange(MAX_WORDS) < lengths[:, None]
        flat = forms[inside].tolist()
        ends = np.cumsum(lengths).tolist()
        texts = [
            lexicon.text(flat[start:end]) for start, end in zip([0, *ends], ends, strict=False)
        ]
        return np.where(inside, words, -1), texts

    @staticmethod
    def _insert(lexicon: Lexicon, words: Ints, drawn: Floats, topics: Ints, lengths: Ints) -> None:
        """A name, a number or an identifier in some of the rows."""
        what, where = drawn[:, 6], (1 + drawn[:, 7] * (lengths - 2)).astype(np.int64)
        fine = (drawn[:, 6] * 1000 % 1).astype(np.float64)
        for low, high, chosen in (
            (0.0, 0.08, lexicon.names[(fine * len(lexicon.names)).astype(np.int64)]),
            (0.08, 0.17, lexicon.numbers[(fine**3 * len(lexicon.numbers)).astype(np.int64)]),
            (0.17, 0.23, lexicon.identifiers[topics[:, 0], (fine * 3).astype(np.int64)]),
        ):
            some = np.flatnonzero((what >= low) & (what < high))
            words[some, where[some]] = chosen[some]

    def _change(self, lexicon: Lexicon, words: Ints, which: Ints, lengths: Ints) -> None:
        """Other words in one to three places of the near-duplicates."""
        other = np.flatnonzero(self.source[which] != which)
        draws = self.slots[which[other]]
        first = draws[:, 0] % lengths[other]
        for place in range(3):
            some = draws[:, 3] % 3 >= place
            rows, at = other[some], ((first + place) % lengths[other])[some]
            rank = draws[some, place] >> 20 & ((1 << DRAW_BITS) - 1)
            new, old = lexicon.generals[rank], words[rows, at]
            words[rows, at] = np.where(
                new == old, lexicon.generals[0] + (new == lexicon.generals[0]), new
            )

    @staticmethod
    def _forms(lexicon: Lexicon, words: Ints, rest: Ints) -> Ints:
        """Plurals, commas, some sentences."""
        inflects = (words >= lexicon.function_words) & (words < lexicon.names[0])
        form = np.where(inflects & (rest & 7 == 0), PLURAL, PLAIN)
        mark = rest >> 3 & 31
        form[mark < 2] = COMMA
        form[mark == 2] = STOP
        form[:, 1:][form[:, :-1] == STOP] = CAPITAL
        form[:, 0] = CAPITAL
        forms: Ints = words + lexicon.size * form
        return forms


def english_names() -> list[str]:
    """The names of people."""
    lexicon = english()
    return [lexicon.strings[word] for word in lexicon.names]


def _class_table(is_chinese: bool) -> Ints:
    """Which class of word a draw of 8 bits means."""
    table: Ints = np.searchsorted(
        np.cumsum(_CLASSES[is_chinese])[:-1], (np.arange(256) + 0.5) / 256
    )
    return table


def _of_class(lexicon: Lexicon, kind_of: Ints, topic: Ints, rank: Ints) -> Ints:
    """Words of classes: of this topic or of what it belongs to, by a draw."""
    words = lexicon.functions[rank]
    for number in (_GENERAL, _DOMAIN, _FIELD, _OWN):
        mine = kind_of == number
        of, draw = topic[mine], rank[mine]
        if number == _GENERAL:
            words[mine] = lexicon.generals[draw]
        elif number == _DOMAIN:
            words[mine] = lexicon.domains[of * DOMAINS // TOPICS, lexicon.domain_ranks[draw]]
        elif number == _FIELD:
            words[mine] = lexicon.fields[of * FIELDS // TOPICS, lexicon.field_ranks[draw]]
        else:
            words[mine] = lexicon.topics[of, lexicon.topic_ranks[draw]]
    return words


def _chosen(topics: Ints, weights: Floats, draws: Ints) -> Ints:
    """For every draw of 10 bits one of the row's topics, by their weights."""
    shares = np.cumsum(weights, axis=1)
    limit = (1024 * shares[:, :2] / shares[:, 2:]).astype(np.int64)
    draw = draws & 1023
    choice = (draw >= limit[:, :1]).astype(np.int64) + (draw >= limit[:, 1:])
    return np.take_along_axis(topics, choice, axis=1)


def _sources(is_duplicate: Floats, how_far: Floats) -> Ints:
    """Every row itself, or the earlier row of the block that it repeats."""
    places = np.arange(len(is_duplicate))
    flag = is_duplicate < DUPLICATE_SHARE
    before = places - 1 - (how_far * np.minimum(places - 1, 200).clip(0)).astype(np.int64)
    before = before.clip(0)
    return np.where(flag & (places > 0) & ~flag[before], before, places)


def _row_topics(session: _Sessions, of: Ints, drawn: Floats) -> tuple[Ints, Floats]:
    """The topics of rows and their weights: a session wanders between its topics."""
    topics, weights = session.topics[of], session.weights[of].copy()
    weights[:, 1:] *= 0.4 + drawn[:, 9:10]
    swapped = np.flatnonzero((weights[:, 1] > 0) & (drawn[:, 11] < 0.25))
    topics = topics.copy()
    topics[swapped, :2] = topics[swapped, 1::-1]
    return topics, weights


def _kinds(is_turn: Flags, draw: Floats) -> list[str]:
    """The kind of every row."""
    names = np.array([*KINDS, "turn"], object)
    other = np.searchsorted(np.cumsum(list(KINDS.values()))[:-1], draw)
    found: list[str] = names[np.where(is_turn, len(KINDS), other)].tolist()
    return found


def _asked(rng: np.random.Generator, is_chinese: bool, known: Ints, block: _Block) -> str:
    """The text of a question for the last row of a block, some of whose words are known."""
    lexicon = chinese() if is_chinese else english()
    number = int(rng.integers(3, 8))
    content = rng.permutation(np.unique(known[known >= lexicon.function_words]))
    of_memory = content[: int(rng.binomial(number, 0.5))]
    missing = (1, number - len(of_memory))
    rank = rng.integers(0, 1 << DRAW_BITS, missing)
    kind_of = rng.choice(_ASKED_CLASSES, missing)
    topics = block.memories.topics[-1:].clip(0)
    topic = _chosen(topics, block.weights[-1:], rng.integers(0, 1024, missing))
    other = _of_class(lexicon, kind_of, topic, rank)[0]
    words = [lexicon.strings[word] for word in rng.permutation(np.concatenate((of_memory, other)))]
    if is_chinese:
        return f"{_OPENINGS_CHINESE[rng.integers(len(_OPENINGS_CHINESE))]}{'的'.join(words)}？"
    parts = [_OPENINGS[rng.integers(len(_OPENINGS))], words[0]]
    for word in words[1:]:
        parts += [_LINKS[rng.integers(len(_LINKS))]] * int(rng.random() < 0.5) + [word]
    parts += [f"with {block.speaker}"] * int(rng.random() < 0.15)
    parts += [_TIMES[rng.integers(len(_TIMES))]] * int(rng.random() < 0.08)
    return " ".join(parts) + "?"


def _unit(vectors: Floats) -> Floats:
    """Scaled to length 1, in place."""
    vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return vectors


def _join(parts: list[Memories]) -> Memories:
    joined: dict[str, Any] = {}
    for name, first in vars(parts[0]).items():
        columns = [getattr(part, name) for part in parts]
        joined[name] = (
            [value for column in columns for value in column]
            if isinstance(first, list)
            else np.concatenate(columns)
        )
    return Memories(**joined)
