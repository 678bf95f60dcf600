#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: prometheus.py ADDRESS FILE.prom SUMMARY.json DIR [SERVER]
       prometheus.py --dashboard NAME FILE.prom DIR [SERVER]

A real server (prometheus, or victoria-metrics) scrapes /metrics of "ioprobe watch" at ADDRESS, and a real node_exporter that has
FILE.prom: what either knows of calls, bytes, sizes and losses must be the summary's, and each query of the Grafana dashboard must
have an answer. promtool checks the file. With
--dashboard, only FILE.prom is scraped and the queries of that dashboard are run. Prints what is wrong; status 1 then."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import dashboards

SCRAPE = """
  - job_name: {job}
    scrape_interval: 250ms
    scrape_timeout: 250ms
    static_configs: [{{targets: ["{target}"]}}]
"""
TOKEN = """
    metrics_path: /metrics
    params: {{token: ["{token}"]}}
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


def server_command(server, directory, port):
    if server == "victoria-metrics":
        return ["victoria-metrics", f"-promscrape.config={directory}/scrape.yml", f"-storageDataPath={directory}/data-{server}",
                f"-httpListenAddr=127.0.0.1:{port}", "-search.latencyOffset=0s", "-search.disableCache"]
    return ["prometheus", f"--config.file={directory}/scrape.yml", f"--storage.tsdb.path={directory}/data-{server}",
            f"--web.listen-address=127.0.0.1:{port}"]


@contextlib.contextmanager
def servers(directory, server, text, watch):
    """Port of a server that scrapes node_exporter with the file, and the page if there is one."""
    port, exporter = free_port(), free_port()
    config = "scrape_configs:" + SCRAPE.format(job="textfile", target=f"127.0.0.1:{exporter}")
    if watch:
        address = urllib.parse.urlsplit(watch)
        token = urllib.parse.parse_qs(address.query)["token"][0]
        config += SCRAPE.format(job="watch", target=address.netloc) + TOKEN.format(token=token)
    with open(f"{directory}/scrape.yml", "w", encoding="utf-8") as file:
        file.write(config)
    commands = (["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                 f"--collector.textfile.directory={os.path.dirname(text)}", f"--web.listen-address=127.0.0.1:{exporter}"],
                server_command(server, directory, port))
    with open(f"{directory}/log", "ab") as log:
        running = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log) for command in commands]
    try:
        yield port
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(30)


def wait_for(port, expression, results, errors):
    for _ in range(300):
        if len(query(port, expression)) == results:
            return
        time.sleep(0.1)
    errors.append(f"{expression}: {query(port, expression)} after 30 s")


def compare(port, job, summary, errors):
    def known(expression):
        return {row["metric"].get("layer"): float(row["value"][1]) for row in query(port, expression)}
    selector = f'job="{job}"'
    for metric, field in (("calls_total", "calls"), ("failed_calls_total", "failed")):
        found = known(f"ioprobe_{metric}{{{selector}}}")
        wanted = {layer["name"]: layer[field] for layer in summary["layers"]}
        if found != wanted:
            errors.append(f"{job}: {metric} is {found}, in the summary {wanted}")
    classes = {(row["metric"]["layer"], row["metric"]["class"]): float(row["value"][1])
               for row in query(port, f"ioprobe_class_calls_total{{{selector}}}")}
    wanted = {(layer["name"], name): values["calls"] for layer in summary["layers"] for name, values in layer["classes"].items()}
    if classes != wanted:
        errors.append(f"{job}: class_calls_total is {classes}, in the summary {wanted}")
    for way in ("read", "write"):
        found = known(f'sum by (layer) (ioprobe_bytes_total{{{selector},direction="{way}"}})')
        sizes = known(f'ioprobe_operation_size_bytes_count{{{selector},direction="{way}"}}')
        for layer in summary["layers"]:
            wanted = layer["bytes_read" if way == "read" else "bytes_written"]
            if found.get(layer["name"], 0) != wanted or sizes.get(layer["name"]) != sum(layer[f"{way}_sizes"]):
                errors.append(f"{job}: {layer['name']} {way}: {found} bytes, {sizes} operations, in the summary {layer}")
    lost = query(port, f"ioprobe_lost_records_total{{{selector}}}")
    if [float(row["value"][1]) for row in lost] != [summary["records_lost"]]:
        errors.append(f"{job}: lost {lost}, in the summary {summary['records_lost']}")


def ask_dashboard(port, name, errors):
    """Rates need two samples: the first of a series may just have come."""
    for title, expression in dashboards.promql(name):
        for _ in range(50):
            found = query(port, expression)
            if found:
                break
            time.sleep(0.1)
        else:
            errors.append(f"{name}: {title}: no answer to {expression}")


def check_text(text, errors):
    with open(text, encoding="utf-8") as file:
        checked = subprocess.run(["promtool", "check", "metrics"], stdin=file, capture_output=True, text=True, check=False)
    if checked.returncode or checked.stderr:
        errors.append(f"promtool: {checked.stdout} {checked.stderr}")


def check_recording(address, text, summary_file, directory, server, errors):
    with open(summary_file, encoding="utf-8") as file:
        summary = json.load(file)
    with servers(directory, server, text, address) as port:
        wait_for(port, "ioprobe_recording_ended == 1", 2, errors)
        compare(port, "watch", summary, errors)
        compare(port, "textfile", summary, errors)
        ask_dashboard(port, "ioprobe-prometheus.json", errors)


def check_dashboard(name, text, directory, server, errors):
    with servers(directory, server, text, None) as port:
        wait_for(port, "ioprobe_service_recordings", 1, errors)
        ask_dashboard(port, name, errors)


def main():
    arguments, errors = sys.argv[1:], []
    server = arguments.pop() if len(arguments) == 5 else "prometheus"
    if len(arguments) != 4:
        sys.exit(__doc__)
    if arguments[0] == "--dashboard":
        check_text(arguments[2], errors)
        check_dashboard(*arguments[1:], server, errors)
    else:
        check_text(arguments[1], errors)
        check_recording(*arguments, server, errors)
    print("\n".join(errors[:10]))
    sys.exit(bool(errors))


main()
