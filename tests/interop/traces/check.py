"""A trace through two programs and a collector of other people.

1. Rotel, a collector, takes OTLP over HTTP and hands on what it takes, as it understands it.
2. A client makes spans by OpenTelemetry's SDK for Python, which also writes the `traceparent` of its requests, and sends them
   to the collector. The server does the same with its own.
3. What the collector hands on is one trace: the request of the client, below it that of the server, and below this what
   the database took. A request that the client has decided against is in none.
"""

import gzip
import http.server
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import rotel
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

ROTEL = Path(rotel.__file__).parent / "rotel-agent"
REQUEST = "/api/v1/products?limit=1"


class Taker(http.server.BaseHTTPRequestHandler):
    """Takes what the collector hands on."""

    taken: list = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            said = {it.key: it.value.string_value for it in resource.resource.attributes}
            spans = [span for scope in resource.scope_spans for span in scope.spans]
            self.taken.extend((said, span) for span in spans)
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what: str, check):
    """What `check` gives, once that is something."""
    for _ in range(300):
        try:
            if found := check():
                return found
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"no {what} within a minute")


def listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True


def collector(folder: Path, takes: int, gives: int) -> subprocess.Popen:
    """Step 1."""
    line = [ROTEL, "start", "--exporter", "otlp", "--otlp-exporter-protocol", "http"]
    line += ["--otlp-exporter-endpoint", f"http://127.0.0.1:{gives}"]
    line += ["--otlp-http-endpoint", f"127.0.0.1:{takes}", "--otlp-grpc-endpoint", f"127.0.0.1:{free_port()}"]
    line += ["--pid-file", folder / "pid", "--log-file", folder / "log", "--batch-timeout", "200ms"]
    running = subprocess.Popen(line, stdout=sys.stderr)
    until("collector", lambda: running.poll() is not None or listens(takes))
    return running


def ask(url: str, tracer: trace.Tracer, told: bool) -> tuple[str, str]:
    """Step 2: the ids of the trace and the span of a request."""
    headers = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
    with tracer.start_as_current_span("ask", kind=trace.SpanKind.CLIENT) as span:
        propagate.inject(headers)
        if not told:
            headers["traceparent"] = headers["traceparent"][:-2] + "00"
        request = urllib.request.Request(url + REQUEST, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
        context = span.get_span_context()
        return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def check(told: tuple[str, str], not_told: tuple[str, str]) -> None:
    """Step 3."""
    trace_id, asked = told
    of_trace = lambda id: [(who, span) for who, span in Taker.taken if span.trace_id.hex() == id]  # noqa: E731
    until("whole trace", lambda: len(of_trace(trace_id)) >= 3)
    found = of_trace(trace_id)
    served = [span for who, span in found if span.parent_span_id.hex() == asked]
    assert [span.name for span in served] == ["GET /api/v1/products"], found
    parts = [span for _, span in found if span.parent_span_id == served[0].span_id]
    assert [span.name for span in parts] == ["read"], found
    assert {who["service.name"] for who, _ in found} == {"client", "invoicing"}, found
    own = next(span for _, span in found if span.span_id.hex() == asked)
    # Both clocks are that of this machine.
    inside = own.start_time_unix_nano <= served[0].start_time_unix_nano
    assert inside and served[0].end_time_unix_nano <= own.end_time_unix_nano, found
    # The client tells of its own; the server has heard that nobody should.
    assert [who["service.name"] for who, _ in of_trace(not_told[0])] == ["client"], Taker.taken
    print(f"a trace of {len(found)} spans of two programs went through a collector")


def main() -> None:
    taker = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    threading.Thread(target=taker.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="invoicing-traces-") as name:
        port = free_port()
        running = [collector(Path(name), port, taker.server_port)]
        try:
            provider = TracerProvider(resource=Resource.create({"service.name": "client"}))
            exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{port}/v1/traces")
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            public = free_port()
            line = [os.environ["INVOICING"], "serve", "--listen", f"127.0.0.1:{public}", "--log-level", "warn"]
            server = subprocess.Popen([*line, "--otlp-endpoint", f"http://127.0.0.1:{port}"])
            running.append(server)
            until("server", lambda: listens(public))
            url = f"http://127.0.0.1:{public}"
            not_told, told = (ask(url, provider.get_tracer("check"), told) for told in (False, True))
            # It sends what it has.
            server.terminate()
            server.wait(timeout=40)
            check(told, not_told)
        finally:
            for each in reversed(running):
                each.terminate()
                each.wait(timeout=40)


main()
