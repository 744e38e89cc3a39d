"""Fixtures for the Python clients.

The server under test is told by CLIENTS_SQS and CLIENTS_BEANSTALKD, each HOST:PORT. The boto3 tests run
with two versions of boto3; CLIENTS_SQS_PROTOCOL says which protocol the one at hand is to speak.
Queues and tubes get names of their own, so that the tests share one server.
"""

import os
import uuid

import boto3
import greenstalk
import pystalk
import pytest
from botocore.config import Config


def sqs_client():
    """An SQS client that does not hide an error behind a retry."""
    return boto3.client(
        "sqs",
        endpoint_url="http://" + os.environ["CLIENTS_SQS"],
        config=Config(retries={"total_max_attempts": 1}, read_timeout=30),
    )


def beanstalkd_address():
    host, port = os.environ["CLIENTS_BEANSTALKD"].rsplit(":", 1)
    return host, int(port)


@pytest.fixture(scope="session")
def sqs():
    return sqs_client()


@pytest.fixture
def name():
    return "t-" + uuid.uuid4().hex[:12]


@pytest.fixture
def queue(sqs, name):
    """The URL of a new standard queue."""
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    yield url
    sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def fifo(sqs, name):
    """The URL of a new FIFO queue."""
    attributes = {"FifoQueue": "true"}
    url = sqs.create_queue(QueueName=name + ".fifo", Attributes=attributes)["QueueUrl"]
    yield url
    sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def arn(sqs):
    """A function from a queue's URL to its ARN."""

    def arn_of(url):
        asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return asked["Attributes"]["QueueArn"]

    return arn_of


@pytest.fixture
def receive(sqs):
    """A function that receives `count` messages, waiting up to 20 s for each call."""

    def received(url, count=1, **options):
        messages = []
        while len(messages) < count:
            more = sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=min(10, count - len(messages)),
                WaitTimeSeconds=20,
                **options,
            ).get("Messages", [])
            assert more, f"{len(messages)} of {count} messages came"
            messages += more
        return messages

    return received


@pytest.fixture
def left(sqs):
    """A function that counts the messages of a queue: visible, in flight and delayed."""

    def counted(name):
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        states = ["ApproximateNumberOfMessages" + state for state in ["", "NotVisible", "Delayed"]]
        asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=states)
        return [int(asked["Attributes"][state]) for state in states]

    return counted


@pytest.fixture
def system_attributes(sqs):
    """A function that gives the parameter which asks for system attributes.

    It was called `AttributeNames` when the SDKs spoke the query protocol.
    """
    known = sqs.meta.service_model.operation_model("ReceiveMessage").input_shape.members
    newer = "MessageSystemAttributeNames"

    def asked(*names):
        return {newer if newer in known else "AttributeNames": list(names)}

    return asked


@pytest.fixture
def connect(name):
    """A function that opens greenstalk connections on one tube of this test."""
    open_clients = []

    def connected(**options):
        options = {"use": name, "watch": name, **options}
        open_clients.append(greenstalk.Client(beanstalkd_address(), **options))
        return open_clients[-1]

    yield connected
    for client in open_clients:
        client.close()


@pytest.fixture
def stalk():
    """A pystalk client; it connects when it is first used."""
    client = pystalk.BeanstalkClient(*beanstalkd_address(), socket_timeout=30)
    yield client
    client.close()
