// sqs-consumer: programs that take messages as its users write them.
// The server is told by CLIENTS_SQS, HOST:PORT.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import * as aws from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";

const options = {
  region: "us-east-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
  maxAttempts: 1,
};
const sqs = new aws.SQSClient({ ...options, endpoint: `http://${process.env.CLIENTS_SQS}` });

const WITHIN_MS = 20_000;
/** For how long a consumer sleeps after a receive that failed, also when it is stopped. */
const PAUSE_MS = 100;

let queueUrl;
let consumers;

const call = (Command, input) => sqs.send(new Command({ QueueUrl: queueUrl, ...input }));

async function send(bodies) {
  for (let n = 0; n < bodies.length; n += 10) {
    const part = bodies.slice(n, n + 10);
    const Entries = part.map((MessageBody, at) => ({ Id: `e${at}`, MessageBody }));
    const { Successful } = await call(aws.SendMessageBatchCommand, { Entries });
    assert.equal(Successful.length, part.length);
  }
}

/** How many messages are there, whatever their state. */
async function left() {
  const AttributeNames = ["", "NotVisible", "Delayed"].map((s) => `ApproximateNumberOfMessages${s}`);
  const { Attributes } = await call(aws.GetQueueAttributesCommand, { AttributeNames });
  assert.equal(Object.keys(Attributes).length, 3);
  return Object.values(Attributes).reduce((sum, number) => sum + Number(number), 0);
}

/** Waits until `condition` is true. */
async function within(condition) {
  const deadline = performance.now() + WITHIN_MS;
  while (!condition()) {
    assert.ok(performance.now() < deadline, "it did not come to pass");
    await new Promise((done) => setTimeout(done, 10));
  }
}

/**
 * Starts a consumer. `processed()` tells how many messages were processed, which is after their
 * deletion, and throws after an error event. `failures` has what handlers threw, and the error
 * events whose text is `expected`; what the handler of a batch throws is one.
 */
function consume({ expected, ...given }) {
  const always = { queueUrl, sqs, waitTimeSeconds: 5, authenticationErrorTimeout: PAUSE_MS };
  const consumer = Consumer.create({ ...always, ...given });
  const failures = [];
  let [count, broken] = [0, undefined];
  consumer.on("message_processed", () => {
    count += 1;
  });
  consumer.on("processing_error", (error) => failures.push(error));
  consumer.on("error", (error) => {
    if (expected?.test(error.message)) failures.push(error);
    else broken ??= error;
  });
  consumers.push(consumer);
  consumer.start();
  const processed = () => {
    if (broken !== undefined) throw broken;
    return count;
  };
  const until = async (wanted) => {
    await within(() => processed() >= wanted);
    assert.equal(count, wanted);
  };
  return { consumer, failures, processed, until };
}

beforeEach(async () => {
  consumers = [];
  const made = await sqs.send(new aws.CreateQueueCommand({ QueueName: `js-${randomUUID()}` }));
  queueUrl = made.QueueUrl;
});

afterEach(async () => {
  for (const consumer of consumers) consumer.stop({ abort: true });
  await call(aws.DeleteQueueCommand, {});
});

test("every message is handled exactly as sent, and deleted", async () => {
  const bodies = ["plain", "žluť 日本語 🦀", "<&>\"'\r\n\t", "x".repeat(262_144)];
  bodies.push(...Array.from({ length: 21 }, (_, n) => `body ${n}`));
  await send(bodies);
  const seen = [];
  const handleMessage = async (message) => void seen.push(message.Body);
  const { until } = consume({ handleMessage, batchSize: 10 });
  await until(bodies.length);
  assert.deepEqual(seen.sort(), bodies.sort());
  assert.equal(await left(), 0);
});

test("the address in the queue's URL is enough", async () => {
  await send(["x"]);
  const direct = new aws.SQSClient({ ...options, useQueueUrlAsEndpoint: true });
  const seen = [];
  const handleMessage = async (message) => void seen.push(message.Body);
  await consume({ handleMessage, sqs: direct }).until(1);
  assert.deepEqual(seen, ["x"]);
  assert.equal(await left(), 0);
});

test("batches are handled and deleted whole, or as far as the handler says", async () => {
  const bodies = Array.from({ length: 25 }, (_, n) => `body ${n}`);
  await send(bodies);
  const [seen, sizes] = [[], []];
  const handleMessageBatch = async (messages) => {
    sizes.push(messages.length);
    const done = messages.filter((message) => message.Body !== "body 7");
    seen.push(...done.map((message) => message.Body));
    return done;
  };
  const { until } = consume({ handleMessageBatch, batchSize: 10, visibilityTimeout: 60 });
  await until(24);
  assert.deepEqual(seen.sort(), bodies.filter((body) => body !== "body 7").sort());
  assert.ok(sizes.every((size) => size <= 10) && Math.max(...sizes) > 1, `${sizes}`);
  assert.equal(await left(), 1);
});

test("a message whose handler threw is given back at once", async () => {
  await send(["poison"]);
  const counts = [];
  const started = performance.now();
  const handleMessage = async (message) => {
    assert.equal(message.Body, "poison");
    counts.push(message.Attributes.ApproximateReceiveCount);
    if (counts.length < 3) throw new Error("not yet");
  };
  const { until, failures } = consume({
    handleMessage,
    terminateVisibilityTimeout: true,
    messageSystemAttributeNames: ["ApproximateReceiveCount"],
    visibilityTimeout: 60,
  });
  await until(1);
  assert.deepEqual(counts, ["1", "2", "3"]);
  assert.equal(failures.length, 2);
  assert.match(failures[0].message, /not yet/);
  assert.ok(performance.now() - started < 10_000);
  assert.equal(await left(), 0);
});

test("a batch whose handler threw is given back with the backoff that it asks for", async () => {
  await send(["1", "2", "3"]);
  const times = [];
  const handleMessageBatch = async (messages) => {
    times.push(...messages.map(() => performance.now()));
    if (times.length <= 3) throw new Error("not yet");
  };
  const { until, failures } = consume({
    handleMessageBatch,
    terminateVisibilityTimeout: () => 1,
    batchSize: 3,
    visibilityTimeout: 60,
    expected: /not yet/,
  });
  await until(3);
  assert.ok(failures.length > 0);
  const waited = times.at(3) - times.at(0);
  assert.ok(waited >= 950 && waited < 10_000, `${waited} ms`);
  assert.equal(await left(), 0);
});

test("without that it comes back when its visibility timeout ends", async () => {
  await send(["x"]);
  const times = [];
  const handleMessage = async () => {
    times.push(performance.now());
    if (times.length === 1) throw new Error("not yet");
  };
  const { until, failures } = consume({ handleMessage, visibilityTimeout: 2 });
  await until(1);
  const waited = times[1] - times[0];
  assert.ok(waited >= 1_900 && waited < 10_000, `${waited} ms`);
  assert.equal(failures.length, 1);
});

test("a heartbeat keeps a message hidden while its handler works", async () => {
  await send(["slow"]);
  let handled = 0;
  const handleMessage = async () => {
    handled += 1;
    await new Promise((done) => setTimeout(done, 4_500));
  };
  const given = { handleMessage, visibilityTimeout: 3, heartbeatInterval: 1 };
  const first = consume(given);
  const second = consume(given);
  await within(() => first.processed() + second.processed() === 1);
  assert.equal(handled, 1);
  assert.equal(await left(), 0);
});

test("message attributes arrive with the message", async () => {
  const MessageAttributes = {
    word: { DataType: "String", StringValue: "日本" },
    bytes: { DataType: "Binary", BinaryValue: Uint8Array.from({ length: 256 }, (_, n) => n) },
  };
  await call(aws.SendMessageCommand, { MessageBody: "x", MessageAttributes });
  const seen = [];
  const handleMessage = async (message) => void seen.push(message.MessageAttributes);
  await consume({ handleMessage, messageAttributeNames: ["All"] }).until(1);
  assert.deepEqual(seen, [MessageAttributes]);
});

test("a FIFO queue is handled in order", async () => {
  const plain = queueUrl;
  const Attributes = { FifoQueue: "true", ContentBasedDeduplication: "true" };
  const QueueName = `js-${randomUUID()}.fifo`;
  queueUrl = (await sqs.send(new aws.CreateQueueCommand({ QueueName, Attributes }))).QueueUrl;
  const bodies = Array.from({ length: 12 }, (_, n) => `body ${n}`);
  for (const MessageBody of bodies) {
    await call(aws.SendMessageCommand, { MessageBody, MessageGroupId: "g" });
  }
  const seen = [];
  const handleMessage = async (message) => void seen.push(message.Body);
  await consume({ handleMessage, suppressFifoWarning: true }).until(12);
  assert.deepEqual(seen, bodies);
  assert.equal(await left(), 0);
  await call(aws.DeleteQueueCommand, {});
  queueUrl = plain;
});

test("a consumer that is stopped ends its long poll and takes nothing more", async () => {
  const seen = [];
  const handleMessage = async (message) => void seen.push(message.Body);
  const { consumer } = consume({ handleMessage, waitTimeSeconds: 20 });
  await new Promise((done) => setTimeout(done, 300));
  consumer.stop({ abort: true });
  assert.equal(consumer.status.isRunning, false);
  await send(["for the next"]);
  await consume({ handleMessage: async ({ Body }) => void seen.push(`next: ${Body}`) }).until(1);
  assert.deepEqual(seen, ["next: for the next"]);
});

test("a queue that is gone is an error event", async () => {
  const expected = /does not exist/;
  const gone = { queueUrl: `${queueUrl}-gone`, handleMessage: async () => {}, expected };
  const { failures, processed } = consume(gone);
  await within(() => processed() + failures.length > 0);
  assert.equal(failures[0].name, "SQSError");
});
