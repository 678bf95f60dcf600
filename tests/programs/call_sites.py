# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes from known lines of Python code: call_sites.py FILE. Lines with a name behind an at-sign are what tests/lib/call_sites.py
looks for.

4 rounds of 37 writes: 1 by a constructor, 10 in a loop, 5 by a generator, 3 by map(), 4 by a lambda function in functools.reduce(),
3 by the key function of sorted(), and 11 from functions that call each other."""
import functools
import os
import sys
import time


class Writer:
    def __init__(self, fd):
        self.fd = fd
        os.write(self.fd, b"abc")       # @constructor

    def put(self, _):
        os.write(self.fd, b"abc")       # @put


def numbers(writer):
    for i in range(5):
        writer.put(i)                   # @generator
        yield i


def deep(writer, depth):
    writer.put(depth)                   # @deep
    if depth:
        deep(writer, depth - 1)         # @deeper


def a_round(fd):
    writer = Writer(fd)                 # @new
    for i in range(10):
        writer.put(i)                   # @loop
    for _ in numbers(writer):           # @next
        pass
    list(map(writer.put, range(3)))     # @map
    functools.reduce(lambda a, b: writer.put(b), range(5))                     # @reduce
    sorted(range(3), key=lambda v: os.write(fd, b"abc"))                       # @sorted
    deep(writer, 10)                    # @recursion


def main():
    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
    for _ in range(4):
        time.sleep(0.15)                # the recorder learns where code is meanwhile
        a_round(fd)                     # @round
    time.sleep(0.15)


main()                                  # @main
