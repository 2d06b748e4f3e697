"""A headless Chromium that opens reports from disk, for the tests of this folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.chromium import resize, start
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.report.html import render

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'`{{}}${}\x1b[31m\u202eabc\u2028"


@pytest.fixture(scope="module")
def chrome(tmp_path_factory):
    """One browser for the module: starting it is what costs time."""
    driver = start(tmp_path_factory.mktemp("chrome"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages on disk: a table, documents, a table in few formats, and a record whose every text is an attack."""
    folder = tmp_path_factory.mktemp("pages")
    table = synthetic_record("table", media=("memory", "file", "tcp"))
    body = json.dumps(synthetic_record("table"))
    for name in (
        "flights.csv",
        "time_hour",
        "N14228",
        "beaten 5x",
        "arrow:pyarrow",
        "hdf5:pandas",
        "text_001",
        "Example CPU",
        "no data came back",
        "tare measure",
        "ValueError",
        "performance",
    ):
        body = body.replace(name, json.dumps(name + HOSTILE)[1:-1])
    records = {
        "table": table,
        "document": synthetic_record("document"),
        "few": synthetic_record(
            "table",
            planted=tuple(Planted(f"{name}:pyarrow", 9, 9, 0.2) for name in ("parquet", "arrow", "csv")),
        ),
        "hostile": json.loads(body),
        "bare": {"tare_record": 1, "cases": [], "derived": {}},
    }
    for name, record in records.items():
        (folder / f"{name}.html").write_text(render(record), encoding="utf-8")
    return folder


@pytest.fixture
def visit(chrome, pages):
    """``visit("table", width=360, dark=True, scripts=False)``: open a page, wait until it is drawn."""

    def go(name, *, width=1280, dark=False, scripts=True, reduced=False):
        chrome.get("about:blank")
        chrome.get_log("browser")
        resize(chrome, width)
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced else "no-preference"},
        ]
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        chrome.get(Path(pages / f"{name}.html").as_uri())
        if scripts:
            from selenium.webdriver.support.ui import WebDriverWait

            ready = "return document.documentElement.dataset.ready === '1'"
            WebDriverWait(chrome, 30, 0.05).until(lambda driver: driver.execute_script(ready))
        return chrome

    yield go
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
