#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: browser.py ADDRESS STORE DIR [STOP [IMAGE.png]]

Opens the page of "ioprobe watch" in Chromium: its totals must be the store's, no script may fail, at a width of 400 pixels nothing
overflows, a drag over a chart zooms and a button ends that. STOP: the recording runs until this file is made, which is when the
panels have moved and a pause was obeyed. With IMAGE also a picture of it. Prints what is wrong; status 1 then."""
import base64
import json
import sqlite3
import sys
import time

from chromium import open_page

OVERFLOW = """(() => { const right = e => e.getBoundingClientRect().right;
  const wide = [...document.querySelectorAll("body *")].filter(e => right(e) > innerWidth + 1 && !e.closest("section table, svg"));
  return JSON.stringify([document.documentElement.scrollWidth, innerWidth, wide.map(e => e.outerHTML.slice(0, 80))]); })()"""
DRAG = """(() => { const chart = document.getElementById("calls"), box = chart.firstChild.getBoundingClientRect();
  const go = (type, share) => chart.dispatchEvent(new PointerEvent(type,
    {clientX: box.left + box.width * share, clientY: box.top + 50, button: 0}));
  const count = () => chart.querySelector("polyline").getAttribute("points").split(" ").length, before = count();
  go("pointerdown", 0.4); go("pointerup", 0.8);
  const zoomed = count(), button = document.getElementById("whole"), offered = !button.hidden; button.click();
  return JSON.stringify([before, zoomed, count(), offered, button.hidden]); })()"""


def totals_of(store):
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    totals = {}
    for layer, *values in db.execute("SELECT layer, sum(calls), sum(failed), sum(time_ns) FROM calls GROUP BY layer"):
        totals[layer] = dict(zip(("calls", "failed", "time_ns"), values), read=0, written=0, classes={})
    by_class = "SELECT layer, class, sum(calls) FROM class_calls GROUP BY layer, class HAVING sum(calls) > 0"
    for layer, name, calls in db.execute(by_class):
        totals[layer]["classes"][name] = calls
    for layer, read, written in db.execute("SELECT layer, sum(bytes_read), sum(bytes_written) FROM operations GROUP BY layer"):
        totals[layer].update(read=read, written=written)
    return totals


def has_end(store):
    return sqlite3.connect(f"file:{store}?mode=ro", uri=True).execute("SELECT count(end_ns) FROM job").fetchone()[0]


def wait_for(page, expression, seconds):
    for _ in range(seconds * 20):
        if page.value(expression):
            return True
        time.sleep(0.05)
    return False


# What every panel shows, as text or as the points of its lines.
PANELS = """JSON.stringify(Object.fromEntries(["written", "read", "calls", "classes", "metadata", "flight", "layers", "totals",
  "sizes", "mounts", "health", "processes", "files"]
  .map(id => [id, byId(id).innerHTML]).concat([["heat", byId("heat").toDataURL()]])))"""


MOUNT_KNOWN = """[...byId("mounts").tBodies[0].rows].some(row => row.cells[0].textContent.startsWith("/") &&
  row.cells[3].textContent !== "0 B")"""


def check_movement(page, errors):
    """While the recording runs every panel shows something and changes; paused, none does."""
    if not wait_for(page, 'typeof intervals !== "undefined" && intervals.length >= 2', 20) or not wait_for(page, MOUNT_KNOWN, 20):
        errors.append(f"the page shows no interval: {page.value('document.body.innerText')[:300]}")
        return
    before = json.loads(page.value(PANELS))
    first = page.value("intervals.length")
    if not wait_for(page, f"intervals.length >= {first} + 3 && !pending", 20):
        errors.append("no further intervals come")
    still = set(before) - {"sizes"}
    for _ in range(400):        # the times of the ten slowest processes have two digits: some intervals change none
        still -= {name for name, value in json.loads(page.value(PANELS)).items() if value != before[name]}
        if not still:
            break
        time.sleep(0.05)
    if still:
        errors.append(f"these panels do not move: {still}")
    page.value('byId("pause").click()')
    paused, first = page.value(PANELS), page.value("intervals.length")
    wait_for(page, f"intervals.length >= {first} + 2", 20)
    if page.value(PANELS) != paused:
        errors.append("a panel moves although the page is paused")
    page.value('byId("pause").click()')


def check(page, address, store, stop, errors):
    page.call("Runtime.enable")
    page.call("Page.enable")
    page.call("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=True)
    page.call("Page.navigate", url=address)
    if stop:
        try:
            check_movement(page, errors)
        finally:
            with open(stop, "w", encoding="utf-8"):
                pass
        while not has_end(store):
            time.sleep(0.05)
    for _ in range(200):
        if (page.value('document.getElementById("state").textContent') or "").startswith("the recording has ended"):
            break
        time.sleep(0.05)
    text = page.value('document.getElementById("totals").dataset.totals')
    keys = ("calls", "failed", "time_ns", "read", "written", "classes")
    found = {layer["name"]: {key: layer[key] for key in keys} for layer in json.loads(text or "[]")}
    if found != totals_of(store) or not found:
        errors.append(f"the page has {found}, the store {totals_of(store)}; {page.value('document.body.innerText')}")
    rows = page.value('[...document.getElementById("totals").tBodies[0].rows].map(row => row.cells[0].textContent + " " + '
                      'row.cells[1].textContent).join()')
    if rows != ",".join(f"{name} {layer['calls']}" for name, layer in found.items()):
        errors.append(f"the table of totals has {rows}")
    if stop and not page.value('byId("files").textContent.includes("onerror=alert") && !document.querySelector("#files img")'):
        errors.append("a hostile name is not shown as text: " + page.value('byId("files").innerHTML')[:500])
    width, inner, wide = json.loads(page.value(OVERFLOW))
    if width > 400 or inner != 400 or wide:
        errors.append(f"at 400 pixels the page is {width} of {inner} wide; {wide}")
    before, zoomed, after, offered, hidden = json.loads(page.value(DRAG) or "[0, 0, 0, 0, 0]")
    if not 1 <= zoomed < before or after != before or not offered or not hidden:
        errors.append(f"zoom: {before} intervals, {zoomed}, {after}; the button was shown {offered}, hidden again {hidden}")
    errors.extend(page.failures)


def main():
    address, store, directory, errors = sys.argv[1], sys.argv[2], sys.argv[3], []
    with open_page(directory) as page:
        check(page, address, store, sys.argv[4] if len(sys.argv) > 4 else "", errors)
        if len(sys.argv) > 5:
            with open(sys.argv[5], "wb") as image:
                image.write(base64.b64decode(page.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))
    print("\n".join(errors[:10]))
    sys.exit(bool(errors))


main()
