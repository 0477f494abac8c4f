"""A sentence as words in one spelling, each with its place in the original text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mapapp.base.errors import UsageError

MAX_CHARACTERS: Final = 300
_WORD: Final = re.compile(
    r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\w.])[-−]\d+(?:\.\d+)?|\d+(?:\.\d+)?|[^\W\d_]+|[$+,;:?!()/&→-]"
)
_NAME_WORD: Final = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_JOINED: Final = ("-", "/", ":")
_SPELLED: Final = {"&": "and", "+": "plus", ";": ",", "(": ",", ")": ",", "−": "-", "→": "to"}
_DROPPED: Final = ("?", "!")


@dataclass(frozen=True, slots=True)
class Word:
    """One word in lower case without accents, and where it is in the sentence: `text[first:last]`."""

    text: str
    first: int
    last: int


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence.

    Attributes
    ----------
    text : str
        As it was typed.
    words : tuple of Word
    """

    text: str
    words: tuple[Word, ...]

    @cached_property
    def joined(self) -> str:
        """All words, separated by single spaces."""
        return " ".join(word.text for word in self.words)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Position in `joined` where each word starts."""
        positions, position = [], 0
        for word in self.words:
            positions.append(position)
            position += len(word.text) + 1
        return tuple(positions)

    @cached_property
    def codes(self) -> frozenset[int]:
        """Positions of the words that are written like the code of a state: `OR`, but not in a text in capitals."""
        if self.text.isupper():
            return frozenset()
        written = (self.text[word.first : word.last] for word in self.words)
        return frozenset(at for at, word in enumerate(written) if len(word) == 2 and word.isupper())

    def said(self, first: int, last: int) -> str:
        """Return the original text of words `first` to `last`, which is not included."""
        return self.text[self.words[first].first : self.words[last - 1].last]


def sentence_of(text: str) -> Sentence:
    """Split a sentence into words.

    Possessives, hyphens and accents do not matter: `Newport's low-wage workers` has the same words as
    `Newport low wage workers`. Numbers lose their thousands separators; a minus sign stays with its number.

    Raises
    ------
    UsageError
        If the sentence is empty or longer than `MAX_CHARACTERS`.
    """
    clean = "".join(character if character.isprintable() else " " for character in text)
    if not clean.strip():
        raise UsageError('the sentence is empty; ask, for example, "Where do workers of Newport live?"')
    if len(clean) > MAX_CHARACTERS:
        raise UsageError(
            f"the sentence has {len(clean):,} characters; at most {MAX_CHARACTERS} are allowed; make it shorter"
        )
    plain = _possessives_blank(_fold_text(clean.replace("->", " →")))
    words = []
    for match in _WORD.finditer(plain):
        word = match[0].replace("−", "-")
        if len(word) > 1:
            word = word.replace(",", "")  # thousands
        if word in _JOINED:
            # "30-54" is a range; in "town-to-town" the hyphen only joins.
            if not _between_digits(plain, match.start(), match.end()):
                continue
            word = "to"
        if word not in _DROPPED:
            words.append(Word(_SPELLED.get(word, word), match.start(), match.end()))
    if not words:
        raise UsageError(f"the sentence {clean.strip()[:40]!r} has no words; ask in words")
    return Sentence(clean, tuple(words))


def folded_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in the spelling of a sentence's words, without punctuation."""
    plain = _possessives_blank(_fold_text(name.replace("&", " and ")))
    return tuple(_NAME_WORD.findall(plain))


def _fold_text(text: str) -> str:
    """Return a text in lower case without accents, of the same length, so that positions stay valid."""
    if text.isascii():
        return text.replace("`", "'").lower()
    return "".join(_fold_character(character) for character in text)


def _fold_character(character: str) -> str:
    if character in "’‘´`":
        return "'"
    if character in "–—":
        return "-"
    base = unicodedata.normalize("NFKD", character)[0].lower()
    return base if len(base) == 1 else character


def _possessives_blank(text: str) -> str:
    """Replace possessives and contractions (`Newport's`, `I'd`) by spaces, and split names such as O'Brien."""
    if "'" not in text:
        return text
    text = re.sub(r"(?<=\w)'(?:s|d|m|re|ve|ll)\b", lambda match: " " * len(match[0]), text)
    return re.sub(r"(?<=s)'(?=\s|$)", " ", text).replace("'", " ")


def _between_digits(text: str, first: int, last: int) -> bool:
    return text[:first].rstrip()[-1:].isdigit() and text[last:].lstrip(" $")[:1].isdigit()
