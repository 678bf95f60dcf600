#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a client of the service can do that 'ioprobe job' does not.

service_client.py SOCKET send TEXT       one packet; prints the messages of the answers
service_client.py SOCKET entries N       a start with N entries, likewise
service_client.py SOCKET jobs N          starts of N jobs that do not exist
service_client.py SOCKET idle N FILE     N connections that say nothing, until it is ended; FILE is made when they are open
service_client.py SOCKET hang-up FILE    a server that closes each connection without an answer; FILE is made when it listens
"""
import json
import os
import socket
import sys
import time


def connect(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(10)
    s.connect(path)
    return s


def send(path, text):
    s = connect(path)
    s.send(text.encode())
    while True:
        answer = s.recv(1 << 20)
        if not answer:
            return
        print(json.loads(answer).get("message", answer.decode()))


def idle(path, n, file):
    held = [connect(path) for _ in range(n)]
    open(file, "w").close()
    time.sleep(60)
    del held


def hang_up(path, file):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(path)
    os.chmod(path, 0o666)
    s.listen(8)
    s.settimeout(60)
    open(file, "w").close()
    while True:
        s.accept()[0].close()


def main(path, what, *rest):
    if what == "send":
        send(path, rest[0])
    elif what == "entries":
        send(path, json.dumps({"request": "start", "job": "77", "entries": ["A=%d" % i for i in range(int(rest[0]))]}))
    elif what == "jobs":
        for i in range(int(rest[0])):
            send(path, json.dumps({"request": "start", "job": str(800000 + i)}))
    elif what == "idle":
        idle(path, int(rest[0]), rest[1])
    elif what == "hang-up":
        hang_up(path, rest[0])


main(*sys.argv[1:])
