# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes from two greenlets that take turns after each write: call_sites_greenlet.py FILE. 4 times 30 by each, from functions of
their own."""
import os
import sys
import time

import greenlet

out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
lets = []


def put():
    os.write(out, b"abc")               # @put


def produce():
    for i in range(120):
        if i % 30 == 0:
            time.sleep(0.15)            # in which the recorder learns where the code is
        put()                           # @produce
        lets[1].switch()


def consume():
    while True:
        put()                           # @consume
        lets[0].switch()


lets += [greenlet.greenlet(produce), greenlet.greenlet(consume)]
lets[0].switch()
