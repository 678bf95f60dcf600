#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: prometheus.py ADDRESS FILE.prom SUMMARY.json DIR

A real Prometheus scrapes /metrics of "ioprobe watch" at ADDRESS, and a real node_exporter that has FILE.prom: what either knows of calls, bytes, sizes and
losses must be the summary's. promtool checks the file. Prints what is wrong; status 1 then."""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

CONFIG = """
global: {{scrape_interval: 250ms, scrape_timeout: 250ms}}
scrape_configs:
  - job_name: watch
    metrics_path: /metrics
    params: {{token: ["{token}"]}}
    static_configs: [{{targets: ["{watch}"]}}]
  - job_name: textfile
    static_configs: [{{targets: ["127.0.0.1:{exporter}"]}}]
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def query(port, expression):
    address = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return json.load(answer)["data"]["result"]
    except OSError:
        return []


def start(log, *words):
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def compare(port, job, summary, errors):
    def known(expression):
        return {row["metric"].get("layer"): float(row["value"][1]) for row in query(port, expression)}
    selector = f'job="{job}"'
    for metric, field in (("calls_total", "calls"), ("failed_calls_total", "failed")):
        found = known(f"ioprobe_{metric}{{{selector}}}")
        wanted = {layer["name"]: layer[field] for layer in summary["layers"]}
        if found != wanted:
            errors.append(f"{job}: {metric} is {found}, in the summary {wanted}")
    for way in ("read", "write"):
        found = known(f'sum by (layer) (ioprobe_bytes_total{{{selector},direction="{way}"}})')
        sizes = known(f'ioprobe_operation_size_bytes_count{{{selector},direction="{way}"}}')
        for layer in summary["layers"]:
            wanted = layer["bytes_read" if way == "read" else "bytes_written"]
            if found.get(layer["name"], 0) != wanted or sizes[layer["name"]] != sum(layer[f"{way}_sizes"]):
                errors.append(f"{job}: {layer['name']} {way}: {found} bytes, {sizes} operations, in the summary {layer}")
    lost = query(port, f"ioprobe_lost_records_total{{{selector}}}")
    if [float(row["value"][1]) for row in lost] != [summary["records_lost"]]:
        errors.append(f"{job}: lost {lost}, in the summary {summary['records_lost']}")


def main():
    address, text, directory, errors = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2], sys.argv[4], []
    with open(sys.argv[3], encoding="utf-8") as file:
        summary = json.load(file)
    with open(text, encoding="utf-8") as file:
        checked = subprocess.run(["promtool", "check", "metrics"], stdin=file, capture_output=True, text=True, check=False)
    if checked.returncode or checked.stderr:
        errors.append(f"promtool: {checked.stdout} {checked.stderr}")
    port, exporter = free_port(), free_port()
    with open(f"{directory}/prometheus.yml", "w", encoding="utf-8") as file:
        file.write(CONFIG.format(token=urllib.parse.parse_qs(address.query)["token"][0], watch=address.netloc, exporter=exporter))
    with open(f"{directory}/log", "wb") as log:
        servers = [start(log, "prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                         f"--collector.textfile.directory={os.path.dirname(text)}", f"--web.listen-address=127.0.0.1:{exporter}"),
                   start(log, "prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
                         f"--web.listen-address=127.0.0.1:{port}")]
        try:
            for _ in range(300):
                if len(query(port, "ioprobe_recording_ended == 1")) == 2:
                    break
                time.sleep(0.1)
            compare(port, "watch", summary, errors)
            compare(port, "textfile", summary, errors)
        finally:
            for server in servers:
                server.send_signal(signal.SIGTERM)
            for server in servers:
                server.wait(30)
    print("\n".join(errors[:10]))
    sys.exit(bool(errors))


main()
