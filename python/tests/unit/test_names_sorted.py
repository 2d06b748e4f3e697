"""`order=lexical`: names are written sorted, by the libraries that can, and verified as such."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.capabilities import need_codec

from tare import measure
from tare.codec import Codec
from tare.errors import Unsupported, UsageError
from tare.measure.plan.availability import supports
from tare.measure.plan.plan import Plan
from tare.measure.worker.prepared_codec import in_order, sorted_names

SORTING = ("stdlib", "orjson", "ujson", "rapidjson", "msgspec", "simplejson")
NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | NAMES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)


def names_of(value: Any) -> list[list[str]]:
    """The names of every mapping, in their order."""
    if isinstance(value, dict):
        return [list(value), *(names for item in value.values() for names in names_of(item))]
    return [names for item in value for names in names_of(item)] if isinstance(value, list) else []


@pytest.mark.parametrize("library", SORTING)
@given(document=DOCUMENTS)
def test_names_are_sorted_and_nothing_else_changes(library, document):
    """sort_keys=true writes names by code point at every depth; the values stay."""
    codec = in_order(need_codec(f"json:{library}"), "lexical")
    back = json.loads(codec.encode(document))
    assert document == back
    assert names_of(sorted_names(document)) == names_of(back)


@pytest.mark.parametrize("library", SORTING)
def test_the_order_given_is_kept_by_default(library):
    """Without the option names come as they came."""
    codec = need_codec(f"json:{library}")
    assert ["b", "a"] == list(json.loads(codec.encode({"b": 1, "a": 2})))
    assert codec == in_order(codec, "insertion")


def test_what_cannot_sort_says_so():
    """In a plan it is n/a with the reason; a worker refuses; an order that is none is a usage error."""
    for library in SORTING:
        need_codec(f"json:{library}")
        assert supports({"codec": f"json:{library}", "order": "lexical"}) is None
    need_codec("json:simdjson")
    assert "in the order they come" in (supports({"codec": "json:simdjson", "order": "lexical"}) or "")
    with pytest.raises(Unsupported, match="does not write names sorted"):
        in_order(Codec.parse("msgpack:msgspec"), "lexical")
    with pytest.raises(UsageError, match="order is one of"):
        in_order(Codec.parse("json:orjson"), "random")


def test_a_plan_measures_both_orders():
    """Each order is its own case; what was sorted is verified against the sorted value; bytes differ."""
    plan = Plan.from_dict({
        "plan": 1,
        "name": "orders",
        "question": "What does sorting cost?",
        "statistics": {"launches": 1, "rounds": 1},
        "block": [
            {"dataset": ["d"], "codec": ["json:orjson"]},
            {"dataset": ["d"], "codec": ["json:orjson", "json:simdjson"], "order": ["lexical"], "operations": ["encode"]},
        ],
    })  # fmt: skip
    document = [{"z": n, "a": {"y": n, "b": 1}} for n in range(200)]
    result = measure.run(document, plan=plan)
    cases = {
        (case["labels"]["codec"], case["labels"].get("order", "insertion")): case
        for case in result.cases
        if not case["labels"].get("twin")
    }
    ours, sorted_ = cases["json:orjson", "insertion"], cases["json:orjson", "lexical"]
    assert ["ok", "ok"] == [ours["status"], sorted_["status"]], sorted_["reason"]
    assert ours["bytes"] == sorted_["bytes"]
    assert ours["sha256"] != sorted_["sha256"]
    assert ["encode"] == list(sorted_["launches"][0]["samples"])
    assert "n/a" == cases["json:simdjson", "lexical"]["status"]
    # What was timed one way only is in no race with what was timed both ways.
    assert ours["key"] == result.recommend().detail["key"]
