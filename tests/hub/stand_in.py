#!{python}
"""Stands in for Grafana, which no registry has: it reads what Grafana would, and serves health.

It ends at once where something is missing, as the real one does.
"""

import http.server
import json
import os
import sys
from pathlib import Path

home = sys.argv[-1].removeprefix("--homepath=")
Path(home, "conf/defaults.ini").read_text()
environment = os.environ
provisioning = Path(environment["GF_PATHS_PROVISIONING"])
secret = environment["GF_SECURITY_ADMIN_PASSWORD"].removeprefix("$__file{").removesuffix("}")
Path(environment["GF_PATHS_DATA"], "grafana.db").touch()
found = {
    "arguments": sys.argv[1:],
    "uid": os.geteuid(),
    "sources": [path.name for path in provisioning.glob("datasources/*")],
    "boards": [path.name for path in Path(environment["NIGHTSHIFT_DASHBOARDS"]).glob("*.json")],
    "prometheus": environment["NIGHTSHIFT_PROMETHEUS_URL"],
    "password": len(Path(secret).read_text()),
}


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(found).encode()
        self.send_response(200 if self.path == "/api/health" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


at = (environment["GF_SERVER_HTTP_ADDR"], int(environment["GF_SERVER_HTTP_PORT"]))
http.server.ThreadingHTTPServer(at, Health).serve_forever()
