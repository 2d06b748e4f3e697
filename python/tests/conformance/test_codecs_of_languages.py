"""What is known of languages without asking them, against what the workers that are installed say."""

from __future__ import annotations

import pytest
from support.capabilities import need_language

from tare.measure.worker_client.languages import LANGUAGES, languages_begun


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_is_asked_however_its_ids_are_begun(language: str) -> None:
    """Formats of Python's name the languages that have them; those of a language alone begin otherwise."""
    here = need_language(language)
    begun = {id[:end] for id in (*here.codecs, *here.missing) for end in range(len(id) + 1)}
    assert [stem for stem in sorted(begun) if language not in languages_begun(f"{stem}*")] == []
