"""boto3 on the queues themselves: names, attributes, tags, permissions, errors."""

import json

import pytest
from botocore.exceptions import ClientError

MISSING = "AWS.SimpleQueueService.NonExistentQueue"


def code_of(call, **arguments):
    """The error code that a call raises."""
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response["Error"]["Code"]


def test_creating_again_gives_the_same_url_and_other_attributes_an_error(sqs, name):
    attributes = {"VisibilityTimeout": "5"}
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    assert url == sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    assert url == sqs.get_queue_url(QueueName=name)["QueueUrl"]
    assert url.endswith("/123456789012/" + name)
    other = code_of(sqs.create_queue, QueueName=name, Attributes={"VisibilityTimeout": "6"})
    assert other == "QueueAlreadyExists"
    sqs.delete_queue(QueueUrl=url)
    assert code_of(sqs.get_queue_url, QueueName=name) == MISSING
    assert code_of(sqs.send_message, QueueUrl=url, MessageBody="x") == MISSING


def test_queues_are_listed_by_prefix_and_page(sqs, name):
    urls = [sqs.create_queue(QueueName=f"{name}-{n}")["QueueUrl"] for n in range(5)]
    assert sqs.list_queues(QueueNamePrefix=name + "-")["QueueUrls"] == urls
    pages = sqs.get_paginator("list_queues").paginate(
        QueueNamePrefix=name + "-", PaginationConfig={"PageSize": 2}
    )
    assert [url for page in pages for url in page["QueueUrls"]] == urls
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=name + "-none")
    for url in urls:
        sqs.delete_queue(QueueUrl=url)


def test_attributes_have_defaults_and_can_be_set(sqs, queue, name):
    everything = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert everything["VisibilityTimeout"] == "30"
    assert everything["MessageRetentionPeriod"] == "345600"
    assert everything["MaximumMessageSize"] == "1048576"
    assert everything["DelaySeconds"] == "0"
    assert everything["ReceiveMessageWaitTimeSeconds"] == "0"
    assert everything["QueueArn"] == f"arn:aws:sqs:us-east-1:123456789012:{name}"
    assert int(everything["CreatedTimestamp"]) <= int(everything["LastModifiedTimestamp"])
    assert "FifoQueue" not in everything
    changed = {"DelaySeconds": "900", "MessageRetentionPeriod": "60", "MaximumMessageSize": "1024"}
    sqs.set_queue_attributes(QueueUrl=queue, Attributes=changed)
    names = list(changed)
    assert sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"] == changed


def test_the_settings_of_a_queue_rule_its_messages(sqs, queue, receive):
    settings = {"MaximumMessageSize": "1024", "ReceiveMessageWaitTimeSeconds": "1"}
    sqs.set_queue_attributes(QueueUrl=queue, Attributes=settings)
    too_long = code_of(sqs.send_message, QueueUrl=queue, MessageBody="x" * 1025)
    assert too_long == "InvalidParameterValue"
    sqs.send_message(QueueUrl=queue, MessageBody="x" * 1024)
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "0"})
    assert receive(queue)[0]["MessageId"] == receive(queue)[0]["MessageId"]


@pytest.mark.parametrize(
    "attributes",
    [
        {"VisibilityTimeout": "43201"},
        {"DelaySeconds": "901"},
        {"MessageRetentionPeriod": "59"},
        {"MaximumMessageSize": "1023"},
        {"ReceiveMessageWaitTimeSeconds": "21"},
        {"DelaySeconds": "soon"},
        {"RedrivePolicy": "{not json"},
    ],
    ids=lambda attributes: "=".join(*attributes.items()),
)
def test_an_attribute_out_of_range_is_refused(sqs, queue, attributes):
    code = code_of(sqs.set_queue_attributes, QueueUrl=queue, Attributes=attributes)
    assert code in ("InvalidAttributeValue", "InvalidParameterValue")


def test_an_unknown_attribute_is_refused(sqs, queue):
    code = code_of(sqs.set_queue_attributes, QueueUrl=queue, Attributes={"Colour": "red"})
    assert code == "InvalidAttributeName"


def test_tags_are_set_listed_and_removed(sqs, name):
    url = sqs.create_queue(QueueName=name, tags={"team": "a"})["QueueUrl"]
    sqs.tag_queue(QueueUrl=url, Tags={"team": "b", "žluť": "日本"})
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "b", "žluť": "日本"}
    sqs.untag_queue(QueueUrl=url, TagKeys=["team", "never"])
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"žluť": "日本"}
    sqs.untag_queue(QueueUrl=url, TagKeys=["žluť"])
    assert "Tags" not in sqs.list_queue_tags(QueueUrl=url)
    sqs.delete_queue(QueueUrl=url)


def test_permissions_end_up_in_the_policy(sqs, queue):
    sqs.add_permission(
        QueueUrl=queue, Label="share", AWSAccountIds=["210987654321"], Actions=["SendMessage"]
    )

    def policy():
        asked = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["Policy"])
        return asked.get("Attributes", {}).get("Policy")

    (statement,) = json.loads(policy())["Statement"]
    assert statement["Sid"] == "share"
    sqs.remove_permission(QueueUrl=queue, Label="share")
    assert policy() is None or json.loads(policy())["Statement"] == []


ENTRY = {"Id": "a", "MessageBody": "x"}
BATCHES = [
    ([], "EmptyBatchRequest"),
    ([{**ENTRY, "Id": str(n)} for n in range(11)], "TooManyEntriesInBatchRequest"),
    ([ENTRY, ENTRY], "BatchEntryIdsNotDistinct"),
    ([{**ENTRY, "Id": "a b"}], "InvalidBatchEntryId"),
    (
        [{"Id": str(n), "MessageBody": "x" * 600_000} for n in range(2)],
        "BatchRequestTooLong",
    ),
]


@pytest.mark.parametrize("entries, code", BATCHES, ids=[code for _, code in BATCHES])
def test_a_wrong_batch_is_refused_whole(sqs, queue, entries, code):
    refused = code_of(sqs.send_message_batch, QueueUrl=queue, Entries=entries)
    assert refused == "AWS.SimpleQueueService." + code
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)


@pytest.mark.parametrize(
    "arguments, codes",
    [
        ({"MessageBody": ""}, {"MissingParameter", "InvalidParameterValue"}),
        ({"MessageBody": "\x00"}, {"InvalidMessageContents"}),
        ({"MessageBody": "\uffff"}, {"InvalidMessageContents"}),
        ({"MessageBody": "x" * 1_048_577}, {"InvalidParameterValue"}),
        ({"MessageBody": "x", "DelaySeconds": 901}, {"InvalidParameterValue"}),
        ({"MessageBody": "x", "DelaySeconds": -1}, {"InvalidParameterValue"}),
        (
            {"MessageBody": "x", "MessageAttributes": {"a": {"DataType": "Word", "StringValue": "x"}}},
            {"InvalidParameterValue"},
        ),
        (
            {"MessageBody": "x", "MessageAttributes": {"a": {"DataType": "String", "StringValue": ""}}},
            {"InvalidParameterValue"},
        ),
        (
            {
                "MessageBody": "x",
                "MessageAttributes": {"AWS.a": {"DataType": "String", "StringValue": "x"}},
            },
            {"InvalidParameterValue"},
        ),
    ],
)
def test_a_wrong_message_is_refused(sqs, queue, arguments, codes):
    assert code_of(sqs.send_message, QueueUrl=queue, **arguments) in codes
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)


@pytest.mark.parametrize(
    "arguments",
    [
        {"MaxNumberOfMessages": 0},
        {"MaxNumberOfMessages": 11},
        {"WaitTimeSeconds": 21},
        {"VisibilityTimeout": 43_201},
    ],
    ids=str,
)
def test_a_receive_out_of_range_is_refused(sqs, queue, arguments):
    assert code_of(sqs.receive_message, QueueUrl=queue, **arguments) == "InvalidParameterValue"


def test_a_foreign_or_forged_receipt_handle_is_refused(sqs, queue, receive):
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    (message,) = receive(queue)
    handle = message["ReceiptHandle"]
    altered = ("A" if handle[0] != "A" else "B") + handle[1:]
    for forged in ["", "x", altered, handle + "=="]:
        code = code_of(sqs.delete_message, QueueUrl=queue, ReceiptHandle=forged)
        assert code in ("ReceiptHandleIsInvalid", "MissingParameter")
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle)


def test_visibility_is_changed_after_its_end_until_another_receive(sqs, queue, receive):
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    (message,) = receive(queue, VisibilityTimeout=0)
    change = dict(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    sqs.change_message_visibility(VisibilityTimeout=10, **change)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)
    sqs.change_message_visibility(VisibilityTimeout=0, **change)
    receive(queue)
    code = code_of(sqs.change_message_visibility, VisibilityTimeout=10, **change)
    assert code == "AWS.SimpleQueueService.MessageNotInflight"


@pytest.mark.parametrize("bad", ["", "x" * 81, "a b", "a/b", "a.b", "q.fifo"])
def test_a_wrong_queue_name_is_refused(sqs, bad):
    assert code_of(sqs.create_queue, QueueName=bad) in (
        "InvalidParameterValue",
        "MissingParameter",
    )


def test_errors_are_raised_as_the_modelled_exceptions(sqs, name):
    with pytest.raises(sqs.exceptions.QueueDoesNotExist) as caught:
        sqs.get_queue_url(QueueName=name)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert caught.value.response["ResponseMetadata"]["RequestId"]
