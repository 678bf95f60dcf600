# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Chromium without a window, by its debugging protocol.
import base64
import contextlib
import json
import os
import socket
import struct
import subprocess
import time
import urllib.request


class Page:
    """One page of a browser, by its debugging protocol."""
    def __init__(self, browser, directory):
        for _ in range(200):
            if os.path.exists(f"{directory}/DevToolsActivePort") and open(f"{directory}/DevToolsActivePort",
                                                                          encoding="utf-8").read().count("\n"):
                break
            if browser.poll() is not None:
                raise OSError(f"chromium ended with {browser.returncode}")
            time.sleep(0.05)
        port = open(f"{directory}/DevToolsActivePort", encoding="utf-8").readline().strip()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as answer:
            path = next(page for page in json.load(answer) if page["type"] == "page")["webSocketDebuggerUrl"].split("/", 3)[3]
        self.socket = socket.create_connection(("127.0.0.1", int(port)), 20)
        self.file = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
        while self.file.readline().strip():
            pass
        self.last, self.failures, self.requests = 0, [], []

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
        head = bytes([0x81]) + (bytes([0x80 | len(text)]) if len(text) < 126
                                else bytes([0x80 | 126]) + struct.pack(">H", len(text)))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(text)))
        while True:
            message = self.receive()
            self.note(message.get("method"), message.get("params", {}))
            if message.get("id") == self.last:
                return message.get("result", message)

    def note(self, method, event):
        """Failures of scripts, errors of the console (also of the content security policy), and requests."""
        if method == "Runtime.exceptionThrown":
            self.failures.append(event["exceptionDetails"].get("exception", {}).get("description", "a script failed"))
        elif method == "Log.entryAdded" and event["entry"]["level"] == "error":
            self.failures.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression).get("result", {}).get("value")


@contextlib.contextmanager
def open_page(directory):
    """A Page; directory: for the browser's own files."""
    browser = subprocess.Popen(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                "--no-first-run",
                                "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
                                f"--user-data-dir={directory}", "about:blank"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield Page(browser, directory)
    finally:
        browser.terminate()
        browser.wait(30)
