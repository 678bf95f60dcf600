#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: browser.py ADDRESS STORE DIR [IMAGE.png]

Opens the page of "ioprobe watch" in Chromium: its totals must be the store's, no script may fail, at a width of 400 pixels nothing overflows, a drag over
a chart zooms and a button ends that. With IMAGE also a picture of it. Prints what is wrong; status 1 then."""
import base64
import json
import os
import socket
import sqlite3
import struct
import subprocess
import sys
import time
import urllib.request

OVERFLOW = """(() => { const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 &&
  !e.closest("section table, svg")); return JSON.stringify([document.documentElement.scrollWidth, innerWidth, wide.map(e => e.outerHTML.slice(0, 80))]); })()"""
DRAG = """(() => { const chart = document.getElementById("calls"), box = chart.firstChild.getBoundingClientRect();
  const go = (type, share) => chart.dispatchEvent(new PointerEvent(type, {clientX: box.left + box.width * share, clientY: box.top + 50, button: 0}));
  const count = () => chart.querySelector("polyline").getAttribute("points").split(" ").length, before = count();
  go("pointerdown", 0.4); go("pointerup", 0.8);
  const zoomed = count(), button = document.getElementById("whole"), offered = !button.hidden; button.click();
  return JSON.stringify([before, zoomed, count(), offered, button.hidden]); })()"""


class Page:
    """One page of a browser, by its debugging protocol."""
    def __init__(self, browser, directory):
        for _ in range(200):
            if os.path.exists(f"{directory}/DevToolsActivePort") and open(f"{directory}/DevToolsActivePort", encoding="utf-8").read().count("\n"):
                break
            if browser.poll() is not None:
                raise OSError(f"chromium ended with {browser.returncode}")
            time.sleep(0.05)
        port = open(f"{directory}/DevToolsActivePort", encoding="utf-8").readline().strip()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as answer:
            path = next(page for page in json.load(answer) if page["type"] == "page")["webSocketDebuggerUrl"].split("/", 3)[3]
        self.socket = socket.create_connection(("127.0.0.1", int(port)), 20)
        self.file = self.socket.makefile("rb")
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode())
        while self.file.readline().strip():
            pass
        self.last, self.failures = 0, []

    def receive(self):
        message = b""
        while True:
            first, size = self.file.read(2)
            if size in (126, 127):
                size = int.from_bytes(self.file.read(2 if size == 126 else 8), "big")
            message += self.file.read(size)
            if first & 0x80:
                return json.loads(message)

    def call(self, method, **parameters):
        self.last += 1
        text = json.dumps({"id": self.last, "method": method, "params": parameters}).encode()
        mask = os.urandom(4)
        head = bytes([0x81]) + (bytes([0x80 | len(text)]) if len(text) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(text)))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(text)))
        while True:
            message = self.receive()
            if message.get("method") == "Runtime.exceptionThrown":
                self.failures.append(message["params"]["exceptionDetails"].get("exception", {}).get("description", "a script failed"))
            if message.get("id") == self.last:
                return message.get("result", message)

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression).get("result", {}).get("value")


def totals_of(store):
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    totals = {}
    for layer, *values in db.execute("SELECT layer, sum(calls), sum(failed), sum(time_ns) FROM calls GROUP BY layer"):
        totals[layer] = dict(zip(("calls", "failed", "time_ns"), values), read=0, written=0)
    for layer, read, written in db.execute("SELECT layer, sum(bytes_read), sum(bytes_written) FROM operations GROUP BY layer"):
        totals[layer].update(read=read, written=written)
    return totals


def check(page, address, store, errors):
    page.call("Runtime.enable")
    page.call("Page.enable")
    page.call("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=True)
    page.call("Page.navigate", url=address)
    for _ in range(200):
        if (page.value('document.getElementById("state").textContent') or "").startswith("the recording has ended"):
            break
        time.sleep(0.05)
    text = page.value('document.getElementById("totals").dataset.totals')
    found = {layer["name"]: {key: layer[key] for key in ("calls", "failed", "time_ns", "read", "written")} for layer in json.loads(text or "[]")}
    if found != totals_of(store) or not found:
        errors.append(f"the page has {found}, the store {totals_of(store)}; {page.value('document.body.innerText')}")
    rows = page.value('[...document.getElementById("totals").tBodies[0].rows].map(row => row.cells[0].textContent + " " + row.cells[1].textContent).join()')
    if rows != ",".join(f"{name} {layer['calls']}" for name, layer in found.items()):
        errors.append(f"the table of totals has {rows}")
    width, inner, wide = json.loads(page.value(OVERFLOW))
    if width > 400 or inner != 400 or wide:
        errors.append(f"at 400 pixels the page is {width} of {inner} wide; {wide}")
    before, zoomed, after, offered, hidden = json.loads(page.value(DRAG) or "[0, 0, 0, 0, 0]")
    if not 1 <= zoomed < before or after != before or not offered or not hidden:
        errors.append(f"zoom: {before} intervals, {zoomed}, {after}; the button was shown {offered}, hidden again {hidden}")
    errors.extend(page.failures)


def main():
    address, store, directory, errors = sys.argv[1], sys.argv[2], sys.argv[3], []
    browser = subprocess.Popen(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                                "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
                                f"--user-data-dir={directory}", "about:blank"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        page = Page(browser, directory)
        check(page, address, store, errors)
        if len(sys.argv) > 4:
            with open(sys.argv[4], "wb") as image:
                image.write(base64.b64decode(page.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))
    finally:
        browser.terminate()
        browser.wait(30)
    print("\n".join(errors[:10]))
    sys.exit(bool(errors))


main()
