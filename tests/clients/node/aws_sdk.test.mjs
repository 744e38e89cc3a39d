// The AWS SDK for JavaScript v3. It recomputes every digest and throws when one is wrong.
// The server is told by CLIENTS_SQS, HOST:PORT.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import * as aws from "@aws-sdk/client-sqs";

const sqs = new aws.SQSClient({
  endpoint: `http://${process.env.CLIENTS_SQS}`,
  region: "us-east-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
  maxAttempts: 1,
});

const call = (Command, input) => sqs.send(new Command(input));

let QueueUrl;

async function createQueue(suffix = "", Attributes = undefined) {
  const QueueName = `js-${randomUUID().slice(0, 12)}${suffix}`;
  return (await call(aws.CreateQueueCommand, { QueueName, Attributes })).QueueUrl;
}

async function arnOf(url) {
  const AttributeNames = ["QueueArn"];
  const asked = await call(aws.GetQueueAttributesCommand, { QueueUrl: url, AttributeNames });
  return asked.Attributes.QueueArn;
}

async function receive(url = QueueUrl, options = {}) {
  const asked = { QueueUrl: url, WaitTimeSeconds: 20, ...options };
  const { Messages } = await call(aws.ReceiveMessageCommand, asked);
  return Messages ?? [];
}

beforeEach(async () => {
  QueueUrl = await createQueue();
});

afterEach(async () => {
  await call(aws.DeleteQueueCommand, { QueueUrl });
});

for (const body of ["plain", "žluť 日本語 🦀", "<&>\"'\r\n\t", "x".repeat(1_048_576)]) {
  test(`a body of ${body.length} characters comes back with digests that agree`, async () => {
    const sent = await call(aws.SendMessageCommand, { QueueUrl, MessageBody: body });
    const [message] = await receive();
    assert.equal(message.Body, body);
    assert.equal(message.MessageId, sent.MessageId);
  });
}

test("attributes of every type come back with digests that agree", async () => {
  const MessageAttributes = {
    word: { DataType: "String", StringValue: "日本" },
    number: { DataType: "Number.float", StringValue: "4563442423554324324264524243.325" },
    bytes: { DataType: "Binary", BinaryValue: Uint8Array.from({ length: 256 }, (_, n) => n) },
  };
  const MessageSystemAttributes = {
    AWSTraceHeader: { DataType: "String", StringValue: "Root=1-5759e988-bd862e3fe1be46a994272793" },
  };
  const sent = await call(aws.SendMessageCommand, {
    QueueUrl,
    MessageBody: "x",
    MessageAttributes,
    MessageSystemAttributes,
  });
  assert.match(sent.MD5OfMessageAttributes, /^[0-9a-f]{32}$/);
  assert.match(sent.MD5OfMessageSystemAttributes, /^[0-9a-f]{32}$/);
  const [message] = await receive(QueueUrl, {
    MessageAttributeNames: ["All"],
    MessageSystemAttributeNames: ["All"],
  });
  assert.deepEqual(message.MessageAttributes, MessageAttributes);
  assert.equal(message.MD5OfMessageAttributes, sent.MD5OfMessageAttributes);
  assert.equal(message.Attributes.ApproximateReceiveCount, "1");
});

test("a receive that asks for some attributes gets a digest over those", async () => {
  const value = (StringValue) => ({ DataType: "String", StringValue });
  const MessageAttributes = { a: value("1"), b: value("2"), "c.d": value("3") };
  await call(aws.SendMessageCommand, { QueueUrl, MessageBody: "x", MessageAttributes });
  const [message] = await receive(QueueUrl, { MessageAttributeNames: ["b"] });
  assert.deepEqual(message.MessageAttributes, { b: value("2") });
});

test("batches are sent, received, hidden and deleted", async () => {
  const Entries = Array.from({ length: 10 }, (_, n) => ({ Id: `e${n}`, MessageBody: `body ${n}` }));
  const sent = await call(aws.SendMessageBatchCommand, { QueueUrl, Entries });
  assert.equal(sent.Successful.length, 10);
  const seen = [];
  while (seen.length < 10) {
    seen.push(...(await receive(QueueUrl, { MaxNumberOfMessages: 10 })));
  }
  assert.deepEqual(seen.map((m) => m.Body).sort(), Entries.map((e) => e.MessageBody).sort());
  const handles = seen.map(({ ReceiptHandle }, n) => ({ Id: String(n), ReceiptHandle }));
  const hidden = await call(aws.ChangeMessageVisibilityBatchCommand, {
    QueueUrl,
    Entries: handles.map((entry) => ({ ...entry, VisibilityTimeout: 60 })),
  });
  assert.equal(hidden.Successful.length, 10);
  const gone = await call(aws.DeleteMessageBatchCommand, { QueueUrl, Entries: handles });
  assert.equal(gone.Successful.length, 10);
  assert.deepEqual(await receive(QueueUrl, { WaitTimeSeconds: 0 }), []);
});

test("a long poll is answered as soon as a message comes", async () => {
  const waiting = receive();
  const started = performance.now();
  await call(aws.SendMessageCommand, { QueueUrl, MessageBody: "wake" });
  assert.equal((await waiting)[0].Body, "wake");
  assert.ok(performance.now() - started < 5_000);
});

test("a visibility timeout of zero gives the message back at once", async () => {
  await call(aws.SendMessageCommand, { QueueUrl, MessageBody: "x" });
  const [{ ReceiptHandle }] = await receive();
  assert.deepEqual(await receive(QueueUrl, { WaitTimeSeconds: 0 }), []);
  const change = { QueueUrl, ReceiptHandle, VisibilityTimeout: 0 };
  await call(aws.ChangeMessageVisibilityCommand, change);
  const [again] = await receive();
  await call(aws.DeleteMessageCommand, { QueueUrl, ReceiptHandle: again.ReceiptHandle });
});

test("a FIFO queue keeps order and refuses repetition", async () => {
  const url = await createQueue(".fifo", { FifoQueue: "true", ContentBasedDeduplication: "true" });
  const sent = [];
  for (const MessageBody of ["1", "2", "2", "3"]) {
    const message = { QueueUrl: url, MessageBody, MessageGroupId: "g" };
    sent.push(await call(aws.SendMessageCommand, message));
  }
  assert.equal(sent[1].MessageId, sent[2].MessageId);
  assert.ok(BigInt(sent[3].SequenceNumber) > BigInt(sent[0].SequenceNumber));
  const messages = await receive(url, { MaxNumberOfMessages: 10 });
  assert.deepEqual(messages.map((message) => message.Body), ["1", "2", "3"]);
  await call(aws.DeleteQueueCommand, { QueueUrl: url });
});

test("a poisonous message ends in the dead-letter queue and can be moved back", async () => {
  const dead = await createQueue();
  const deadLetterTargetArn = await arnOf(dead);
  await call(aws.SetQueueAttributesCommand, {
    QueueUrl,
    Attributes: { RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 1 }) },
  });
  await call(aws.SendMessageCommand, { QueueUrl, MessageBody: "poison" });
  await receive(QueueUrl, { VisibilityTimeout: 0 });
  assert.deepEqual(await receive(QueueUrl, { WaitTimeSeconds: 0 }), []);
  const [message] = await receive(dead, { VisibilityTimeout: 0 });
  assert.equal(message.Body, "poison");
  const sources = await call(aws.ListDeadLetterSourceQueuesCommand, { QueueUrl: dead });
  assert.deepEqual(sources.queueUrls, [QueueUrl]);
  const SourceArn = deadLetterTargetArn;
  const task = await call(aws.StartMessageMoveTaskCommand, { SourceArn });
  assert.ok(task.TaskHandle);
  assert.equal((await receive())[0].Body, "poison");
  const { Results } = await call(aws.ListMessageMoveTasksCommand, { SourceArn });
  assert.equal(Results.length, 1);
  await call(aws.DeleteQueueCommand, { QueueUrl: dead });
});

test("queues are listed, tagged and described", async () => {
  const QueueNamePrefix = QueueUrl.split("/").at(-1);
  const listed = await call(aws.ListQueuesCommand, { QueueNamePrefix });
  assert.deepEqual(listed.QueueUrls, [QueueUrl]);
  const found = await call(aws.GetQueueUrlCommand, { QueueName: QueueNamePrefix });
  assert.equal(found.QueueUrl, QueueUrl);
  await call(aws.TagQueueCommand, { QueueUrl, Tags: { team: "a", stage: "test" } });
  await call(aws.UntagQueueCommand, { QueueUrl, TagKeys: ["team"] });
  const { Tags } = await call(aws.ListQueueTagsCommand, { QueueUrl });
  assert.deepEqual(Tags, { stage: "test" });
  await call(aws.SendMessageCommand, { QueueUrl, MessageBody: "x" });
  await call(aws.PurgeQueueCommand, { QueueUrl });
  assert.deepEqual(await receive(QueueUrl, { WaitTimeSeconds: 0 }), []);
});

test("errors arrive as the classes of the SDK", async () => {
  const name = "absent-" + randomUUID();
  await assert.rejects(call(aws.GetQueueUrlCommand, { QueueName: name }), (error) => {
    assert.ok(error instanceof aws.QueueDoesNotExist, error.name);
    assert.equal(error.$metadata.httpStatusCode, 400);
    return true;
  });
  await assert.rejects(
    call(aws.DeleteMessageCommand, { QueueUrl, ReceiptHandle: "forged" }),
    aws.ReceiptHandleIsInvalid,
  );
  await assert.rejects(
    call(aws.SendMessageBatchCommand, { QueueUrl, Entries: [] }),
    aws.EmptyBatchRequest,
  );
  await assert.rejects(
    call(aws.SendMessageCommand, { QueueUrl, MessageBody: "\u0000" }),
    aws.InvalidMessageContents,
  );
});
