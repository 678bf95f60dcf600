#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: watch_page.py ADDRESS SUMMARY.json

Asks the page of "ioprobe watch" as a browser does, and as a stranger. Prints what is wrong; status 1 then."""
import collections
import json
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request


def ask(address, host=None):
    """Status, headers and body."""
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def reached(address):
    """The answer, as a browser gets it: while all connections are taken the server resets new ones, so it tries again."""
    end = time.monotonic() + 15
    while True:
        try:
            return urllib.request.urlopen(address, timeout=10)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def read_events(address):
    with reached(address) as answer:
        for line in answer:
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                yield event
                if event["type"] == "end":
                    return


def answers_in_a_crowd(address, netloc):
    """Others of the host hold all connections and say nothing: the page is there nevertheless, when they had their time."""
    host, port = netloc.split(":")
    crowd, end = [socket.create_connection((host, int(port))) for _ in range(20)], time.monotonic() + 15
    try:
        while time.monotonic() < end:
            try:
                if ask(address)[0] == 200:
                    return True
            except OSError:
                time.sleep(0.5)
        return False
    finally:
        for connection in crowd:
            connection.close()


def main():
    address, errors = sys.argv[1], []
    parts = urllib.parse.urlsplit(address)
    base = f"http://{parts.netloc}"
    if parts.hostname != "127.0.0.1":
        errors.append(f"it listens on {parts.hostname}")
    for what, stranger, host in (("without a token", base + "/", None),
                                 ("with a wrong token", f"{base}/events?token={'0' * 32}", None),
                                 ("events without a token", base + "/events", None),
                                 ("under another name", address, "attacker.example")):
        status, _, body = ask(stranger, host)
        if status != 403 or len(body) > 100:
            errors.append(f"{what}: status {status}, {len(body)} bytes")
    status, headers, body = ask(address)
    if status != 200 or "<main>" not in body or "default-src 'none'" not in headers.get("Content-Security-Policy", ""):
        errors.append(f"the page: status {status}, {dict(headers)}")
    for name in ("page.css", "page.js"):
        if ask(f"{base}/{name}")[0] != 200:
            errors.append(f"{name} is missing")
    if not answers_in_a_crowd(address, parts.netloc):
        errors.append("it does not answer while others hold idle connections")
    sums, ended = collections.defaultdict(collections.Counter), False
    for event in read_events(f"{base}/events?{parts.query}"):
        ended |= event["type"] == "end"
        for layer in event.get("layers", ()):
            for key in ("calls", "failed", "read", "written"):
                sums[layer["name"]][key] += layer[key]
    with open(sys.argv[2], encoding="utf-8") as file:
        layers = json.load(file)["layers"]
    wanted = {layer["name"]: {"calls": layer["calls"], "failed": layer["failed"], "read": layer["bytes_read"],
                              "written": layer["bytes_written"]}
              for layer in layers}
    if {name: dict(counter) for name, counter in sums.items()} != wanted:
        errors.append(f"the page has {dict(sums)}, the summary {wanted}")
    if not ended or not wanted:
        errors.append("no end, or nothing was compared")
    print("\n".join(errors))
    sys.exit(bool(errors))


main()
