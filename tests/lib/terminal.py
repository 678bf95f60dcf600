#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: terminal.py COLUMNS LINES WORD COMMAND...

Runs the command in a terminal of that size: each of its pages must fit, one of them has the word. Prints what is wrong; status 1
then."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

CLEAR = "\x1b[H\x1b[J"


def output_of(columns, lines, command):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:             # the terminal has no other end any more
                break
            text += part
    return text.decode("utf-8", "replace"), process.returncode


def main():
    columns, lines, word, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    text, status = output_of(columns, lines, command)
    pages = [page.rstrip("\r\n").split("\r\n") for page in text.split(CLEAR)[1:]]
    wrong = [f"status {status}: {text[-300:]!r}"] if status else []
    for page in pages:
        wrong += [f"{len(line)} columns: {line!r}" for line in page if len(line) > columns]
        if len(page) > lines:
            wrong.append(f"{len(page)} lines: {page}")
    if not any(word in line for page in pages for line in page):
        wrong.append(f"no page of {len(pages)} has {word!r}: {text[-300:]!r}")
    print("\n".join(wrong[:5]))
    sys.exit(bool(wrong))


main()
