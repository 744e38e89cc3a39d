"""dramatiq-sqs: actors, their retries and dead letters, and its consumer."""

import base64
import contextlib
import os
import time

import dramatiq
import pytest
from dramatiq_sqs import SQSBroker

WITHIN_SECONDS = 30


@pytest.fixture
def broker():
    """A function that makes brokers."""
    opened = []

    def made(**options):
        opened.append(SQSBroker(endpoint_url="http://" + os.environ["CLIENTS_SQS"], **options))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


@contextlib.contextmanager
def working(broker):
    """A worker of two threads; leaving waits until it has stopped."""
    worker = dramatiq.Worker(broker, worker_timeout=1000, worker_threads=2)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def test_every_message_is_acted_on_once_with_its_arguments(broker, name, left):
    broker = broker()
    seen = []

    @dramatiq.actor(broker=broker, queue_name=name)
    def note(*arguments, **named):
        seen.append((arguments, named))

    sent = [(["žluť 日本語 🦀"], {}), (["<&>\"'\r\n\t\u0000"], {"key": None}), (["x" * 700_000], {})]
    sent += [([n], {"twice": 2 * n}) for n in range(22)]
    for arguments, named in sent:
        note.send(*arguments, **named)
    assert left(name) == [25, 0, 0]
    with working(broker):
        broker.join(name, timeout=WITHIN_SECONDS)
    expected = [(tuple(arguments), named) for arguments, named in sent]
    assert sorted(seen, key=repr) == sorted(expected, key=repr)
    assert left(name) == [0, 0, 0]


def test_an_actor_that_raises_is_retried_after_its_backoff(broker, name, left):
    broker = broker()
    times = []

    @dramatiq.actor(broker=broker, queue_name=name, min_backoff=2000, max_backoff=2000)
    def fails_twice(word):
        assert word == "日本"
        times.append(time.monotonic())
        if len(times) < 3:
            raise RuntimeError("not yet")

    fails_twice.send("日本")
    with working(broker):
        broker.join(name, timeout=WITHIN_SECONDS)
    assert len(times) == 3
    # The backoff has a jitter of half its length, and the broker asks for whole seconds.
    assert all(later - earlier >= 1 for earlier, later in zip(times, times[1:]))
    assert left(name) == [0, 0, 0]


def test_a_message_that_is_delayed_is_not_early(broker, name):
    broker = broker()
    times = []

    @dramatiq.actor(broker=broker, queue_name=name)
    def note():
        times.append(time.monotonic())

    sent = time.monotonic()
    note.send_with_options(delay=2000)
    with working(broker):
        broker.join(name, timeout=WITHIN_SECONDS)
    assert len(times) == 1 and 2 <= times[0] - sent < WITHIN_SECONDS


def test_a_message_that_is_given_up_is_kept_as_a_dead_letter(broker, name, left, sqs):
    broker = broker(dead_letter=True)

    @dramatiq.actor(broker=broker, queue_name=name, max_retries=0)
    def fails(word):
        raise RuntimeError(word)

    message = fails.send("žluť")
    with working(broker):
        broker.join(name, timeout=WITHIN_SECONDS)
    assert (left(name), left(name + "_dlq")) == ([0, 0, 0], [1, 0, 0])
    url = sqs.get_queue_url(QueueName=name + "_dlq")["QueueUrl"]
    [dead] = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    kept = dramatiq.Message.decode(base64.b64decode(dead["Body"]))
    assert (kept.message_id, kept.args, kept.actor_name) == (message.message_id, ("žluť",), "fails")


def messages_for(broker, name, count):
    """Sends messages to a queue that no worker serves."""
    broker.declare_queue(name)
    for n in range(count):
        broker.enqueue(dramatiq.Message(name, "absent", (n,), {}, {}))


def take(consumer, count):
    """Takes messages from a consumer until there are so many."""
    taken = []
    deadline = time.monotonic() + WITHIN_SECONDS
    while len(taken) < count:
        assert time.monotonic() < deadline, f"{len(taken)} of {count} messages came"
        message = next(consumer)
        if message is not None:
            taken.append(message)
    return taken


def numbers(messages):
    return sorted(message.args[0] for message in messages)


def test_what_a_consumer_fetched_ahead_is_given_back_when_it_closes(broker, name, left):
    broker = broker()
    messages_for(broker, name, 25)
    consumer = broker.consume(name, prefetch=10, timeout=1000)
    [first] = take(consumer, 1)
    visible, hidden, _ = left(name)
    assert hidden > 1 and visible + hidden == 25
    consumer.requeue([first])
    consumer.close()
    assert left(name) == [25, 0, 0]
    second = broker.consume(name, prefetch=10, timeout=1000)
    taken = []
    while len(taken) < 25:
        [message] = take(second, 1)
        taken.append(message)
        second.ack(message)
    assert numbers(taken) == list(range(25))
    assert left(name) == [0, 0, 0]


def test_messages_of_a_consumer_that_is_gone_come_back(broker, name, left):
    broker = broker(visibility_timeout=2)
    messages_for(broker, name, 5)
    started = time.monotonic()
    lost = take(broker.consume(name, prefetch=5, timeout=1000), 5)
    assert left(name) == [0, 5, 0]
    second = broker.consume(name, prefetch=5, timeout=5000)
    again = take(second, 5)
    assert 2 <= time.monotonic() - started < WITHIN_SECONDS
    assert numbers(lost) == numbers(again) == list(range(5))
    for message in again:
        second.ack(message)
    assert left(name) == [0, 0, 0]
