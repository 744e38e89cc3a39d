"""Celery and kombu's SQS transport: applications with workers in processes of their own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from celery import group
from celery_app import application, runs_of
from drop_in import end_with_parent
from kombu import Connection

WITHIN_SECONDS = 30


@contextlib.contextmanager
def worker(options, *arguments):
    """A worker, ended by SIGTERM as a service manager does it."""
    command = [sys.executable, "-m", "celery", "-A", "celery_app", "worker", "-l", "warning"]
    started = subprocess.Popen(
        [*command, "--without-gossip", "--without-mingle", *arguments],
        env={**os.environ, "CELERY_OPTIONS": json.dumps(options)},
        preexec_fn=end_with_parent,
    )
    try:
        yield started
        if started.poll() is None:
            started.terminate()
            assert started.wait(WITHIN_SECONDS) == 0
    finally:
        if started.poll() is None:
            started.kill()
            started.wait()


@pytest.fixture
def options(name, tmp_path):
    return {"queue": name, "folder": str(tmp_path)}


def within(condition):
    """Waits until `condition` is true."""
    deadline = time.monotonic() + WITHIN_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


def wait_for(result):
    return result.get(timeout=WITHIN_SECONDS, interval=0.05)


def test_tasks_run_once_with_their_arguments_and_nothing_is_left(options, left):
    app = application(**options)
    echo = app.tasks["echo"]
    arguments = [["žluť 日本語 🦀"], ["<&>\"'\r\n\t\u0000"], [{"a": [1, 2.5, None]}], ["x" * 100_000]]
    arguments += [[n] for n in range(21)]
    sent = group(echo.s(f"e{n}", *given, key=n) for n, given in enumerate(arguments))
    with worker(options, "--concurrency", "2"):
        results = wait_for(sent.apply_async())
        assert results == [[given, {"key": n}] for n, given in enumerate(arguments)]
        begun = time.time()
        later = echo.apply_async(["later"], countdown=2)
        retried = app.tasks["retried"].delay("retried")
        assert wait_for(retried) == 2
        assert wait_for(later) == [[], {}]
        within(lambda: left(options["queue"]) == [0, 0, 0])
    assert all(len(runs_of(options["folder"], f"e{n}")) == 1 for n in range(len(arguments)))
    assert runs_of(options["folder"], "later")[0] - begun >= 2
    runs = runs_of(options["folder"], "retried")
    assert len(runs) == 3 and runs[1] - runs[0] >= 1


def test_a_task_whose_worker_is_killed_runs_again_when_its_visibility_timeout_ends(options, left):
    options["visibility_seconds"] = 2
    result = application(**options).tasks["stuck"].delay("stuck")
    with worker(options, "--pool", "solo") as first:
        within(lambda: runs_of(options["folder"], "stuck"))
        first.kill()
        first.wait()
    assert left(options["queue"]) == [0, 1, 0]
    with worker(options, "--pool", "solo"):
        assert wait_for(result) == "done"
        within(lambda: left(options["queue"]) == [0, 0, 0])
    first, second = runs_of(options["folder"], "stuck")
    assert 1.9 <= second - first < 15


def test_a_task_that_fails_comes_back_after_the_backoff_of_its_policy(options, queue, left):
    options |= {"url": queue, "backoff": [1, 2]}
    application(**options).tasks["refused"].delay("refused")
    with worker(options, "--pool", "threads"):
        within(lambda: len(runs_of(options["folder"], "refused")) == 3)
        within(lambda: left(options["queue"]) == [0, 0, 0])
    first, second, third = runs_of(options["folder"], "refused")
    assert 0.9 <= second - first < 15
    assert 1.9 <= third - second < 15


@pytest.fixture
def broker():
    """A connection of kombu without Celery."""
    transport = {"region": "us-east-1", "visibility_timeout": 60, "wait_time_seconds": 1}
    address = "sqs://test:test@" + os.environ["CLIENTS_SQS"]
    with Connection(address, transport_options=transport) as connection:
        yield connection


def test_kombu_acks_requeues_and_rejects(broker, name, left):
    queue = broker.SimpleQueue(name)
    queue.put({"n": 1, "word": "日本"})
    message = queue.get(timeout=WITHIN_SECONDS)
    assert message.payload == {"n": 1, "word": "日本"}
    assert left(name) == [0, 1, 0]
    message.requeue()
    again = queue.get(timeout=WITHIN_SECONDS)
    assert again.payload == message.payload
    again.ack()
    assert left(name) == [0, 0, 0]
    queue.put("dropped")
    queue.get(timeout=WITHIN_SECONDS).reject()
    assert left(name) == [0, 0, 0]
    queue.close()


def test_kombu_counts_and_purges(broker, name, left):
    queue = broker.SimpleQueue(name)
    for n in range(12):
        queue.put(n)
    assert queue.qsize() == 12
    # It adds up ten looks at the number of messages.
    assert queue.clear() == 120
    assert left(name) == [0, 0, 0]
    queue.close()


def test_kombu_keeps_the_order_of_a_fifo_queue(broker, name, left):
    queue = broker.SimpleQueue(name + ".fifo")
    for n in range(12):
        queue.put(n, MessageGroupId="g", MessageDeduplicationId=str(n % 11))
    received = []
    for _ in range(11):
        message = queue.get(timeout=WITHIN_SECONDS)
        received.append(message.payload)
        message.ack()
    assert received == list(range(11))
    assert left(name + ".fifo") == [0, 0, 0]
    queue.close()
