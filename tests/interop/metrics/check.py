"""What a server tells at /metrics, read by others.

1. promtool finds nothing wrong with the alerts, and their cases hold.
2. A server of its own, without and with traffic: the page is OpenMetrics for the strict parser of Prometheus' Python client,
   and promtool finds nothing to say about the names (`check metrics`, on what that client makes of the page).
3. Prometheus scrapes the server. It takes every sample and has every series; every query of the dashboard has an answer, but
   for those of PostgreSQL, and every alert can be asked.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

PACKAGING = Path(__file__).resolve().parents[3] / "packaging"
ALERTS = PACKAGING / "prometheus/alerts.yml"
DASHBOARD = PACKAGING / "grafana/dashboard.json"

# Of PostgreSQL or of TLS alone; the server here has SQLite, and speaks plainly.
OTHERS = (
    "invoicing_database_connection_waiting",
    "invoicing_database_retries",
    "invoicing_tls_certificate_end",
    "invoicing_write_undone_groups",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetch(url: str, accept: str = "*/*") -> str:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=30) as answer:
        return answer.read().decode()


def until(what: str, check):
    """What `check` gives, once that is something."""
    for _ in range(300):
        try:
            if found := check():
                return found
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.2)
    sys.exit(f"no {what} within a minute")


def promtool(*arguments: str, stdin: str | None = None) -> None:
    done = subprocess.run(["promtool", *arguments], input=stdin, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"promtool {' '.join(arguments)}:\n{done.stdout}{done.stderr}")


class Families:
    """What a page has, for the client's own writer."""

    def __init__(self, families: list) -> None:
        self.families = families

    def collect(self) -> list:
        return self.families


def check_page(url: str) -> list:
    """Step 2: the families of the page."""
    families = list(text_string_to_metric_families(fetch(url)))
    promtool("check", "metrics", stdin=generate_latest(Families(families)).decode())
    return families


def some_traffic(url: str) -> None:
    for path in ("/api/v1/products", "/nothing", "/docs/catalog", "/api/v1/products?limit=0"):
        request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {os.environ['API_KEY']}"})
        try:
            urllib.request.urlopen(request, timeout=30).read()
        except urllib.error.HTTPError as error:
            error.read()


def queries() -> list[str]:
    """Those of the dashboard, for every job and replica."""
    dashboard = json.loads(DASHBOARD.read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    filled = [re.sub(r"\$(job|instance)\b", ".*", query).replace("$__rate_interval", "1m") for query in found]
    assert len(filled) > 40, filled
    return filled


def check_prometheus(folder: Path, operations: str, families: list) -> None:
    """Step 3."""
    config = folder / "prometheus.yml"
    scrape = {"job_name": "invoicing", "scrape_interval": "1s", "static_configs": [{"targets": [operations]}]}
    config.write_text(json.dumps({"scrape_configs": [scrape], "rule_files": [str(ALERTS)]}))
    promtool("check", "config", str(config))
    port = free_port()
    line = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    line += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    prometheus = subprocess.Popen(line)
    try:
        ask_prometheus(f"http://127.0.0.1:{port}/api/v1", families)
    finally:
        prometheus.terminate()
        prometheus.wait(timeout=30)


def ask_prometheus(api: str, families: list) -> None:
    def ask(query: str) -> list:
        answer = json.loads(fetch(f"{api}/query?{urllib.parse.urlencode({'query': query})}"))
        assert answer["status"] == "success", answer
        return answer["data"]["result"]

    until("target", lambda: ask('up{job="invoicing"} == 1'))
    samples = sum(len(family.samples) for family in families)
    taken = ask('scrape_samples_scraped{job="invoicing"}')[0]["value"][1]
    assert int(taken) == samples, f"{taken} of {samples} samples were taken"
    # For a rate there have to be two.
    until("second scrape", lambda: ask('count_over_time(up{job="invoicing"}[1m]) > 3'))
    for family in families:
        for name in {sample.name for sample in family.samples}:
            assert ask(name), f"{name} is not there"
    empty = [query for query in queries() if not ask(query)]
    assert not [query for query in empty if not any(name in query for name in OTHERS)], empty
    alerts = json.loads(fetch(f"{api}/rules"))["data"]["groups"][0]["rules"]
    broken = [rule for rule in alerts if rule["health"] == "err"]
    assert not broken, broken
    print(f"{samples} samples, {len(queries())} queries, {len(alerts)} alerts")


def main() -> None:
    promtool("check", "rules", str(ALERTS))
    promtool("test", "rules", str(ALERTS.with_name("alerts.test.yml")))
    with tempfile.TemporaryDirectory(prefix="invoicing-metrics-") as name:
        folder = Path(name)
        operations, public = (f"127.0.0.1:{free_port()}" for _ in range(2))
        line = [os.environ["INVOICING"], "serve", "--listen", public, "--operations-listen", operations]
        line += ["--origin", "http://localhost:8080", "--log-level", "error"]
        server = subprocess.Popen(line)
        try:
            url = f"http://{operations}/metrics"
            until("server", lambda: fetch(url))
            before = {sample.name for family in check_page(url) for sample in family.samples}
            some_traffic(f"http://{public}")
            families = check_page(url)
            after = {sample.name for family in families for sample in family.samples}
            assert before == after, after - before
            check_prometheus(folder, operations, families)
        finally:
            server.terminate()
            server.wait(timeout=40)


main()
