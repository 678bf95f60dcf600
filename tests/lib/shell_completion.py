#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""shell_completion.py bash|zsh SCRIPT DIRECTORY: types lines with TAB into an interactive shell and checks what it runs.

"ioprobe" is a script in DIRECTORY that prints its arguments. Prints a line for each wrong one; the last line is the number of right
ones.
"""
import os
import pty
import select
import sys
import time

# Typed, with \t for TAB, and the arguments that then arrive. A word that is complete is followed by a blank.
CASES = [
    ("mer\t --sam\t", "merge --same-job"),
    ("--qu\t recor\t --keep-s\t", "--quiet record --keep-spool"),
    ("record --attach sess\t", "record --attach session"),
    ("job sta\trt", "job start"),
    ("job vers\t", "job version"),
    ("--max-si\t 1G", "--max-size 1G"),
    ("recover only-d\t", "recover only-directory"),
    ("serve --check-p\t --policy only-f\t", "serve --check-policy --policy only-file"),
    ("probes --library only-f\t", "probes --library only-file"),
    ("record -- only-p\t", "record -- only-program"),
]
LIMIT_S = 30


class Shell:
    def __init__(self, argv, directory):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(directory)
            env = dict(os.environ, PATH=directory + ":" + os.environ["PATH"], TERM="dumb", HOME=directory, PS1="READY> ")
            os.execvpe(argv[0], argv, env)

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait(self, mark):
        """The text up to the mark, or None after LIMIT_S."""
        end = time.monotonic() + LIMIT_S
        while mark not in self.text:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            try:
                self.text += os.read(self.fd, 4096).decode(errors="replace")
            except OSError:
                return None
        before, _, self.text = self.text.partition(mark)
        return before

    def end(self):
        self.send("\x03\nexit\n")
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def start(name, script, directory):
    if name == "bash":
        shell = Shell(["bash", "--norc", "--noprofile", "-i"], directory)
        setup = f". {script}; PS1='READY> '; bind 'set bell-style none'"
    else:
        shell = Shell(["zsh", "-f", "-i"], directory)
        setup = (f"fpath=({os.path.dirname(script)} $fpath); autoload -Uz compinit; compinit -u -D; "
                 "PS1='READY> '; unsetopt beep promptsp")
    shell.send(setup + "; echo SET''UP\n")
    if shell.wait("SETUP") is None or shell.wait("READY> ") is None:
        print(f"{name} did not start: {shell.text[-200:]!r}")
        sys.exit(1)
    return shell


def main():
    name, script, directory = sys.argv[1:]
    with open(os.path.join(directory, "ioprobe"), "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nprintf "A''RGS:%s:END\\n" "$*"\n')
    os.chmod(os.path.join(directory, "ioprobe"), 0o755)
    os.symlink("ioprobe", os.path.join(directory, "only-program"))
    os.mkdir(os.path.join(directory, "only-directory"))
    open(os.path.join(directory, "only-file"), "w", encoding="ascii").close()
    shell = start(name, script, directory)
    right = 0
    for typed, wanted in CASES:
        shell.send("ioprobe " + typed + "\n")
        got = shell.wait("ARGS:")
        got = shell.wait(":END") if got is not None else None
        if got is None or " ".join(got.split()).rstrip("/") != wanted:
            print(f"{typed!r}: {got!r} instead of {wanted!r}")
            if got is None:
                break
        else:
            right += 1
    shell.end()
    print(right, "of", len(CASES))
    return 0


sys.exit(main())
