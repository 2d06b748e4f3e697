"""Values that a language would load as others: the case is refused, and says why."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import need

from tare import measure
from tare.errors import WorkerError
from tare.measure.loading import refuse_other_values


@pytest.mark.parametrize(
    ("language", "held", "beyond"),
    [
        ("r", (2**53, -(2**53)), (2**53 + 1, -(2**53) - 2)),
        ("rust", (2**64 - 1, -(2**63)), (2**64, -(2**63) - 1, 10**5000)),
    ],
)
def test_whole_numbers_that_a_language_lacks(
    tmp_path: Path, language: str, held: tuple[int, ...], beyond: tuple[int, ...]
) -> None:
    for n, number in enumerate(held):
        path = tmp_path / f"held-{n}.json"
        path.write_text(f'{{"a": [1.5, {number:d}, "{2**70}"]}}')
        refuse_other_values(str(path), "json", language)
    for n, number in enumerate(beyond):
        text = "9" * 5000 if number == 10**5000 else str(number)
        path = tmp_path / f"beyond-{n}.json"
        path.write_text(f'{{"a": [1.5, {text}]}}')
        with pytest.raises(WorkerError, match=f"the whole number {text[:15]}") as caught:
            refuse_other_values(str(path), "json", language)
        assert (caught.value.type, caught.value.phase) == ("refused", "load")
        for other in ("", "node", "java"):
            refuse_other_values(str(path), "json", other)


def test_a_run_tells_it(tmp_path: Path) -> None:
    need(shutil.which("Rscript") is not None, "R is not installed")
    result = measure.run({"id": [2**53 + 1]}, time_s=8, codecs=("rds:r", "json:stdlib"))
    (case,) = [case for case in result.cases if case["labels"]["codec"] == "rds:r"]
    assert case["status"] == "refused"
    assert f"R loads the whole number {2**53 + 1} as another one" in case["reason"]
