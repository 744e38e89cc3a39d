"""Starting `slipring beanstalkd` the way scripts start beanstalkd."""

import contextlib
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

import greenstalk

READY_SECONDS = 5
STOP_SECONDS = 5
PR_SET_PDEATHSIG = 1


def end_with_parent():
    """Asks Linux to end this process when the test program is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def verb():
    """The subcommand; empty in CLIENTS_VERB to run the same tests against the original."""
    return os.environ.get("CLIENTS_VERB", "beanstalkd").split()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def scratch():
    """A new folder; its path is short enough for a Unix socket."""
    return pathlib.Path(tempfile.mkdtemp(prefix="slipring-"))


class DropIn:
    """A running server: `address` for clients, `process` for signals."""

    def __init__(self, *arguments, address=None):
        self.address = address or ("127.0.0.1", free_port())
        listen = (
            ["-l", "unix:" + self.address]
            if isinstance(self.address, str)
            else ["-l", self.address[0], "-p", str(self.address[1])]
        )
        started = time.monotonic()
        self.process = subprocess.Popen(
            [os.environ["CLIENTS_BINARY"], *verb(), *listen, *arguments],
            stdout=subprocess.DEVNULL,
            preexec_fn=end_with_parent,
        )
        self.client().close()
        self.ready_seconds = time.monotonic() - started

    def client(self, **options):
        """A connection; tries again until the server is ready."""
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                return greenstalk.Client(self.address, **options)
            except (ConnectionRefusedError, FileNotFoundError):
                assert self.process.poll() is None, "the server ended"
                assert time.monotonic() < deadline, "the server is not ready"

    def end(self, signal):
        """Ends the server and returns its status."""
        self.process.send_signal(signal)
        return self.process.wait(STOP_SECONDS)


@contextlib.contextmanager
def drop_in(*arguments, **options):
    server = DropIn(*arguments, **options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
