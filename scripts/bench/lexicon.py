"""The words of the synthetic memories: an English and a Chinese vocabulary, the same at every call.

A vocabulary is one list of strings. First come function words, then general ones, then those of
each domain, field and topic, then names, numbers and identifiers. English words are made of
syllables and end in letters that the English stemmer leaves alone: two words are two terms, and a
plural is the term of its word. Chinese words are pairs of common characters (GB 2312, level 1).

Every word is there in several forms (with a comma, as a plural, ...), so that a text is a list of
numbers until its strings are joined.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

DOMAINS = 20
FIELDS = 200
TOPICS = 2000

# Forms of a word, as multiples of the size of the vocabulary.
PLAIN, CAPITAL, COMMA, STOP, QUESTION, PLURAL = range(6)

# A draw of 16 bits finds a word in a table of this many entries.
DRAW_BITS = 16


def _list(text: str) -> list[str]:
    return text.split()


_FUNCTION = _list(
    """the to and I a of is it that in you for we was on not with this be have but at are as
so if do they or an from there what by just about when all can had did were would will been how
then he she which could some me my your our their his her its them us no yes up out too very here
only more other than now after before because into over again where who why has does should being
these those most such own same both each few until while during above below down off once further
am him hers ours yours itself myself themselves"""
)
_COMMON = _list(
    """work time people team really know get think project need call week month day thing way
problem change start help look plan meeting use try next new good right home question answer idea
file code test data page system email message phone morning evening weekend family friend house
school city trip price money order customer report number name list place part point side line
build deploy server database error update version release review branch fix check run setup budget
deadline contract invoice doctor appointment garden kitchen dinner book music movie game running
photo birthday holiday ticket train flight hotel car bike weather summer winter spring"""
)
_NAMES = _list(
    """Alice Amir Anna Ben Carla Caroline Chen Clara Daniel David Diego Elena Emma Erik Fatima
Felix Grace Hannah Hiro Ibrahim Ines Ivan Jack Jonas Julia Kai Karim Laura Leon Lena Li Lukas Maria
Marta Maya Melanie Mia Mohamed Nadia Nina Noah Nora Olga Oscar Pablo Paula Peter Priya Rafael Rosa
Samuel Sara Sofia Stefan Tariq Theo Tom Vera Viktor Wei Yuki Zoe"""
)
_CHINESE_FUNCTION = _list(
    "的 了 在 是 我 有 和 就 不 也 我们 你 他 这 那 都 要 会 对 把 说 很 到 还 与"
)
_CHINESE_NAMES = _list("小王 李明 张伟 王芳 陈静 刘洋 赵敏 周杰 吴磊 郑爽 孙丽 林涛")

_ONSETS = _list(
    """b bl br c ch cl cr d dr f fl fr g gl gr h j k kl l m n p pl pr qu r s sc sh sk sl sm sn
sp st str sw t th tr tw v w z"""
)
_VOWELS = _list("a e i o u ai ea oo ou")
_MIDDLES = _list("b ck d f g l ld lm lt m mb n nd nt p pt r rd rm rn rt s st t v x")
_LAST_VOWELS = _list("a o u")
_ENDS = _list("b ck d f g k lk lm lp m mp nd nk p pt rb rd rf rg rk rm rp rt sh sk sp x")
_PARTS = _list(
    """get set load save parse build user order cache queue retry limit index token batch page
sync job event query total state config worker client stream"""
)


@dataclass(frozen=True)
class Lexicon:
    """A vocabulary.

    Attributes:
        strings: every word in every form.
        size: the number of words: form f of word w is ``strings[f * size + w]``.
        joiner: what stands between words.
        functions, generals: tables that turn a draw of `DRAW_BITS` into a word.
        domains, fields, topics: the words of each of them, a row each, and ``ranks`` the tables
            that turn a draw into a column of that row.
        names, numbers, identifiers: words; of identifiers a row a topic.
    """

    strings: tuple[str, ...]
    size: int
    joiner: str
    functions: Ints
    generals: Ints
    domains: Ints
    fields: Ints
    topics: Ints
    domain_ranks: Ints
    field_ranks: Ints
    topic_ranks: Ints
    names: Ints
    numbers: Ints
    identifiers: Ints

    @property
    def function_words(self) -> int:
        """Words below this number are function words."""
        return int(self.functions.max()) + 1

    def text(self, forms: Sequence[int]) -> str:
        """Words in their forms as a text."""
        return self.joiner.join(map(self.strings.__getitem__, forms))


def zipf_table(size: int, exponent: float, shift: float) -> Ints:
    """Zipf's law, (rank + shift) ^ -exponent, as a table from a draw to a rank from 0."""
    weight = (np.arange(size) + 1 + shift) ** -exponent
    draws = (np.arange(1 << DRAW_BITS) + 0.5) / (1 << DRAW_BITS)
    return np.searchsorted(np.cumsum(weight) / weight.sum(), draws).clip(0, size - 1)


@cache
def english() -> Lexicon:
    """About 57,000 English-like words, numbers and identifiers."""
    rng = np.random.default_rng(20260701)
    sizes = (_GENERAL, DOMAINS * _A_DOMAIN, FIELDS * _A_FIELD, TOPICS * _A_TOPIC)
    made = _english_words(rng)
    generals = [*_COMMON, *(next(made) for _ in range(_GENERAL - len(_COMMON)))]
    words = [*_FUNCTION, *generals, *(next(made) for _ in range(sum(sizes[1:])))]
    identifiers = [_identifier(rng) for _ in range(TOPICS * _IDENTIFIERS)]
    return _assemble(words, len(_FUNCTION), sizes, _NAMES, identifiers, _english_forms, " ")


@cache
def chinese() -> Lexicon:
    """About 24,000 Chinese words, with the numbers and identifiers of the English vocabulary."""
    rng = np.random.default_rng(20260702)
    sizes = (300, DOMAINS * 20, FIELDS * 10, TOPICS * 10)
    function = set("".join(_CHINESE_FUNCTION))
    level_1 = [
        bytes((row, cell)).decode("gb2312")
        for row in range(0xB0, 0xD7)
        for cell in range(0xA1, 0xFA if row == 0xD6 else 0xFF)
    ]
    characters = [each for each in rng.permutation(level_1)[:1500] if each not in function]
    frequent = zipf_table(len(characters), 0.6, 20)
    made: dict[str, None] = {}
    while len(made) < sum(sizes):
        first, second = frequent[rng.integers(0, 1 << DRAW_BITS, 2)]
        made[str(characters[first]) + str(characters[second])] = None
    other = english()
    identifiers = [other.strings[word] for word in other.identifiers.ravel()]
    words = [*_CHINESE_FUNCTION, *made]
    return _assemble(
        words, len(_CHINESE_FUNCTION), sizes, _CHINESE_NAMES, identifiers, _chinese_forms, ""
    )


_GENERAL, _A_DOMAIN, _A_FIELD, _A_TOPIC, _IDENTIFIERS, _NUMBERS = 3000, 50, 25, 20, 3, 5000


def _english_words(rng: np.random.Generator) -> Iterator[str]:
    """Words of two syllables, some of one or three, each once."""
    seen = {*_FUNCTION, *_COMMON, *(name.lower() for name in _NAMES), *_PARTS}

    def pick(parts: list[str]) -> str:
        return parts[rng.integers(len(parts))]

    while True:
        syllables = bisect((0.06, 0.8), rng.random())
        inner = "".join(pick(_VOWELS) + pick(_MIDDLES) for _ in range(syllables))
        word = pick(_ONSETS) + inner + pick(_LAST_VOWELS) + pick(_ENDS)
        if len(word) > 2 and word not in seen:
            seen.add(word)
            yield word


def _identifier(rng: np.random.Generator) -> str:
    """A name from code, a file, a version, an error code or a ticket."""
    a, b, c = (_PARTS[i] for i in rng.integers(len(_PARTS), size=3))
    n = int(rng.integers(100, 10000))
    forms = (
        f"{a}_{b}_{c}",
        f"{a}{b.title()}{c.title()}{n % 10}",
        f"{a}-{b}-{n}",
        f"src/{a}/{b}_{n % 100}.py",
        f"ERR-{n}",
        f"v{n % 9}.{n % 23}.{n % 7}",
    )
    return forms[rng.integers(len(forms))]


def _english_forms(words: list[str]) -> list[str]:
    return [
        *words,
        *(word[0].upper() + word[1:] for word in words),
        *(f"{word}," for word in words),
        *(f"{word}." for word in words),
        *(f"{word}?" for word in words),
        *(word if word[-1] in "xhs" else f"{word}s" for word in words),
    ]


def _chinese_forms(words: list[str]) -> list[str]:
    marked = ([f"{word}{mark}" for word in words] for mark in "，。？")
    return [*words, *words, *(word for form in marked for word in form), *words]


def _assemble(
    words: list[str],
    functions: int,
    sizes: Sequence[int],
    names: list[str],
    identifiers: list[str],
    forms: Callable[[list[str]], list[str]],
    joiner: str,
) -> Lexicon:
    """Lay the words out: functions, then as many as ``sizes`` says, then names and the rest."""
    numbers = [str(number) for number in range(1, _NUMBERS + 1)]
    whole = [*words, *names, *numbers, *identifiers]
    starts = np.cumsum([functions, *sizes, len(names), len(numbers)]).tolist()
    general, domain, field, topic, name, number, identifier = starts

    def rows(start: int, stop: int, count: int) -> Ints:
        return np.arange(start, stop).reshape(count, -1)

    domains, fields = rows(domain, field, DOMAINS), rows(field, topic, FIELDS)
    topics = rows(topic, name, TOPICS)
    return Lexicon(
        strings=tuple(forms(whole)),
        size=len(whole),
        joiner=joiner,
        functions=zipf_table(functions, 0.9, 2),
        generals=general + zipf_table(domain - general, 1.0, 2),
        domains=domains,
        fields=fields,
        topics=topics,
        domain_ranks=zipf_table(domains.shape[1], 0.8, 1),
        field_ranks=zipf_table(fields.shape[1], 0.8, 1),
        topic_ranks=zipf_table(topics.shape[1], 0.8, 1),
        names=np.arange(name, number),
        numbers=np.arange(number, identifier),
        identifiers=rows(identifier, len(whole), TOPICS),
    )
