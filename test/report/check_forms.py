#!/usr/bin/env python3
"""Checks the files of a report: SARIF's required properties, the trace format, the JSON, the page, what was escaped.

  check_forms.py FOLDER
"""
import json
import os
import re
import sys

folder = sys.argv[1]


def load(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def check_sarif(sarif):
    """The required properties of the schema of SARIF 2.1.0, of the objects that are used."""
    assert sarif["version"] == "2.1.0" and sarif["$schema"].endswith("sarif-schema-2.1.0.json")
    assert isinstance(sarif["runs"], list) and len(sarif["runs"]) == 1
    run = sarif["runs"][0]
    driver = run["tool"]["driver"]
    assert driver["name"] == "heddle"
    assert all(isinstance(rule["id"], str) and rule["shortDescription"]["text"] for rule in driver["rules"])
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert all(base["uri"].endswith("/") for base in run["originalUriBaseIds"].values())
    for result in run["results"]:
        assert result["message"]["text"] and result["level"] in ("none", "note", "warning", "error")
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"], "an editor needs a place"
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        locations = result["locations"] + result["relatedLocations"]
        ids = [location["id"] for location in result["relatedLocations"]]
        assert len(set(ids)) == len(ids) and all(number >= 0 for number in ids)
        for flow in result.get("codeFlows", []):
            assert flow["threadFlows"]
            for thread in flow["threadFlows"]:
                assert thread["locations"]
                locations += [each["location"] for each in thread["locations"]]
                assert all(each["executionOrder"] >= 0 for each in thread["locations"])
        for location in locations:
            physical = location["physicalLocation"]
            assert re.fullmatch(r"[A-Za-z0-9._~%/:-]+", physical["artifactLocation"]["uri"]), physical
            assert physical["region"]["startLine"] >= 1
            assert "message" not in location or isinstance(location["message"]["text"], str)


def check_trace(trace):
    assert trace["displayTimeUnit"] in ("ns", "ms")
    spans, last = {}, -1
    for event in trace["traceEvents"]:
        assert event["ph"] in "MXbesfi" and isinstance(event["name"], str) and isinstance(event["pid"], int)
        if event["ph"] != "M":
            assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 1
            last = max(last, event["ts"])
        if event["ph"] in "be":
            spans.setdefault(event["id"], []).append(event)
    assert all([span["ph"] for span in pair] == ["b", "e"] and pair[0]["ts"] <= pair[1]["ts"] for pair in spans.values())
    assert last >= 0 and {event["name"] for event in trace["traceEvents"] if event["ph"] == "M"} >= {"process_name", "thread_name"}


def check_report(report):
    assert report["format"] == 1 and report["failure"]["identity"] and report["replays"]["runs"] >= 1
    events, threads, why = report["events"], report["threads"], report["why"]
    assert sum(not event.get("pending") and event["kind"] not in ("visible", "wake", "timeout") for event in events) + report["left_out"] + report["gap"]["events"] >= \
        report["schedule"]["events"]
    for event in events:
        assert event["thread"] < len(threads) and event["step"] < len(report["schedule"]["steps"])
        assert "variable" not in event or event["variable"] < len(report["variables"])
    for span in report["locks"] + report["buffered"]:
        assert 0 <= span["begin"] <= span["end"] <= len(events)
    for pair in why["decisive"]:
        assert pair["first"] < len(events) and pair["second"] < len(events) and pair["text"]
        assert 1 <= pair["flipped"]["passed"] <= pair["flipped"]["runs"] and pair["kept"]["failed"] <= pair["kept"]["runs"]
    assert why["flips"] <= why["pairs"] and why["flips"] <= why["runs"]
    for source in report["sources"]:
        assert bool(source["missing"]) == (not source["lines"]), source["file"]


def check_page(report):
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
        page = file.read()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)
    assert not re.search("[<>&\u2028\u2029]", data), "the data is not escaped"
    assert json.loads(data) == report
    assert page.count("<script") == 2 and "innerHTML" not in page and "http" not in page.replace(data, "").replace("http-equiv", "")
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", page)


report = load("report.json")
check_report(report)
check_sarif(load("report.sarif"))
check_trace(load("trace.json"))
check_page(report)
text = open(os.path.join(folder, "report.txt"), encoding="utf-8").read()
assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), "control characters in the text"
assert report["why"]["headline"].split(" on ")[0] in text
