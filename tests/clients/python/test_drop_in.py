"""`slipring beanstalkd` with the flags of the original, driven by greenstalk."""

import os
import pathlib
import signal
import subprocess
import time

import greenstalk
import pytest
from drop_in import READY_SECONDS, drop_in, scratch, verb

ZERO = ("cmd-", "current-jobs-", "binlog-", "total-jobs", "job-timeouts", "current-waiting")


def test_a_fresh_server_counts_from_nothing_and_gives_id_1():
    with drop_in() as server:
        client = server.client()
        told = client.stats()
        assert told.pop("cmd-stats") == 1
        # A setting, not a counter: the size of a log file in the original, which we do not have.
        assert told.pop("binlog-max-size") >= 0
        assert {key: value for key, value in told.items() if key.startswith(ZERO) and value} == {}
        assert (told["current-tubes"], told["max-job-size"]) == (1, 65_535)
        # The one that found the server ready ends when the server sees that it is gone.
        deadline = time.monotonic() + READY_SECONDS
        while client.stats()["current-connections"] != 1:
            assert time.monotonic() < deadline, "a connection that is gone is counted"
        assert client.tubes() == ["default"]
        assert client.put("x") == 1


def test_the_server_is_ready_within_a_moment():
    times = []
    for _ in range(5):
        with drop_in() as server:
            times.append(server.ready_seconds)
    assert min(times) < 0.1, times


def test_a_unix_socket_serves_like_a_port():
    address = str(scratch() / "socket")
    with drop_in(address=address) as server:
        client = server.client()
        client.put("x")
        assert client.reserve(timeout=5).body == "x"


def test_a_folder_keeps_the_jobs_over_kill_9():
    folder = scratch() / "log"
    folder.mkdir()
    with drop_in("-b", str(folder), "-f", "0") as server:
        client = server.client(use="kept", watch="kept")
        ids = [client.put(str(n), priority=n, ttr=600) for n in range(5)]
        client.delete(client.reserve(timeout=5))
        client.bury(client.reserve(timeout=5), priority=1)
        client.put("later", delay=600)
        server.end(signal.SIGKILL)
    with drop_in("-b", str(folder)) as server:
        client = server.client(use="kept", watch="kept")
        told = client.stats_tube("kept")
        assert told["current-jobs-ready"] == 3
        assert (told["current-jobs-buried"], told["current-jobs-delayed"]) == (1, 1)
        assert [client.reserve(timeout=5).id for _ in range(3)] == ids[2:]
        assert client.peek_buried().id == ids[1]


def test_without_a_folder_nothing_is_kept():
    with drop_in() as server:
        server.client().put("x")
        assert server.end(signal.SIGTERM) == 0


def test_the_largest_job_can_be_set():
    with drop_in("-z", "100000") as server:
        client = server.client()
        assert client.stats()["max-job-size"] == 100_000
        client.put("x" * 100_000)
        with pytest.raises(greenstalk.JobTooBigError):
            client.put("x" * 100_001)


def test_drain_mode_refuses_new_jobs_and_hands_out_the_old():
    with drop_in() as server:
        client = server.client()
        client.put("old")
        server.process.send_signal(signal.SIGUSR1)
        while client.stats()["draining"] != "true":
            pass
        with pytest.raises(greenstalk.DrainingError):
            client.put("new")
        assert client.reserve(timeout=5).body == "old"


def test_the_flags_of_scripts_are_understood():
    folder = scratch() / "log"
    folder.mkdir()
    flags = ["-b", str(folder), "-f", "50", "-F", "-z", "65535", "-V"]
    with drop_in(*flags) as server:
        assert server.client().put("x") == 1


def test_a_busy_port_is_an_error_that_names_it():
    with drop_in() as server:
        port = str(server.address[1])
        binary = pathlib.Path(os.environ["CLIENTS_BINARY"])
        second = subprocess.run(
            [binary, *verb(), "-l", "127.0.0.1", "-p", port],
            capture_output=True,
            text=True,
            timeout=10,
        )
        assert second.returncode != 0
        assert port in second.stderr
