"""Check the health of the container: exit code 0 if its site answers `/healthz`.

The request carries the first name of ALLOWED_HOSTS, because 127.0.0.1 need not be among them.
"""

import os
from urllib.request import Request, urlopen

TIMEOUT_S = 3

host = os.environ.get("ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".*") or "localhost"
port = os.environ.get("PORT") or "8000"
urlopen(Request(f"http://127.0.0.1:{port}/healthz", headers={"Host": host}), timeout=TIMEOUT_S)
