"""A pytest plug-in for moto's shipped tests: a fresh server for each test, and the deselections.

Many of the tests use fixed queue names, so none may see what another left behind. moto reads the
server's address once, so every server of a run listens on the same port.
"""

import os
import pathlib
import socket
import subprocess
import uuid

import pytest

ACCOUNT = "123456789012"
# Ends a server that a crashed run left behind; no test takes as long.
LIFE_SECONDS = "120"
STOP_SECONDS = 10


def pytest_configure(config):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    config.slipring_address = f"127.0.0.1:{port}"
    # Set before the tests are imported: their decorators read it then.
    os.environ["TEST_SERVER_MODE_ENDPOINT"] = f"http://{config.slipring_address}"


def pytest_collection_modifyitems(config, items):
    """Deselects what lists name: part of a test's id, a tab, the reason."""
    paths = [pathlib.Path(path) for path in os.environ["CLIENTS_DESELECTED"].split(os.pathsep)]
    lines = [line for path in paths for line in path.read_text().splitlines() if line.strip()]
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    out, counts = set(), dict.fromkeys((row[0] for row in rows), 0)
    for row in rows:
        if len(row) != 2 or not row[1].strip():
            raise pytest.UsageError(f"{paths}: `{row[0]}` has no reason")
        for item in items:
            if row[0] in item.nodeid:
                out.add(item)
                counts[row[0]] += 1
    for part, count in counts.items():
        if count == 0:
            raise pytest.UsageError(f"{paths}: `{part}` is in no test's id, delete the line")
    config.hook.pytest_deselected(items=[item for item in items if item in out])
    items[:] = [item for item in items if item not in out]
    config.slipring_reasons = rows


def pytest_terminal_summary(terminalreporter, config):
    for part, reason in getattr(config, "slipring_reasons", []):
        terminalreporter.write_line(f"EXCLUDED {part}: {reason}")


def pytest_fixture_setup(fixturedef, request):
    """Gives the account itself where moto's fixture would ask STS, which is another service."""
    if fixturedef.argname == "account_id":
        fixturedef.cached_result = (ACCOUNT, fixturedef.cache_key(request), None)
        return ACCOUNT
    return None


def store(folder):
    """A new store: a file, or a database where CLIENTS_POSTGRES names a server."""
    server = os.environ.get("CLIENTS_POSTGRES")
    if server is None:
        return f"sqlite:{folder / 'slipring.db'}"
    name = f"moto_{uuid.uuid4().hex}"
    create = ["psql", "--quiet", "--command", f"CREATE DATABASE {name}", f"{server}/postgres"]
    subprocess.run(create, check=True)
    return f"{server}/{name}?sslmode=disable"


@pytest.fixture(autouse=True)
def server(request, tmp_path):
    """A server with an empty store for one test."""
    arguments = ["--store", store(tmp_path)]
    arguments += ["--sqs", request.config.slipring_address, "--beanstalkd", "off", "--admin", "off"]
    arguments += ["--account", ACCOUNT, "--region", "us-east-1"]
    command = ["timeout", "--foreground", "--kill-after=10", LIFE_SECONDS]
    command += [os.environ["CLIENTS_BINARY"], "serve"]
    log = pathlib.Path(os.environ["CLIENTS_FOLDER"], "server.log").open("ab")
    process = subprocess.Popen(command + arguments, stdout=subprocess.PIPE, stderr=log)
    assert process.stdout.readline(), "the server did not start, see server.log"
    yield
    process.terminate()
    assert process.wait(STOP_SECONDS) == 0, "the server did not end with status 0"
