#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: report_page.py REPORT.html REPORT.json DIR [IMAGES]

Opens a report in Chromium at widths of 1280 and 400 pixels and as it is printed, without JavaScript: it must request nothing,
report no error, show what the JSON of the same archive has, and be nowhere wider than the page. IMAGES: where name-1280.png,
name-400.png and name.pdf go, a path and the beginning of their names. Prints what is wrong; status 1 then."""
import base64
import json
import os
import re
import struct
import sys
import zlib

from chromium import open_page

# Elements that reach beyond the page; what scrolls by itself is in .wide.
OVERFLOW = """JSON.stringify([document.documentElement.scrollWidth, [...document.querySelectorAll("body *")].filter(e =>
  e.getBoundingClientRect().right > WIDTH + 1 && !e.closest(".wide, svg")).map(e => e.outerHTML.slice(0, 80))])"""
# In print nothing scrolls: what is wider than its place is cut off.
CUT = """JSON.stringify([...document.querySelectorAll(".wide")].filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => e.outerHTML.slice(0, 80)))"""
CONTENT = """(() => { const text = e => e.textContent.trim(), all = what => [...document.querySelectorAll(what)];
  const column = (id, n) => all(`#${id} tr`).slice(1).map(r => text(r.cells[n]));
  const fills = all("svg rect, svg path[class^=k]").filter(e => getComputedStyle(e).fill === "rgb(0, 0, 0)");
  return JSON.stringify({title: document.title, scripts: document.scripts.length,
    sections: all("section").map(e => e.id),
    findings: all("article h3 small").map(text),
    layers: all("h2").some(e => text(e) === "Layers"),
    accesses: column("accesses", 0), handles: column("handles", 0), stacks: column("stacks", 0), nodes: column("nodes", 3),
    black: fills.length,
    boxes: all("section svg").map(e => e.getBoundingClientRect())
      .filter(b => b.width < 10 || b.height < 10).length}); })()"""


def colors_of(png):
    """How many different pixels an image without a palette has; enough to see that it is not empty."""
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IHDR":
            width, _, depth, color = struct.unpack(">IIBB", png[at + 8:at + 18])
        data += png[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    bytes_per_pixel = {2: 3, 6: 4}[color] * depth // 8
    raw, row = zlib.decompress(data), width * bytes_per_pixel + 1
    return len({raw[i:i + bytes_per_pixel] for y in range(0, len(raw), row) for i in range(y + 1, y + row, bytes_per_pixel)})


def check_content(page, report, errors):
    found = json.loads(page.value(CONTENT) or "{}")
    figures = {name: figure for name, figure in report["figures"].items() if figure is not None}
    shown = [f["code"] for f in report["findings"] if f["cause"] is None and f["severity"] != "note"]
    wanted = {"scripts": 0, "black": 0, "boxes": 0, "layers": True, "findings": shown}
    errors += [f"{key}: {found.get(key)} instead of {value}" for key, value in wanted.items() if found.get(key) != value]
    if set(found.get("sections", ())) != set(figures):
        errors.append(f"sections {found.get('sections')}, in JSON {sorted(figures)}")
    rows = {"accesses": [f["path"] for f in figures.get("accesses", {}).get("files", ())][:30], "handles": [], "stacks": [],
            "nodes": []}
    rows["handles"] = [row["layer"] for row in figures["handles"]["handles"]][:24] if "handles" in figures else []
    rows["stacks"] = [row["function"] for row in figures["stacks"]["stacks"]] if "stacks" in figures else []
    for name in ("accesses", "handles", "stacks"):
        if found.get(name, [])[:len(rows[name])] != rows[name]:
            errors.append(f"{name}: rows {found.get(name)}, in JSON {rows[name]}")
    if "nodes" in figures and len(figures["nodes"]["nodes"]) + len(figures["nodes"]["ranks"]) <= 32:
        calls = sorted(int(n["system_calls"]) for kind in figures["nodes"].values() for n in kind)
        if sorted(map(int, found["nodes"])) != calls:
            errors.append(f"nodes: {found['nodes']} system calls, in JSON {calls}")


def check_width(page, width, errors, images):
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    scrolls, wide = json.loads(page.value(OVERFLOW.replace("WIDTH", str(width))))
    if scrolls > width or wide:
        errors.append(f"at {width} pixels the page is {scrolls} wide: {wide[:3]}")
    image = base64.b64decode(page.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
    if colors_of(image) < 16:
        errors.append(f"at {width} pixels the picture is empty")
    if images:
        with open(f"{images}-{width}.png", "wb") as file:
            file.write(image)


def check_print(page, errors, images):
    page.call("Emulation.setEmulatedMedia", media="print")
    # A4 between margins
    page.call("Emulation.setDeviceMetricsOverride", width=720, height=1000, deviceScaleFactor=1, mobile=False)
    cut = json.loads(page.value(CUT))
    if cut:
        errors.append(f"in print it is cut off: {cut[:3]}")
    pdf = base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
    if not pdf.startswith(b"%PDF-") or not re.search(rb"/Type\s*/Page\b", pdf):
        errors.append("no PDF")
    if images:
        with open(f"{images}.pdf", "wb") as file:
            file.write(pdf)


def main():
    path, errors, images = os.path.abspath(sys.argv[1]), [], sys.argv[4] if len(sys.argv) > 4 else None
    with open(sys.argv[2], encoding="utf-8") as file:
        report = json.load(file)
    if os.path.getsize(path) > 5 << 20:
        errors.append(f"{os.path.getsize(path)} bytes")
    with open_page(sys.argv[3]) as page:
        for domain in ("Runtime", "Log", "Network", "Page"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setScriptExecutionDisabled", value=True)
        page.call("Page.navigate", url="file://" + path)
        for _ in range(200):
            if page.value("document.readyState") == "complete" and page.value("location.protocol") == "file:":
                break
        check_content(page, report, errors)
        for width in (1280, 400):
            check_width(page, width, errors, images)
        check_print(page, errors, images)
        if page.requests != ["file://" + path]:
            errors.append(f"it requests {page.requests}")
        errors.extend(page.failures)
    print("\n".join(errors[:10]))
    sys.exit(bool(errors))


main()
