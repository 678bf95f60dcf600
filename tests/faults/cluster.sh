#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SLURM's daemons with ioprobe's prolog and epilog, for tests/faults/cluster.py: prints "ready CONF SERVICE_DIR", starts the service
# of node n1 at each line "start_service" and prints its pid, ends with its input.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/slurm.sh"
. "$TESTS/lib/service.sh"

trap 'services_stop; slurm_stop' EXIT
trap 'exit 130' INT TERM
SERVICE_DIR=$TMP/service

for hook in prolog epilog; do
	cat >"$TMP/$hook" <<-HOOK
	#!/bin/sh
	[ "\$SLURMD_NODENAME" = n1 ] || exit 0
	export IOPROBE=$IOPROBE IOPROBE_SOCKET=$SERVICE_DIR/n1.socket
	exec "$TESTS/../tools/slurm/$hook"
	HOOK
	chmod 755 "$TMP/$hook"
done
slurm_start "$TMP/c" "Prolog=$TMP/prolog" "Epilog=$TMP/epilog" >"$TMP/why" || { cat "$TMP/why"; exit 1; }
echo "ready $SLURM_CONF $SERVICE_DIR"
while read -r line; do
	if [ "$line" = start_service ]; then
		service_start n1 "record comment ioprobe" || echo "the service does not start" >&2
		echo "${SERVICE_PID[n1]}"
	fi
done
