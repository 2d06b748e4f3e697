"""Which encoding a text that is not UTF-8 may be in: those in which its letters stand as people write them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator

__all__ = ["advice", "likely", "without_mark"]

_REGION_BYTES, _LOOKED_AT_BYTES = 4 << 10, 1 << 20
_NEARLY, _SENSELESS = 0.04, 0.1
# Systems of the 1980s have nearly all of their letters where latin1 has none: without these bytes it is none of theirs.
_LETTERS = {"mac_roman": re.compile(rb"[\x80-\x9f]"), "cp850": re.compile(rb"[\x80-\xa5]")}
_MIXED = 0.2  # of the lines with other than ASCII: fewer are UTF-8 by chance, as two bytes of Chinese may be
# The characters that texts in Chinese, Korean and Japanese have most of: their encodings use the same bytes.
_FREQUENT = frozenset(
    "\u7684\u4e00\u662f\u4e0d\u4e86\u5728\u6709\u4eba\u8fd9\u4e2d\u5927\u4e3a\u4e0a\u4e2a\u56fd\u6211"
    "\u4ee5\u8981\u4ed6\u65f6\u6765\u7528\u4eec\u751f\u5230\u4f5c\u5730\u51fa\u5c31\u5206\u5bf9\u6210"
    "\u4f1a\u53ef\u4e3b\u53d1\u5e74\u52a8\u540c\u5de5\u4e5f\u80fd\u4e0b\u8fc7\u5b50\u8bf4\u4ea7\u79cd"
    "\u9762\u65b9\u540e\u591a\u5b9a\u884c\u5b66\u6cd5\u6240\u6c11\u5f97\u4e09\u7b49\u90e8\u5bb6\u9ad8"
    "\u5c0f\u7269\u52a0\u5317\u4eac\u6d77\u5e02\u540d\u5e7f\u5dde\u5929\u6c5f\u5357\u897f\u4e1c\u65b0"
    "\u738b\u674e\u5f20\u516c\u53f8\u9019\u70ba\u500b\u570b\u6642\u4f86\u5011\u5c0d\u6703\u767c\u52d5"
    "\u904e\u8aaa\u7522\u7a2e\u5f8c\u5b78\u53f0\u7063\u6771\u5f35"
    "\uc774\ub2e4\ub294\uc758\uc5d0\uc744\ud558\uace0\uac00\uc9c0\ub85c\ud55c\uc0ac\ub300\uc2dc\uc778"
    "\uae30\uc790\uc5b4\ub9ac\uc544\ub098\ub3c4\uc11c\ub97c\uc740\uadf8\uc77c\uc815\uc2a4\uc218\ud574"
    "\ubd80\uad6c\uc804\uad6d\ubcf4\uc6d0\uc7a5\uc81c\uc8fc\uc131\uc0c1\ub3d9\uc5ec\uc548\uacbd\uc2e0"
    "\uacf5\ud654\uacfc\ub9cc\ud559\uc624\uae40\ubc15\uc6b8\uc0b0\uba85\ub984\ub4e4\ub77c\uba74\uac83"
    "\u65e5\u4e00\u56fd\u4eba\u5e74\u5927\u5341\u4e8c\u672c\u4e2d\u9577\u51fa\u4e09\u6642\u884c\u898b"
    "\u6708\u5206\u5f8c\u524d\u751f\u4e94\u9593\u4e0a\u6771\u56db\u4eca\u91d1\u4e5d\u5165\u5b66\u9ad8"
    "\u5186\u5b50\u5916\u516b\u516d\u4e0b\u6765\u6c17\u5c0f\u4e03\u5c71\u8a71\u5973\u5317\u5348\u767e"
    "\u66f8\u5148\u540d\u5ddd\u5343\u6c34\u534a\u7537\u897f\u96fb\u6821\u8a9e\u571f\u6728\u805e\u98df"
    "\u8eca\u4f55\u5357\u4e07\u6bce\u767d\u5929\u4f1a\u793e\u4eac\u90fd\u5e02\u770c\u533a\u753a\u6751"
    "\u5024\u54c1\u756a\u53f7\u4f4f\u6240\u4fa1\u683c\u5e97\u6570\u91cf\u5408\u8a08\u5358\u4f4d\u59d3"
    "\u6027\u5225\u90f5\u4fbf\u5546\u7530\u4f50\u85e4\u9234\u6a4b\u4f0a\u6e21\u8fba"
)
# The letters that make most of a text in Russian, Ukrainian and Bulgarian, and in Greek.
_CYRILLIC_FREQUENT = frozenset(
    "\u043e\u0435\u0430\u0438\u043d\u0442\u0441\u0440\u0432\u043b\u043a\u043c\u0434\u043f\u0443\u0456\u044f"
)
_GREEK_FREQUENT = frozenset(
    "\u03b1\u03bf\u03b9\u03b5\u03c4\u03c3\u03bd\u03b7\u03c5\u03c1\u03c0\u03ba\u03bc\u03bb\u03c9\u03c2\u03b4"
    "\u03ac\u03ad\u03ae\u03af\u03cc\u03cd\u03ce"
)
_LAST_LATIN = "\u024f"
_PUNCTUATION = frozenset(
    "\u20ac\u00a3\u00a7\u00b0\u00ab\u00bb\u201c\u201d\u2018\u2019\u201e\u2026\u2013\u2014\u00b7\u2122\u00a9\u00ae\u00bf\u00a1\u2116\u00a0\u00b5"
)
_WITHIN_WORDS = frozenset("\u2019\u2018\u2013")
_BESIDE_NUMBERS = frozenset("\u20ac\u00a3\u00a7\u00b0\u00b5")
_MIDDLE_DOT = "\u00b7"
_FINAL_SIGMA = "\u03c2"
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_PAIR = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
_RUN = re.compile(r"[^\x00-\x7f]+")
_ORDINALS = "\u00aa\u00ba"


def likely(data: bytes) -> list[str]:
    r"""Returns the encodings in which a text makes most sense, the best first; none if it makes sense in none.

    Args:
        data: Lines of it that are not UTF-8.

    >>> likely(b"1,\x80"), likely("caf\u00e9".encode("latin1")), likely("\u6771\u4eac\u306e".encode("shift_jis"))
    (['cp1252'], ['latin1'], ['shift_jis'])
    """
    found = []
    for name, _, judge in _CANDIDATES:
        if name in _LETTERS and not _LETTERS[name].search(data):
            continue
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        found.append((judge(text, name), name, text))
    best = max((score for score, _, _ in found), default=0.0)
    names: dict[str, str] = {}  # by what they make of it
    for score, name, text in found:
        if score >= best - _NEARLY and best > _SENSELESS:
            names.setdefault(text, name)
    return list(names.values())[:2]


def advice(data: bytes, wrong: int) -> str:
    """Returns what to do with a text that is not UTF-8.

    Args:
        data: The text.
        wrong: The first byte that is not UTF-8.
    """
    number = data.count(b"\n", 0, wrong) + 1
    start = data.rfind(b"\n", 0, wrong) + 1
    if _SURROGATE.match(data, wrong) and _has_only_surrogates(data[start : start + _LOOKED_AT_BYTES]):
        return _of_surrogates(data, wrong, number)
    valid, other = _lines(data, start)
    if not data[:start].isascii():
        valid.append(data[:start])
    names = likely(b"\n".join(other)[:_REGION_BYTES] if len(other) > 1 else other[0]) or ["latin1"]
    if len(valid) >= _MIXED * (len(valid) + len(other)):
        return (
            f"Line {number:,} mixes encodings: other parts are UTF-8. Repair that line, "
            f"or read it all with --encoding {names[0]}."
        )
    said = " or ".join(f"{name} ({_TITLES[name]})" for name in names)
    return f"Line {number:,} may be {said}: read it with --encoding {names[0]}, or convert the file to UTF-8."


def _has_only_surrogates(text: bytes) -> bool:
    """Returns whether only surrogates keep the first line of a text from being UTF-8."""
    try:
        text.splitlines()[0].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _of_surrogates(data: bytes, wrong: int, number: int) -> str:
    """Returns what to do with a half of a surrogate pair that stands as three bytes, as UTF-8 has none."""
    shown = data[wrong : wrong + 3].hex(" ")
    if _PAIR.match(data, wrong):
        return (
            f"Line {number:,} has a surrogate pair there ({data[wrong : wrong + 6].hex(' ')}), which is CESU-8 and not UTF-8: "
            "read it in Python with .decode('utf-8', 'surrogatepass').encode('utf-16', 'surrogatepass').decode('utf-16'), "
            "and write that as UTF-8."
        )
    return (
        f"Line {number:,} has half of a surrogate pair there ({shown}), which is not a character in any encoding, as where a text "
        "was cut within one: repair that line, or write the file again."
    )


def without_mark(head: bytes) -> str:
    r"""Returns the encoding of two bytes a character that a text without a byte order mark may be in; empty for none.

    >>> without_mark("a,b".encode("utf-16-le")), without_mark("a,b".encode("utf-16-be")), without_mark("a,b".encode("utf-16"))
    ('utf-16-le', 'utf-16-be', '')
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ""
    pairs = len(head) // 2
    for name, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if (
            pairs > 1
            and zeros.count(0) * 2 > pairs
            and others.count(0) * 20 < pairs + 20
            and _decodes(head, name)
        ):
            return name
    return ""


def _decodes(head: bytes, name: str) -> bool:
    try:
        head[: len(head) // 2 * 2 - 2].decode(name)
    except UnicodeDecodeError:
        return False
    return True


def _lines(data: bytes, start: int) -> tuple[list[bytes], list[bytes]]:
    """The lines with other than ASCII from a place on: those that are UTF-8, and those that are not, at least one."""
    valid: list[bytes] = []
    other: list[bytes] = []
    size = 0
    part = data[start : start + _LOOKED_AT_BYTES]
    lines = part.splitlines()
    if start + len(part) < len(data) and len(lines) > 1:
        lines.pop()  # it may be cut
    for line in lines:
        if line.isascii():
            continue
        try:
            line.decode()
        except UnicodeDecodeError:
            other.append(line)
            size += len(line)
        else:
            valid.append(line)
        if size > _REGION_BYTES:
            break
    return valid, other or [part]


def _neighbours(text: str) -> Iterator[tuple[str, str, str]]:
    """Each character beyond ASCII, with those beside it; a blank where there is none."""
    for before, character, after in zip(f" {text}", text, f"{text[1:]} ", strict=False):
        if not character.isascii():
            yield before, character, after


def _mean(scores: list[float]) -> float:
    return sum(scores) / len(scores) if scores else 0.0


def _latin(text: str, name: str) -> float:
    """The part of the characters that stand as accented letters, or signs, do among others of Latin script."""
    return _mean([_latin_letter(*around) for around in _neighbours(text)])


def _latin_letter(before: str, character: str, after: str) -> float:
    if character.isalpha() and character not in _ORDINALS:
        if character > _LAST_LATIN:
            return 0.1
        if not (before.isalpha() or after.isalpha()):
            return 0.8 if character.islower() else 0.4
        if character.isupper() and before.isalpha() and (before.islower() or after.islower()):
            return 0.2
        crowded = any(one.isalpha() and not one.isascii() for one in (before, after))
        return 0.5 if crowded else 1.0
    if character not in _PUNCTUATION:
        return 0.2 if character.isprintable() else -0.5  # no text has control characters of these bytes
    if character in _BESIDE_NUMBERS:
        return 0.3 if before.isalpha() or after.isalpha() else 1.0
    within = before.isalpha() and after.isalpha()
    if character == _MIDDLE_DOT:  # of Catalan
        within = within and not before == after == "l"
        return 0.2 if within else 1.0
    return 0.2 if within and character not in _WITHIN_WORDS else 1.0


def _other_letters(first: str, last: str, frequent: frozenset[str]) -> Callable[[str, str], float]:
    """A score of texts whose letters lie in a range, stand beside each other, and are mostly frequent ones in lower case."""

    def one(before: str, character: str, after: str) -> float:
        if not first <= character <= last or not character.isalpha():
            return 0.8 if character in _PUNCTUATION else 0.2 if character.isprintable() else 0.0
        if any(each.isascii() and each.isalpha() for each in (before, after)):
            return 0.1
        if character.isupper() and before.islower():
            return 0.1
        usual = 1.0 if character.lower() in frequent else 0.7
        if character.isupper() and before.isalpha():
            usual *= 0.85
        if character == _FINAL_SIGMA and after.isalpha():
            return 0.1
        return usual if before.isalpha() or after.isalpha() else usual * 0.6

    return lambda text, _: _mean([one(*around) for around in _neighbours(text)])


def _east_asian(usual: Callable[[int, int], float]) -> Callable[[str, str], float]:
    """A score of texts whose characters are two bytes, by how usual these are."""

    def one(before: str, character: str, after: str, name: str) -> float:
        raw = character.encode(name)
        score = 1.0 if character in _FREQUENT else usual(raw[0], raw[1] if len(raw) > 1 else 0)
        alone = before.isascii() and after.isascii()
        among_latin = alone and (before.isalpha() or after.isalpha())
        return score * (0.3 if among_latin else 1.0)

    def score(text: str, name: str) -> float:
        found = _mean([one(*around, name) for around in _neighbours(text)])
        # Letters of one byte each fill pairs by chance in a word of even length, and seldom in all of several.
        runs = _RUN.findall(text)
        pairs = all(raw > 0x7F for run in runs for raw in run.encode(name))
        return min(found + 0.06 * min(len(runs) - 1, 4), 1.0) if pairs and found > 0.4 else found

    return score


def _usual_in_shift_jis(lead: int, trail: int) -> float:
    if (lead == 0x82 and trail >= 0x9F) or (lead == 0x83 and trail <= 0x96):
        return 1.0  # kana
    if not trail:
        return 0.6 if 0xA1 <= lead <= 0xDF else 0.0  # kana of half the width
    return 0.65 if 0x88 <= lead <= 0x97 else 0.6 if lead in (0x81, 0x82) else 0.2


def _usual_in_euc_jp(lead: int, trail: int) -> float:
    return 1.0 if lead in (0xA4, 0xA5) else 0.8 if lead == 0xA1 else 0.65 if 0xB0 <= lead <= 0xCF else 0.2


def _usual_in_gb18030(lead: int, trail: int) -> float:
    if trail < 0xA1:
        return 0.1
    return 0.65 if 0xB0 <= lead <= 0xD7 or lead in (0xA1, 0xA3) else 0.3 if 0xD8 <= lead <= 0xF7 else 0.1


def _usual_in_cp949(lead: int, trail: int) -> float:
    if trail < 0xA1:
        return 0.2
    return 0.65 if 0xB0 <= lead <= 0xC8 else 0.6 if lead in (0xA1, 0xA3) else 0.2


def _usual_in_big5(lead: int, trail: int) -> float:
    return 0.65 if 0xA4 <= lead <= 0xC6 or lead == 0xA1 else 0.3 if 0xC9 <= lead <= 0xF9 else 0.1


_SHIFT_JIS = _east_asian(_usual_in_shift_jis)
_BIG5 = _east_asian(_usual_in_big5)
_CYRILLIC = _other_letters("\u0400", "\u04ff", _CYRILLIC_FREQUENT)
# Of those that make as much sense, the earlier ones are named: two bytes that fit are no chance, and latin1 is
# what cp1252 is but for its signs.
_CANDIDATES: tuple[tuple[str, str, Callable[[str, str], float]], ...] = (
    ("shift_jis", "Japanese", _SHIFT_JIS),
    ("cp932", "Japanese, of Windows", _SHIFT_JIS),
    ("euc_jp", "Japanese", _east_asian(_usual_in_euc_jp)),
    ("gb18030", "Chinese", _east_asian(_usual_in_gb18030)),
    ("big5", "Chinese, traditional", _BIG5),
    ("cp950", "Chinese, traditional, of Windows", _BIG5),
    ("cp949", "Korean", _east_asian(_usual_in_cp949)),
    ("cp1251", "Cyrillic", _CYRILLIC),
    ("koi8_r", "Cyrillic", _CYRILLIC),
    ("cp1253", "Greek", _other_letters("\u0370", "\u03ff", _GREEK_FREQUENT)),
    ("latin1", "Western European", _latin),
    ("cp1252", "Western European, of Windows", _latin),
    ("iso8859_15", "Western European, with a euro sign", _latin),
    ("cp1250", "Central European", _latin),
    ("mac_roman", "Western European, of old Macs", _latin),
    ("cp850", "Western European, of DOS", _latin),
)
_TITLES = {name: title for name, title, _ in _CANDIDATES}
