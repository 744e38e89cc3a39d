"""boto3 and dead letters: redrive policies, the move to the other queue, move tasks."""

import json
import time

import pytest
from botocore.exceptions import ClientError

TASK_SECONDS = 20


@pytest.fixture
def dead(sqs, name):
    """The URL of a queue for dead letters."""
    url = sqs.create_queue(QueueName=name + "-dead")["QueueUrl"]
    yield url
    sqs.delete_queue(QueueUrl=url)


def redrive(sqs, queue, dead_arn, count):
    policy = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": count})
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"RedrivePolicy": policy})


def kill(sqs, receive, queue, times):
    """Receives a message `times` times and gives it back each time."""
    for _ in range(times):
        receive(queue, VisibilityTimeout=0)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)


def tasks(sqs, source):
    return sqs.list_message_move_tasks(SourceArn=source).get("Results", [])


def wait_for_status(sqs, source, status):
    deadline = time.monotonic() + TASK_SECONDS
    while tasks(sqs, source)[0]["Status"] != status:
        assert time.monotonic() < deadline, tasks(sqs, source)
    return tasks(sqs, source)[0]


def test_a_message_moves_exactly_when_its_count_is_passed(sqs, queue, dead, arn, receive):
    redrive(sqs, queue, arn(dead), 2)
    sent = sqs.send_message(QueueUrl=queue, MessageBody="poison")
    kill(sqs, receive, queue, 2)
    (message,) = receive(dead, AttributeNames=["All"])
    assert message["Body"] == "poison"
    assert message["MessageId"] == sent["MessageId"]
    assert message["Attributes"]["DeadLetterQueueSourceArn"] == arn(queue)
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"] == [queue]


def test_a_move_task_brings_dead_letters_back(sqs, queue, dead, arn, receive):
    redrive(sqs, queue, arn(dead), 1)
    for n in range(3):
        sqs.send_message(QueueUrl=queue, MessageBody=str(n))
    kill(sqs, receive, queue, 3)
    started = sqs.start_message_move_task(SourceArn=arn(dead))
    assert started["TaskHandle"]
    task = wait_for_status(sqs, arn(dead), "COMPLETED")
    assert task["ApproximateNumberOfMessagesMoved"] == 3
    assert "TaskHandle" not in task
    assert {message["Body"] for message in receive(queue, 3)} == {"0", "1", "2"}


def test_a_move_task_can_lead_elsewhere_and_be_cancelled(sqs, queue, dead, arn, receive, name):
    redrive(sqs, queue, arn(dead), 1)
    other = sqs.create_queue(QueueName=name + "-other")["QueueUrl"]
    for n in range(20):
        sqs.send_message(QueueUrl=queue, MessageBody=str(n))
    kill(sqs, receive, queue, 20)
    handle = sqs.start_message_move_task(
        SourceArn=arn(dead), DestinationArn=arn(other), MaxNumberOfMessagesPerSecond=1
    )["TaskHandle"]
    with pytest.raises(ClientError):
        sqs.start_message_move_task(SourceArn=arn(dead))
    assert tasks(sqs, arn(dead))[0]["Status"] == "RUNNING"
    moved = sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    assert moved < 20
    wait_for_status(sqs, arn(dead), "CANCELLED")
    sqs.delete_queue(QueueUrl=other)


def test_a_move_task_needs_a_queue_of_dead_letters(sqs, queue, arn):
    with pytest.raises(ClientError):
        sqs.start_message_move_task(SourceArn=arn(queue))
    with pytest.raises(ClientError) as caught:
        sqs.start_message_move_task(SourceArn=arn(queue) + "-absent")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    assert caught.value.response["Error"]["Code"] == "ResourceNotFoundException"


def test_the_dead_letter_queue_may_refuse(sqs, queue, dead, arn):
    deny = json.dumps({"redrivePermission": "denyAll"})
    sqs.set_queue_attributes(QueueUrl=dead, Attributes={"RedriveAllowPolicy": deny})
    with pytest.raises(ClientError) as caught:
        redrive(sqs, queue, arn(dead), 1)
    assert caught.value.response["Error"]["Code"] == "InvalidParameterValue"


@pytest.mark.parametrize("count", [0, 1001, "many"])
def test_a_wrong_receive_count_is_refused(sqs, queue, dead, arn, count):
    with pytest.raises(ClientError) as caught:
        redrive(sqs, queue, arn(dead), count)
    assert caught.value.response["Error"]["Code"] == "InvalidParameterValue"


def test_a_dead_letter_queue_that_does_not_exist_is_refused(sqs, queue, arn):
    with pytest.raises(ClientError) as caught:
        redrive(sqs, queue, arn(queue) + "-absent", 1)
    assert caught.value.response["Error"]["Code"] in (
        "InvalidParameterValue",
        "AWS.SimpleQueueService.NonExistentQueue",
    )
