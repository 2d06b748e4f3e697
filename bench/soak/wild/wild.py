"""Try files of public repositories: `python bench/soak/wild/wild.py [PATTERN...]`.

Each file of `sources.tsv` is fetched (`fetching.py`), read, converted, converted back and compared with what another
reader makes of it, R for files of R, in a child process with a limit of time and memory. Its outcome is

- ``same``: nothing was lost;
- ``told``: something was lost, noted or refused, in Tare's own words, and the rest is the same;
- ``refused``: it was not read, in Tare's own words;
- ``wrong``: a difference that was not reported, an error of a library, a crash, a hang, or too much memory.

Exits with 0 if nothing is wrong but what `findings.toml` lists, 1 otherwise, 3 if files cannot be had. A report is
written to ``report.jsonl`` in the folder of the cache.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from children import Child
from fetching import cache_folder, fetch_all, file_of
from known import Finding, explained, read_findings
from sources import R_KINDS, Source, read_sources

_CHILDREN = 2
_GROUP = 30  # files of R that one process of R compares
_PEAK = 2 << 30
_R_LIMIT_S = 3600
_MISSING = 3
_COMPARE = Path(__file__).with_name("compare.R")


def main(patterns: list[str]) -> int:
    """Try the files whose names match, all without a pattern."""
    folder = cache_folder()
    everything = read_sources()
    chosen = [s for s in everything if not patterns or any(fnmatchcase(s.name, p) for p in patterns)]
    missing = fetch_all(chosen, folder)
    for name, why in missing.items():
        print(f"not fetched: {name}: {why}", file=sys.stderr)
    sources = [s for s in chosen if s.kind != "expected" and s.name not in missing]
    if len(missing) * 20 > len(chosen) or not sources:
        print(f"{len(missing)} of {len(chosen)} files cannot be fetched", file=sys.stderr)
        return _MISSING
    expected = {s.name: file_of(s, folder) for s in everything if s.kind == "expected"}
    results = _Run(folder, expected).all(sources)
    return _report(results, read_findings(), folder)


class _Run:
    """The files, tried by two children at a time.

    Args:
        folder: The cache.
        expected: Where what makers of files wrote down lies, by its name.
    """

    def __init__(self, folder: Path, expected: dict[str, Path]) -> None:
        self.folder = folder
        self.expected = expected
        self.results: list[dict[str, Any]] = []
        self.groups: Queue[list[Source]] = Queue()
        self.total = 0

    def all(self, sources: list[Source]) -> list[dict[str, Any]]:
        """Return the results of all files."""
        self.total = len(sources)
        of_r = [s for s in sources if s.kind in R_KINDS]
        others = [s for s in sources if s.kind not in R_KINDS]
        # In turn, so that one of two children waits for R while the other one works.
        for start in range(0, max(len(of_r), len(others)), _GROUP):
            for family in (of_r, others):
                if part := family[start : start + _GROUP]:
                    self.groups.put(part)
        (self.folder / "progress.jsonl").unlink(missing_ok=True)
        threads = [threading.Thread(target=self._work, args=(n,)) for n in range(_CHILDREN)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.results

    def _work(self, number: int) -> None:
        place = self.folder / f"work-{number}"
        shutil.rmtree(place, ignore_errors=True)
        child = Child(self.folder / f"child-{number}.log")
        while True:
            try:
                group = self.groups.get_nowait()
            except Empty:
                break
            self._group(group, place, child)
            shutil.rmtree(place, ignore_errors=True)
            child.close()  # a new one for each group keeps what libraries hold small
            print(f"{len(self.results)}/{self.total}", file=sys.stderr, flush=True)

    def _group(self, group: list[Source], place: Path, child: Child) -> None:
        done: dict[str, tuple[Source, dict[str, Any]]] = {}
        for number, source in enumerate(group):
            folder = place / str(number)
            folder.mkdir(parents=True)
            asked = {
                "task": "all",
                "kind": source.kind,
                "path": str(file_of(source, self.folder)),
                "folder": str(folder),
            }
            if source.kind == "orc" and (beside := self.expected.get(_expected_name(source))):
                asked["expected"] = str(beside)
            done[str(folder)] = source, child.ask(asked)
            if source.kind not in R_KINDS:
                shutil.rmtree(folder, ignore_errors=True)
        if group[0].kind in R_KINDS:
            _compare_by_r(place, done, child)
        for source, answer in done.values():
            if answer["peak"] > _PEAK:
                answer["wrong"].append(["memory", f"{answer['peak'] >> 20} MiB"])
            result = {"name": source.name, "kind": source.kind, "size": source.size, **answer}
            self.results.append(result)
            with (self.folder / "progress.jsonl").open("a", encoding="utf-8") as file:
                print(json.dumps(result), file=file)


def _expected_name(source: Source) -> str:
    stem = source.path.rpartition("/")[2].removesuffix(".orc")
    return f"{source.repository}/{source.path.rpartition('/')[0]}/expected/{stem}.jsn.gz"


def _compare_by_r(place: Path, done: dict[str, tuple[Source, dict[str, Any]]], child: Child) -> None:
    """Let R compare what was written of its files, and add what it says to the answers."""
    folders = place / "folders"
    folders.write_text("".join(f"{name}\n" for name in done), encoding="utf-8")
    command = ["Rscript", "--vanilla", str(_COMPARE), str(folders), str(place / "compared")]
    subprocess.run(
        command, check=False, timeout=_R_LIMIT_S, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for line in (place / "compared").read_text(encoding="utf-8", errors="replace").splitlines():
        folder, name, verdict, why = line.split("\t")
        answer = done[folder][1]
        answer["judges"].append(f"R {verdict}")
        if verdict != "CANNOT":
            answer["reader"] = "R"
        if verdict == "DIFFERS":
            answer["wrong"].append([name, f"R: not identical ({why})"])
        elif verdict == "CANNOT":
            # Some objects cannot be touched without the package that has their class.
            if name == "source" or "required package" in why:
                answer["unread"] = [name, why]
            else:
                answer["wrong"].append([name, f"R: {why}"])
    for name, (_, answer) in done.items():
        if any(Path(name).glob("source.*")) and not any(judge.startswith("R ") for judge in answer["judges"]):
            answer["wrong"].append(["R", "no verdict: the process of R ended before it"])
        more = child.ask({"task": "tables", "folder": name})
        for key in ("wrong", "judges"):
            answer[key] += more[key]


def _outcome(result: dict[str, Any], findings: list[Finding]) -> str:
    wrong = [one for one in result["wrong"] if not explained(findings, result["name"], *one)]
    if wrong:
        return "wrong"
    if result["wrong"]:
        return "known"
    if any(step == "read" for step, _ in result["refused"]):
        return "refused"
    return "told" if result["refused"] or result["told"] else "same"


def _report(results: list[dict[str, Any]], findings: list[Finding], folder: Path) -> int:
    counts: Counter[str] = Counter()
    with (folder / "report.jsonl").open("w", encoding="utf-8") as file:
        for result in sorted(results, key=lambda one: (one["kind"], one["name"])):
            result["outcome"] = _outcome(result, findings)
            counts[result["outcome"]] += 1
            counts["r_files" if result["kind"] in R_KINDS else "others"] += 1
            counts["unread"] += "unread" in result
            counts["compared"] += any("CANNOT" not in judge for judge in result["judges"])
            print(json.dumps(result), file=file)
            if result["outcome"] == "wrong":
                for step, what in result["wrong"]:
                    if not explained(findings, result["name"], step, what):
                        print(f"WRONG {result['name']}: {step}: {what}")
    table: dict[str, Counter[str]] = {}
    readers: dict[str, Counter[str]] = {}
    for result in results:
        table.setdefault(result["kind"], Counter())[result["outcome"]] += 1
        if not any(step == "read" for step, _ in result["refused"]):
            readers.setdefault(result["kind"], Counter())[result["reader"] or "no other library"] += 1
        counts["confirmed"] += bool(result["reader"])
    for kind, outcomes in sorted(table.items()):
        print(kind, ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
        beside = readers.get(kind, Counter()).most_common()
        print(f"  read by {', '.join(f'{name} {count}' for name, count in beside)}")
    for finding in findings:
        tried = [result for result in results if fnmatchcase(result["name"], finding.files)]
        if tried and not any(
            explained([finding], result["name"], *one) for result in tried for one in result["wrong"]
        ):
            print(f"not found any more: {finding.files}: {finding.steps}: {finding.what}")
    print(f"soak: files={len(results)}")
    for what in (
        "r_files", "others", "compared", "confirmed", "unread", "same", "told", "refused", "known", "wrong",
    ):  # fmt: skip
        print(f"soak: {what}={counts[what]}")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    started = time.monotonic()
    status = main(sys.argv[1:])
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    sys.exit(status)
