"""One queue, two protocols: what one puts in the other takes out."""

import greenstalk
import pytest

URGENT = 3


@pytest.fixture
def client(connect):
    return connect()


def test_a_job_put_by_beanstalkd_is_received_by_sqs(sqs, client, name, receive):
    id = client.put("from the tube", ttr=60)
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    (message,) = receive(url)
    assert message["Body"] == "from the tube"
    assert client.stats_job(id)["state"] == "reserved"
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    with pytest.raises(greenstalk.NotFoundError):
        client.peek(id)


def test_a_message_sent_by_sqs_is_reserved_by_beanstalkd(sqs, client, queue):
    sqs.send_message(QueueUrl=queue, MessageBody="from the queue")
    job = client.reserve(timeout=5)
    assert job.body == "from the queue"
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)
    client.delete(job)
    told = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    counts = [value for key, value in told.items() if key.startswith("ApproximateNumber")]
    assert set(counts) == {"0"}


def test_a_job_given_back_by_one_protocol_is_ready_for_the_other(sqs, client, queue, receive):
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    client.release(client.reserve(timeout=5))
    (message,) = receive(queue, AttributeNames=["ApproximateReceiveCount"])
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"
    sqs.change_message_visibility(
        QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
    )
    job = client.reserve(timeout=5)
    assert client.stats_job(job)["reserves"] == 3


def test_priority_and_delay_hold_for_the_other_protocol(sqs, client, queue, receive):
    sqs.send_message(QueueUrl=queue, MessageBody="ordinary")
    client.put("urgent", priority=URGENT)
    client.put("later", delay=1)
    bodies = [receive(queue)[0]["Body"] for _ in range(3)]
    assert bodies == ["urgent", "ordinary", "later"]


def test_a_purge_by_sqs_empties_the_tube(sqs, client, queue, name):
    client.put("x")
    client.put("y", delay=600)
    sqs.purge_queue(QueueUrl=queue)
    told = client.stats_tube(name)
    assert (told["current-jobs-ready"], told["current-jobs-delayed"]) == (0, 0)
