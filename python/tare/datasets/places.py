"""Names for the places of the `synthpop` table: made up, always the same."""

from __future__ import annotations

import functools

__all__ = ["PLACES", "place_names", "place_weights"]

PLACES = 2600

_FIRST = [
    "Alder",
    "Ames",
    "Barrow",
    "Beck",
    "Birch",
    "Brook",
    "Cald",
    "Carr",
    "Chal",
    "Cliff",
    "Cran",
    "Dray",
    "Dun",
    "Ells",
    "Farn",
    "Fen",
    "Gar",
    "Gold",
    "Hart",
    "Hazel",
    "Hol",
    "Inger",
    "Kings",
    "Kirk",
    "Lam",
    "Lang",
    "Marl",
    "Mere",
    "Milk",
    "Nether",
    "Norring",
    "Oaken",
    "Over",
    "Pem",
    "Quarr",
    "Rams",
    "Raven",
    "Rush",
    "Sand",
    "Shep",
    "Sil",
    "Stan",
    "Swin",
    "Tad",
    "Thorn",
    "Ul",
    "Wake",
    "Wen",
    "Whit",
    "Wren",
    "Yar",
    "Yew",
]
_LINK = ("", "", "", "er", "ing", "el", "ow", "ens")
_LAST = [
    "bourne",
    "bridge",
    "bury",
    "by",
    "combe",
    "croft",
    "dale",
    "den",
    "don",
    "field",
    "ford",
    "ham",
    "head",
    "hurst",
    "ley",
    "low",
    "mere",
    "minster",
    "mouth",
    "port",
    "sea",
    "shaw",
    "side",
    "stead",
    "stoke",
    "stow",
    "thorpe",
    "ton",
    "wall",
    "well",
    "wick",
    "wood",
    "worth",
]


@functools.cache
def place_names() -> tuple[str, ...]:
    """The names, most populous first; each occurs once.

    >>> names = place_names()
    >>> len(names) == len(set(names)) == PLACES
    True
    """
    every = dict.fromkeys(
        first + link + last
        for last in _LAST
        for link in _LINK
        for first in _FIRST
        if last[0] != first[-1].lower()
    )
    names = list(every)
    # A stride coprime to the count visits each name once and mixes their parts; large places have short names.
    stride = 7919
    mixed = [names[(k * stride) % len(names)] for k in range(PLACES)]
    return tuple(sorted(mixed, key=len))


@functools.cache
def place_weights() -> tuple[int, ...]:
    """People per place, in no unit: one large city, some towns, many villages.

    >>> weights = place_weights()
    >>> round(100 * weights[0] / sum(weights))
    9
    """
    return (32_000, *(60_000 // (rank + 12) for rank in range(1, PLACES)))
