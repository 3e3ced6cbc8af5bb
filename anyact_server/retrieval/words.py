"""Names and texts taken apart into words, the same way for actions and for queries."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
"""Pieces of one ASCII run of letters and digits: `getUserByID2` gives get, User, By, ID, 2."""
RUN = re.compile(r"[^\W_]+")
"""A run of letters and digits; underscores and punctuation part runs."""
WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
"""Scripts written without blanks between words (kana, CJK ideographs, Hangul)."""
CLAUSE = re.compile(r"(?<=[.?!;])\s+|\n+|, (?:and|then|also) ")
"""Where one sentence of a request ends and the next begins."""
MOST_CLAUSES = 3
SHORTEST_CLAUSE = 30
"""Characters of a clause that is encoded by itself."""
_STOP_WORDS = (
    "a about all also am an and any are as at be been but by can could did do does for from had has have help her him "
    "his how i if in into is it its just like ll me my need of on or our please re s so some t than that the their "
    "them then there these they this those to us ve want was we were what when where which while who will with would "
    "you your"
)
STOP = frozenset(_STOP_WORDS.split())
"""English words that say nothing about which action is meant."""
_DOUBLED = frozenset("bdfgmnprt")
_VOWELS = frozenset("aeiouy")


def _undouble(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] in _DOUBLED else word


def _has_vowel(word: str) -> bool:
    return any(letter in _VOWELS for letter in word)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The word without its English inflection (plural, -ing, -ed) and without a final e or y's variation.

    Lighter than Porter on purpose: names of actions are short, and a stem that joins unlike words costs more than one
    that leaves two forms apart.
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix in ("ing", "ed"):
        base = word[: -len(suffix)]
        if word.endswith(suffix) and len(base) >= 3 and _has_vowel(base):
            word = _undouble(base)
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


def pieces(run: str) -> list[str]:
    """A run of letters and digits split at changes of case and between letters and digits, in lower case."""
    return [piece.lower() for piece in CAMEL.findall(run)] if run.isascii() else [run.lower()]


def split_name(name: str) -> str:
    """A name as words: `getUserByID`, `get_user-by.id` and `get user by id` all become `get user by id`."""
    return " ".join(piece for run in RUN.findall(name) for piece in pieces(run))


def compact(text: str) -> str:
    """Letters and digits alone, in lower case: equal for every spelling of one name."""
    return "".join(RUN.findall(text)).lower()


@lru_cache(maxsize=131072)
def _terms(run: str) -> tuple[str, ...]:
    if WIDE.search(run):
        return tuple(run[at : at + 2] for at in range(len(run) - 1)) or (run,)
    parts = pieces(run)
    terms = [stem(part) for part in parts if part not in STOP]
    whole = run.lower()
    if len(parts) > 1 and not whole.isdigit():
        terms.append(whole)
    return tuple(terms)


def terms(text: str) -> list[str]:
    """The index terms of a text, in order, repeats kept: stems without stop words; a run of mixed case also whole."""
    return [term for run in RUN.findall(text) for term in _terms(run)]


def query_terms(text: str) -> list[str]:
    """The terms of a query: as `terms`, and neighbouring words also joined, for names that are written as one word."""
    runs = RUN.findall(text)
    found = [term for run in runs for term in _terms(run)]
    joined = [
        (first + second).lower()
        for first, second in pairwise(runs)
        if first.isalpha() and second.isalnum() and len(first) + len(second) <= 24
    ]
    return found + joined


def clauses(text: str) -> list[str]:
    """A request in at most `MOST_CLAUSES` parts that each may be a need of its own.

    Sentences, the shortest neighbours joined until the parts are few and long enough. Encoding three parts costs about
    as much as encoding the whole, and finds 2 points more of R@10 where requests hold several needs.
    """
    parts = [part.strip() for part in CLAUSE.split(text) if part.strip()] or [text]
    while len(parts) > 1 and (len(parts) > MOST_CLAUSES or min(map(len, parts)) < SHORTEST_CLAUSE):
        at = min(range(len(parts) - 1), key=lambda i: len(parts[i]) + len(parts[i + 1]))
        parts[at : at + 2] = [f"{parts[at]} {parts[at + 1]}"]
    return parts
