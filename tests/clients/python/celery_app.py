"""The Celery application of test_celery.py, loaded by its tests and by its workers.

CELERY_OPTIONS tells a worker what the test told `application`, as JSON.
"""

import json
import os
import pathlib
import time

from celery import Celery


def application(queue, folder, visibility_seconds=60, url=None, backoff=()):
    """An application on one queue, with a folder for results and for what tasks note.

    With a `url` the queue is there already, and `backoff` has the seconds for which the transport
    is to hide the task `refused` after each of its failures.
    """
    folder = pathlib.Path(folder)
    policy = dict(enumerate(backoff, start=1))
    predefined = {queue: {"url": url, "backoff_tasks": ["refused"], "backoff_policy": policy}}
    app = Celery("slipring-clients", set_as_current=False)
    app.conf.update(
        broker_url="sqs://test:test@" + os.environ["CLIENTS_SQS"],
        broker_transport_options={
            "region": "us-east-1",
            "visibility_timeout": visibility_seconds,
            "wait_time_seconds": 5,
            "polling_interval": 0,
            "predefined_queues": predefined if url else {},
        },
        broker_connection_retry_on_startup=True,
        result_backend=folder.as_uri(),
        task_acks_late=True,
        task_acks_on_failure_or_timeout=False,
        task_default_queue=queue,
        # They need a broadcast, which SQS alone does not have.
        worker_enable_remote_control=False,
    )
    define_tasks(app, folder)
    return app


def define_tasks(app, folder):
    """The tasks; each notes the time of every run in a file named for its first argument."""

    def note(name):
        with open(folder / f"{name}.runs", "a") as runs:
            print(time.time(), file=runs)
        return len(runs_of(folder, name))

    @app.task(shared=False, name="echo")
    def echo(name, *arguments, **named):
        note(name)
        return [arguments, named]

    @app.task(shared=False, name="retried", bind=True, max_retries=5)
    def retried(self, name):
        if note(name) < 3:
            raise self.retry(countdown=1)
        return self.request.retries

    @app.task(shared=False, name="refused")
    def refused(name):
        if note(name) < 3:
            raise RuntimeError("not yet")

    @app.task(shared=False, name="stuck")
    def stuck(name):
        # Only the first run: it ends when its worker is killed.
        while note(name) == 1:
            time.sleep(600)
        return "done"


def runs_of(folder, name):
    """The times at which the task with this name ran, in seconds."""
    path = pathlib.Path(folder) / f"{name}.runs"
    return [float(line) for line in path.read_text().split()] if path.exists() else []


if "CELERY_OPTIONS" in os.environ:
    app = application(**json.loads(os.environ["CELERY_OPTIONS"]))
