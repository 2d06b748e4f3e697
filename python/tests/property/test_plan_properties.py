"""Plans, keys and ids: laws that hold for every input."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tare.errors import PlanError, UsageError
from tare.measure.cases import FACTORS, case_key, full_labels, parse_key
from tare.measure.plan.plan import Plan, matches
from tare.measure.plan.reader import Grow
from tare.route import MEDIA, Route

NAMES = st.text(alphabet="abcxyz:,=._-", min_size=1, max_size=12)


def levels(name: str) -> st.SearchStrategy[list[Any]]:
    """Lists of levels that a factor allows."""
    factor = FACTORS[name]
    one: st.SearchStrategy[Any] = st.sampled_from(factor.levels) if factor.levels else NAMES
    if name == "size":
        one = st.floats(1e-6, 1.0, exclude_min=True)
    return st.lists(one, min_size=1, max_size=3, unique=True)


OTHERS = [name for name in FACTORS if name not in ("dataset", "codec", "twin")]
BLOCKS = st.lists(st.sampled_from(OTHERS), max_size=4, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: levels(name) for name in ("dataset", "codec", *names)})
)
PLANS = st.fixed_dictionaries(
    {"plan": st.just(1), "name": NAMES, "block": st.lists(BLOCKS, min_size=1, max_size=2)}
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(PLANS)
@settings(max_examples=60, deadline=None)
def test_cases_are_the_union_of_the_products(value: dict[str, Any]) -> None:
    """The cases are what a naive loop over blocks and levels gives, each key once."""
    naive: set[str] = set()
    for block in value["block"]:
        names = list(block)
        for combination in product(*(block[name] for name in names)):
            naive.add(case_key(full_labels(dict(zip(names, combination, strict=True)))))
    cases = Plan.from_dict(value).cases()
    assert naive == {case.key for case in cases}
    assert len(naive) == len(cases) <= Plan.from_dict(value).count()


@given(PLANS)
@settings(max_examples=40, deadline=None)
def test_a_plan_reads_what_it_prints(value: dict[str, Any]) -> None:
    """as_dict and from_dict are inverse."""
    plan = Plan.from_dict(value)
    assert plan.as_dict() == Plan.from_dict(plan.as_dict()).as_dict()
    assert plan.cases() == Plan.from_dict(plan.as_dict()).cases()


@given(PLANS)
@settings(max_examples=40, deadline=None)
def test_keys_hold_their_labels(value: dict[str, Any]) -> None:
    """Labels come back from every key, and matching by its own labels is true."""
    for case in Plan.from_dict(value).cases():
        assert dict(case.labels) == parse_key(case.key)
        assert matches({name: (level,) for name, level in case.labels.items()}, case.labels)


@given(
    JSON | st.dictionaries(st.sampled_from(["plan", "name", "block", "grow", "override", "statistics"]), JSON)
)
@settings(deadline=None)
def test_no_value_crashes_the_plan_reader(value: Any) -> None:
    """Whatever a TOML or JSON parser may give is a plan or a PlanError with a short message."""
    message = ""
    try:
        Plan.from_dict(value)
    except PlanError as error:
        message = str(error)
    assert len(message) < 1000


@given(st.floats(1e-6, 1.0), st.floats(1.05, 100.0))
@settings(deadline=None)
def test_growth_ends_at_the_whole(start: float, factor: float) -> None:
    """Sizes rise strictly by at most the factor, and the last is 1."""
    sizes = Grow(start, factor).sizes()
    assert 1.0 == sizes[-1]
    assert all(a < b <= a * factor * (1 + 1e-6) for a, b in pairwise(sizes))


@given(
    st.text(max_size=60)
    | st.from_regex(r"[a-z]{1,8}(:[a-z]{1,8})?(\+zstd:[0-9])?@[a-z]{1,7}(,[a-z]+=[a-z0-9]+)?")
)
@settings(max_examples=300, deadline=None)
def test_no_text_crashes_the_route_parser(text: str) -> None:
    """Any text is a route whose id is stable, or a UsageError."""
    try:
        printed = str(Route(text))
    except UsageError as error:
        message = str(error)
    else:
        message = ""
        assert printed == str(Route(printed))
    assert len(message) < 1000


@given(
    st.sampled_from(
        ["json:orjson", "json:stdlib+zstd:3", "msgpack:msgspec", "pickle,protocol=2", "parquet:pyarrow"]
    ),
    st.sampled_from(MEDIA),
    st.sampled_from(["", ",delivery=framed", ",threads=all", ",sync=fsync,threads=all"]),
)
@settings(deadline=None)
def test_printed_routes_are_themselves(codec: str, medium: str, extras: str) -> None:
    """Parse then print is the identity on printed ids."""
    printed = str(Route(f"{codec}@{medium}{extras}"))
    assert printed == str(Route(printed))
