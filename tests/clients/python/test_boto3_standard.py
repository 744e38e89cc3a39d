"""boto3 on standard queues: sending, receiving, batches, attributes, waiting."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import sqs_client

TEXTS = ["plain", "tab\tand\nlines\r\n", "<&>\"'", "žluťoučký 日本語 🦀", " \u2028 x", "x" * 1_048_576]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_a_body_comes_back_as_it_was_sent(sqs, queue, receive, text):
    sent = sqs.send_message(QueueUrl=queue, MessageBody=text)
    (message,) = receive(queue)
    assert message["Body"] == text
    assert message["MessageId"] == sent["MessageId"]
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"]


def test_message_attributes_come_back_with_their_types(sqs, queue, receive):
    attributes = {
        "word": {"DataType": "String", "StringValue": "čau"},
        "number": {"DataType": "Number", "StringValue": "-12.50"},
        "precise": {"DataType": "Number.float", "StringValue": "0.1"},
        "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
        "picture": {"DataType": "Binary.png", "BinaryValue": b"\x89PNG"},
    }
    sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=attributes)
    (message,) = receive(queue, MessageAttributeNames=["All"], VisibilityTimeout=0)
    assert message["MessageAttributes"] == attributes
    (message,) = receive(queue, MessageAttributeNames=["word", "p.*"])
    assert set(message["MessageAttributes"]) <= {"word", "precise", "picture"}
    assert message["MessageAttributes"]["word"] == attributes["word"]


def test_the_digest_of_attributes_is_the_published_one(sqs, queue):
    attributes = {"attribName1": {"DataType": "String", "StringValue": "attribValue 1"}}
    sent = sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=attributes)
    assert sent["MD5OfMessageAttributes"] == "19e27d4e946b072f3f58da80d94fd778"
    attributes = {"binaryAttribute": {"DataType": "Binary", "BinaryValue": b"Hello binary world!"}}
    sent = sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=attributes)
    assert sent["MD5OfMessageAttributes"] == "31a92b15d92f8db860eda32aceb656c3"


def test_system_attributes_tell_sender_times_and_count(sqs, queue, receive, system_attributes):
    before = time.time() * 1000
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3f"}}
    sqs.send_message(QueueUrl=queue, MessageBody="x", MessageSystemAttributes=trace)
    (message,) = receive(queue, **system_attributes("All"), VisibilityTimeout=0)
    told = message["Attributes"]
    assert before - 1000 <= int(told["SentTimestamp"]) <= time.time() * 1000 + 1000
    assert int(told["ApproximateFirstReceiveTimestamp"]) >= int(told["SentTimestamp"])
    assert told["ApproximateReceiveCount"] == "1"
    assert told["AWSTraceHeader"] == "Root=1-5759e988-bd862e3f"
    assert told["SenderId"]
    (message,) = receive(queue, AttributeNames=["ApproximateReceiveCount"])
    assert message["Attributes"] == {"ApproximateReceiveCount": "2"}


def test_a_deleted_message_does_not_come_back_and_another_does(sqs, queue, receive):
    for body in ["one", "two"]:
        sqs.send_message(QueueUrl=queue, MessageBody=body)
    first, second = receive(queue, 2, VisibilityTimeout=1)
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=first["ReceiptHandle"])
    (again,) = receive(queue, AttributeNames=["ApproximateReceiveCount"])
    assert again["MessageId"] == second["MessageId"]
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)


def test_visibility_can_be_ended_and_prolonged(sqs, queue, receive):
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    (message,) = receive(queue)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)
    change = {"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]}
    sqs.change_message_visibility(**change, VisibilityTimeout=0)
    (message,) = receive(queue, VisibilityTimeout=1)
    change["ReceiptHandle"] = message["ReceiptHandle"]
    sqs.change_message_visibility(**change, VisibilityTimeout=60)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=2)


def test_a_delayed_message_comes_late_but_comes(sqs, queue, receive):
    started = time.monotonic()
    sqs.send_message(QueueUrl=queue, MessageBody="late", DelaySeconds=1)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)
    (message,) = receive(queue)
    assert message["Body"] == "late"
    assert 1 <= time.monotonic() - started < 3


def test_a_waiting_receive_is_woken_by_a_send(sqs, queue):
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(
            lambda: sqs_client().receive_message(QueueUrl=queue, WaitTimeSeconds=20)
        )
        # Half a second in which the receive reaches the server; nothing depends on it.
        threading.Event().wait(0.5)
        started = time.monotonic()
        sqs.send_message(QueueUrl=queue, MessageBody="wake")
        assert waiting.result()["Messages"][0]["Body"] == "wake"
        assert time.monotonic() - started < 2


def test_an_empty_wait_takes_its_time_and_answers_without_messages(sqs, queue):
    started = time.monotonic()
    assert "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=1)
    assert 1 <= time.monotonic() - started < 3


def test_batches_answer_for_each_entry(sqs, queue, receive):
    entries = [{"Id": f"e{n}", "MessageBody": f"body {n}"} for n in range(10)]
    sent = sqs.send_message_batch(QueueUrl=queue, Entries=entries)
    assert [done["Id"] for done in sent["Successful"]] == [entry["Id"] for entry in entries]
    assert "Failed" not in sent
    messages = receive(queue, 10)
    assert {message["Body"] for message in messages} == {f"body {n}" for n in range(10)}
    handles = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages)]
    hidden = [{**entry, "VisibilityTimeout": 30} for entry in handles]
    changed = sqs.change_message_visibility_batch(QueueUrl=queue, Entries=hidden)
    assert len(changed["Successful"]) == 10
    handles[9]["ReceiptHandle"] = "not-a-receipt-handle"
    gone = sqs.delete_message_batch(QueueUrl=queue, Entries=handles)
    assert len(gone["Successful"]) == 9
    assert [(f["Id"], f["SenderFault"]) for f in gone["Failed"]] == [("9", True)]
    assert gone["Failed"][0]["Code"] == "ReceiptHandleIsInvalid"


def test_many_messages_by_many_threads_all_arrive_once(sqs, queue):
    def send(thread):
        client = sqs_client()
        for batch in range(5):
            entries = [
                {"Id": str(n), "MessageBody": f"{thread}/{batch}/{n}"} for n in range(10)
            ]
            assert len(client.send_message_batch(QueueUrl=queue, Entries=entries)["Successful"]) == 10

    def drain(_):
        client, bodies = sqs_client(), []
        while True:
            answer = client.receive_message(
                QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1
            )
            if "Messages" not in answer:
                return bodies
            for message in answer["Messages"]:
                bodies.append(message["Body"])
                client.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(4)))
        bodies = [body for part in pool.map(drain, range(4)) for body in part]
    assert sorted(bodies) == sorted(
        f"{thread}/{batch}/{n}" for thread in range(4) for batch in range(5) for n in range(10)
    )


def test_counts_follow_the_states(sqs, queue, receive):
    for delay in [0, 0, 0, 600]:
        sqs.send_message(QueueUrl=queue, MessageBody="x", DelaySeconds=delay)
    receive(queue)
    prefix = "ApproximateNumberOfMessages"
    names = [prefix, prefix + "NotVisible", prefix + "Delayed"]
    counts = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
    assert [counts[n] for n in names] == ["2", "1", "1"]


def test_purge_empties_the_queue(sqs, queue):
    for _ in range(3):
        sqs.send_message(QueueUrl=queue, MessageBody="x")
    sqs.purge_queue(QueueUrl=queue)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=1)


def test_a_queue_kept_its_messages_for_a_new_client(sqs, queue):
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    (message,) = sqs_client().receive_message(QueueUrl=queue)["Messages"]
    assert message["Body"] == "x"
