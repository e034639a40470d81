#!/usr/bin/env python3
"""Opens reports in headless Chromium, steps through them, and looks at what is marked.

  browser.py REPORT-FOLDER...                    checks them
  browser.py --screenshot FILE WIDTH HEIGHT REPORT-FOLDER [dark]

Speaks the WebDriver protocol with chromedriver (Debian packages chromium and chromium-driver); nothing else is needed.
"""
import base64
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

KEYS = {"right": "\ue014", "left": "\ue012", "home": "\ue011", "end": "\ue010", "tab": "\ue004"}


class Browser:
    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.profile = tempfile.TemporaryDirectory()
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        self.session = ""
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                     f"--user-data-dir={self.profile.name}"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"},
                  "unhandledPromptBehavior": "ignore"}
        for attempt in range(60):
            try:
                answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
                break
            except OSError:
                if attempt == 59:
                    raise
                time.sleep(0.25)
        self.session = "/session/" + answer["sessionId"]

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.base + self.session + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode(errors='replace')[:500]}") from None

    def open(self, file):
        self.ask("POST", "/url", {"url": "file://" + os.path.abspath(file)})

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, *keys):
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def cdp(self, command, **parameters):
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height, mobile=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def theme(self, name):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self):
        return base64.b64decode(self.ask("GET", "/screenshot"))

    def errors(self):
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def close(self):
        try:
            self.ask("DELETE", "")
        except (OSError, AssertionError):
            pass
        self.driver.terminate()
        self.driver.wait(10)
        self.profile.cleanup()


def pixels(png):
    """Rows of an 8-bit RGB or RGBA image: (bytes per pixel, rows)."""
    at, data, width, depth = 8, b"", 0, 3
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, _, bits, colour = struct.unpack(">IIBB", body[:10])
            assert bits == 8 and colour in (2, 6), "another kind of PNG"
            depth = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    data, stride, rows, before = zlib.decompress(data), width * depth, [], None
    for start in range(0, len(data), stride + 1):
        kind, row = data[start], bytearray(data[start + 1:start + 1 + stride])
        before = before or bytearray(stride)
        for i in range(stride):
            left, up = row[i - depth] if i >= depth else 0, before[i]
            corner = before[i - depth] if i >= depth else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + up) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                best = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
                row[i] = (row[i] + best) & 255
        rows.append(row)
        before = row
    return depth, rows


def look(png):
    """How many colours there are, and how bright it is."""
    depth, rows = pixels(png)
    sample = [bytes(row[i:i + 3]) for row in rows[::2] for i in range(0, len(row), depth * 2)]
    return len(set(sample)), sum(map(sum, sample)) / len(sample) / 3


MARKED = "return [...document.querySelectorAll('#code .row.decisive')].map(row => Number(row.dataset.line)).sort((a, b) => a - b)"
STEPS = 16
STATE = """const timeline = document.getElementById('timeline'), row = document.querySelector('#code .row.current');
    return [Number(timeline.dataset.event), timeline.getAttribute('aria-valuetext'), document.getElementById('now').textContent,
            row ? Number(row.dataset.line) : 0]"""
EVENT = "return Number(document.getElementById('timeline').dataset.event)"


def check(browser, folder):
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    events, why = report["events"], report["why"]
    performed = [event for event in events if not event.get("pending")]
    browser.theme("light")
    browser.size(1280, 1000)
    browser.open(os.path.join(folder, "report.html"))
    assert browser.run("return document.getElementById('headline').textContent") == why["headline"]
    assert report["failure"]["identity"] in browser.run("return document.querySelector('main').innerText")

    # The marked lines are those of the decisive events, in each file.
    for name in {source["file"] for source in report["sources"] if not source["missing"]}:
        browser.run("[...document.querySelectorAll('#tabs button')].find(tab => tab.dataset.file === arguments[0]).click()", name)
        wanted = {events[pair[which]]["line"] for pair in why["decisive"] for which in ("first", "second")
                  if events[pair[which]].get("file") == name}
        assert browser.run(MARKED) == sorted(wanted), (name, browser.run(MARKED), wanted)

    # The arrow keys step; source, values, status and what a screen reader hears follow.
    browser.run("document.getElementById('timeline').focus()")
    browser.press("home")
    assert browser.run(EVENT) == 0
    files = {source["file"] for source in report["sources"] if not source["missing"]}
    for expected in range(1, min(len(performed), STEPS)):
        browser.press("right")
        event = events[expected]
        at, said, now, line = browser.run(STATE)
        assert at == expected, (at, expected)
        assert event["text"] in said and event["text"] in now, (event["text"], said, now)
        assert event.get("file") not in files or line == event["line"], (line, event)
    browser.press("left")
    assert browser.run(EVENT) == max(0, min(len(performed), STEPS) - 2)
    browser.press("end")
    assert browser.run(EVENT) == len(performed) - 1

    # Values at the end: the last that was written to each variable that no buffer holds back.
    if report["memory_model"] == "sc":
        last = {}
        for event in performed:
            if "variable" in event and event["kind"] in ("write", "update"):
                last[event["variable"]] = event["after"] if event["kind"] == "update" else event["value"]
        browser.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        shown = browser.run("return [...document.querySelectorAll('#values tr')].map(row => [...row.cells].slice(0, 2).map(cell => cell.textContent))")
        for variable, value in last.items():
            assert [report["variables"][variable]["name"], value] in shown or len(shown) >= 60, (variable, value, shown)

    # For screen readers: names for all that can be reached, one live region for the event.
    unnamed = browser.run("""return [...document.querySelectorAll('button, [tabindex], input')].filter(node =>
        !(node.getAttribute('aria-label') || node.textContent.trim() || (node.labels && node.labels.length))).map(node => node.outerHTML)""")
    assert not unnamed, unnamed
    slider = browser.run("""const t = document.getElementById('timeline'); return [t.getAttribute('role'), t.tabIndex,
        t.getAttribute('aria-valuemin'), t.getAttribute('aria-valuemax'), t.getAttribute('aria-valuenow')]""")
    assert slider == ["slider", 0, "1", str(len(performed)), str(len(performed))], slider
    assert browser.run("return document.getElementById('now').getAttribute('aria-live')") == "polite"
    buttons = browser.run("return [...document.querySelectorAll('#commands button')].map(button => button.getAttribute('aria-label'))")
    assert any("replay" in text and "--gdb" in text for text in buttons) and len(buttons) >= 2, buttons

    # Both themes, wide and narrow: not blank, nothing sticks out.
    browser.size(900, 500)
    light = look(browser.screenshot())
    browser.theme("dark")
    dark = look(browser.screenshot())
    assert light[0] > 40 and dark[0] > 40, f"the page looks blank: {light}, {dark}"
    assert light[1] > 180 > 90 > dark[1], (light, dark)
    browser.theme("light")
    browser.size(360, 640, mobile=True)
    wide = browser.run("return document.documentElement.scrollWidth")
    assert wide <= 360, f"{wide} pixels wide at 360"
    assert look(browser.screenshot())[0] > 30, "the narrow page looks blank"
    browser.run("document.getElementById('theme').click()")
    assert browser.run("return document.documentElement.dataset.theme") == "dark"

    # No script but the page's own has run, whatever the program's names and messages hold; what is large is drawn on demand.
    assert browser.run("return typeof window.hacked") == "undefined", "a script of the program ran"
    assert browser.run("return document.querySelectorAll('img, iframe, object, embed, link').length") == 0
    assert browser.run("return document.querySelectorAll('script').length") == 2
    assert browser.run("return document.querySelectorAll('#events .event').length") < 200
    errors = [text for text in browser.errors() if "favicon" not in text]
    assert not errors, errors
    if len(performed) >= 5000:
        spent = browser.run("""const begin = performance.now(); for (let i = 0; i < 200; ++i)
            document.querySelector('[data-go="back"]').click(); return performance.now() - begin""")
        assert spent < 6000, f"200 steps took {spent} ms"
        print(f"  {len(performed)} events: a step takes {spent / 200:.1f} ms")
    print(f"as it should be: {os.path.basename(folder)}", flush=True)


def main():
    browser = Browser()
    try:
        if sys.argv[1] == "--screenshot":
            file, width, height, folder = sys.argv[2:6]
            browser.theme("dark" if sys.argv[6:] == ["dark"] else "light")
            browser.size(int(width), int(height))
            browser.open(os.path.join(folder, "report.html"))
            with open(file, "wb") as out:
                out.write(browser.screenshot())
        else:
            for folder in sys.argv[1:]:
                check(browser, folder)
    finally:
        browser.close()


main()
