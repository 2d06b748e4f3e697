"""Numbers, names and reasons as reports write them."""

from __future__ import annotations

import pytest

from tare.report import text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("plain name", "plain name"),
        ("a\x1b[31mred\x07", "a\\x1b[31mred\\x07"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("line\nend", "line\\x0aend"),
        ("\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05dc\u05d5\u05dd"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\ud800", "\\ud800"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_controls_and_direction_marks_are_shown_and_letters_are_kept(given, expected):
    """What could move the cursor or the reading direction is spelt out; text of any script stays."""
    assert expected == text.visible(given)


def test_long_text_is_cut_to_the_limit():
    """A name of a million characters takes no more than the limit."""
    assert 80 == len(text.visible("x" * 1_000_000))


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((61.234, 59.1, 63.2), "61 \xb12"),
        ((0.41, 0.40, 0.42), "0.41 \xb10.01"),
        ((1234.0, 1230.0, 1238.0), "1,234 \xb14"),
        ((5.0, 5.0, 5.0), "5.00"),
        ((5.0, None, 6.0), "5.00"),
        ((5.0, float("nan"), 6.0), "5.00"),
        ((7.0, 1.0, 13.0), "7.0 \xb16.0"),
    ],
)
def test_a_value_has_no_more_digits_than_its_interval_supports(args, expected):
    """The half width rounds the value, which keeps two to four significant digits."""
    assert expected == text.spread(*args)


@pytest.mark.parametrize("value", [0.1, 0.9994, 0.9996, 9.9996, 999.4, 999.6, 12_345.0, 1e15])
def test_durations_never_round_into_the_next_unit_wrongly(value):
    """1,000 of a unit is 1 of the next."""
    for scale in (1.0, 1e3, 1e6):
        shown = text.duration(value * scale)
        assert not shown.startswith("1,000 ") or shown.endswith(" s")


def test_sizes_are_decimal_and_memory_binary():
    """Encoded bytes and bandwidths share decimal units; memory has binary ones."""
    assert ("1.00 MB", "1.00 MiB") == (text.size(1e6), text.memory(1 << 20))
