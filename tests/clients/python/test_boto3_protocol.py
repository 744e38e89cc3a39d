"""Which of SQS's two protocols this boto3 really sends, so that both are tested by some client."""

import os

from conftest import sqs_client

FORMS = "application/x-www-form-urlencoded"
PROTOCOLS = {"json": ("application/x-amz-json-1.0", True), "query": (FORMS, False)}


def test_requests_are_in_the_protocol_that_this_run_is_about(queue):
    sqs, sent = sqs_client(), []
    sqs.meta.events.register("before-send.sqs.*", lambda request, **_: sent.append(request))
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    sqs.receive_message(QueueUrl=queue)
    kind, has_target = PROTOCOLS[os.environ["CLIENTS_SQS_PROTOCOL"]]
    assert len(sent) == 2
    for request in sent:
        headers = {name.lower(): value for name, value in request.headers.items()}
        told = headers["content-type"]
        told = told.decode() if isinstance(told, bytes) else told
        assert told.split(";")[0] == kind
        assert ("x-amz-target" in headers) == has_target
