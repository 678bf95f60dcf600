#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Sockets as resources of I/O, with --sockets; and nothing of them without.
. "$(dirname "$0")/../lib/e2e.sh"

tcp="socket:* tcp 127.0.0.1:* > 127.0.0.1:*"
fresh sockets >/dev/null
record sockets --sockets -- "$P/sockets" "$TMP/sockets/data"
verdict "sockets, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/sockets")")"
contract sockets &&
	expect sockets "layer_bytes('SOCKET') == [11240, 11240]" "operations('SOCKET') == [7, 16]" \
		"layer_bytes('SOCKET', '$tcp') == [10650, 10650]" \
		"layer_bytes('SOCKET', 'socket:* udp 127.0.0.1:*') == [500, 500]" \
		"layer_bytes('SOCKET', 'socket:* unix *$TMP/sockets/data/socket') == [70, 70]" \
		"layer_bytes('POSIX', 'socket:*') == [0, 0]" \
		"written('sendto') == 10290 and read('recvfrom') == 10290" "written('sendmsg') == 600 and read('recvmsg') == 600" \
		"written('sendmmsg') == 300 and read('recvmmsg') == 300" \
		"written('write', path='$tcp') == 50 and read('read', path='$tcp') == 50" \
		"calls('connect') == 3 and failed('connect') == 1" \
		"calls('accept') == 1 and calls('accept4') == 1 and calls('bind') == 4" \
		"calls('listen') == 2 and calls('shutdown') == 1 and calls('socketpair') == 1 and calls('socket') == 6" \
		"creates['SOCKET'] == 8 and destroys['SOCKET'] == 10"
lost_nothing sockets
STRACED=$STRACED,socket,socketpair,bind,listen,accept,accept4,connect,shutdown,sendto,recvfrom,sendmsg,recvmsg
rm -rf "$TMP/sockets/data" && mkdir "$TMP/sockets/data"
same_as_strace sockets "$P/sockets" "$TMP/sockets/data"

# Without the option the descriptors are seen where read and write use them, as before.
fresh without >/dev/null
record without -- "$P/sockets" "$TMP/without/data"
contract without && expect without "'SOCKET' not in paradigms" "calls('sendto') == 0" "layer_bytes('POSIX', 'socket:*') == [50, 50]"
