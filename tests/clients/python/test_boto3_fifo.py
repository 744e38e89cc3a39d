"""boto3 on FIFO queues: order of groups, deduplication, sequence numbers."""

import pytest
from botocore.exceptions import ClientError


def send(sqs, url, body, group="g", dedup=None, **options):
    return sqs.send_message(
        QueueUrl=url,
        MessageBody=body,
        MessageGroupId=group,
        MessageDeduplicationId=dedup or f"{group}-{body}",
        **options,
    )


def test_a_group_is_handed_out_in_the_order_of_sending(sqs, fifo, receive):
    for n in range(15):
        send(sqs, fifo, str(n))
    seen = []
    while len(seen) < 15:
        messages = receive(fifo)
        for message in messages:
            seen.append(message["Body"])
            sqs.delete_message(QueueUrl=fifo, ReceiptHandle=message["ReceiptHandle"])
    assert seen == [str(n) for n in range(15)]


def test_one_receive_gives_several_messages_of_a_group_in_order(sqs, fifo):
    for n in range(5):
        send(sqs, fifo, str(n))
    answer = sqs.receive_message(QueueUrl=fifo, MaxNumberOfMessages=10, WaitTimeSeconds=5)
    assert [message["Body"] for message in answer["Messages"]] == ["0", "1", "2", "3", "4"]


def test_a_group_with_a_message_in_flight_gives_nothing_else(sqs, fifo, receive):
    for body in ["a1", "a2"]:
        send(sqs, fifo, body, group="a")
    send(sqs, fifo, "b1", group="b")
    (first,) = receive(fifo)
    (second,) = receive(fifo)
    assert {first["Body"], second["Body"]} == {"a1", "b1"}
    assert "Messages" not in sqs.receive_message(QueueUrl=fifo)
    a1 = first if first["Body"] == "a1" else second
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=a1["ReceiptHandle"])
    assert receive(fifo)[0]["Body"] == "a2"


def test_a_message_given_back_comes_before_the_rest_of_its_group(sqs, fifo, receive):
    for body in ["1", "2"]:
        send(sqs, fifo, body)
    (message,) = receive(fifo)
    sqs.change_message_visibility(
        QueueUrl=fifo, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
    )
    assert receive(fifo)[0]["Body"] == "1"


def test_a_repeated_deduplication_id_stores_nothing(sqs, fifo, receive):
    first = send(sqs, fifo, "one", dedup="same")
    second = send(sqs, fifo, "two", dedup="same")
    assert second["MessageId"] == first["MessageId"]
    assert second["SequenceNumber"] == first["SequenceNumber"]
    (message,) = receive(fifo)
    assert message["Body"] == "one"
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=message["ReceiptHandle"])
    send(sqs, fifo, "three", dedup="same")
    assert "Messages" not in sqs.receive_message(QueueUrl=fifo)


def test_content_based_deduplication_looks_at_the_body(sqs, name):
    attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    url = sqs.create_queue(QueueName=name + ".fifo", Attributes=attributes)["QueueUrl"]
    ids = {
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId="g")["MessageId"]
        for body in ["a", "b", "a"]
    }
    assert len(ids) == 2
    sqs.delete_queue(QueueUrl=url)


def test_deduplication_can_be_scoped_to_the_group(sqs, name):
    attributes = {
        "FifoQueue": "true",
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
    }
    url = sqs.create_queue(QueueName=name + ".fifo", Attributes=attributes)["QueueUrl"]
    ids = {send(sqs, url, "x", group=g, dedup="same")["MessageId"] for g in ["a", "b", "a"]}
    assert len(ids) == 2
    sqs.delete_queue(QueueUrl=url)


def test_sequence_numbers_grow_and_attributes_tell_them(sqs, fifo, receive, system_attributes):
    numbers = [int(send(sqs, fifo, str(n))["SequenceNumber"]) for n in range(3)]
    assert numbers == sorted(set(numbers))
    (message,) = receive(fifo, **system_attributes("All"))
    assert int(message["Attributes"]["SequenceNumber"]) == numbers[0]
    assert message["Attributes"]["MessageGroupId"] == "g"
    assert message["Attributes"]["MessageDeduplicationId"] == "g-0"


def test_a_batch_keeps_its_order(sqs, fifo):
    entries = [
        {
            "Id": str(n),
            "MessageBody": str(n),
            "MessageGroupId": "g",
            "MessageDeduplicationId": str(n),
        }
        for n in range(10)
    ]
    sent = sqs.send_message_batch(QueueUrl=fifo, Entries=entries)["Successful"]
    numbers = [int(entry["SequenceNumber"]) for entry in sent]
    assert numbers == sorted(set(numbers))
    answer = sqs.receive_message(QueueUrl=fifo, MaxNumberOfMessages=10, WaitTimeSeconds=5)
    assert [message["Body"] for message in answer["Messages"]] == [str(n) for n in range(10)]


def test_a_receive_attempt_is_replayed(sqs, fifo):
    send(sqs, fifo, "x")
    ask = {"QueueUrl": fifo, "ReceiveRequestAttemptId": "attempt-1"}
    (first,) = sqs.receive_message(**ask)["Messages"]
    (second,) = sqs.receive_message(**ask)["Messages"]
    assert second["MessageId"] == first["MessageId"]
    assert "Messages" not in sqs.receive_message(QueueUrl=fifo)


@pytest.mark.parametrize(
    "arguments, code",
    [
        ({"MessageDeduplicationId": "d"}, "MissingParameter"),
        ({"MessageGroupId": "g"}, "InvalidParameterValue"),
        (
            {"MessageGroupId": "g", "MessageDeduplicationId": "d", "DelaySeconds": 5},
            "InvalidParameterValue",
        ),
        ({"MessageGroupId": "g" * 129, "MessageDeduplicationId": "d"}, "InvalidParameterValue"),
    ],
)
def test_what_a_fifo_queue_does_not_take_is_refused(sqs, fifo, arguments, code):
    with pytest.raises(ClientError) as caught:
        sqs.send_message(QueueUrl=fifo, MessageBody="x", **arguments)
    assert caught.value.response["Error"]["Code"] == code
