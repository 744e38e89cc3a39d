// The driver's half of the lab's line protocol, for peers whose library is JavaScript: work comes
// in as JSON lines, windows and answers go out as JSON lines (see src/driver/protocol.rs).
//
// A peer gives `serve` an object with:
//   ready                         version and how it is driven
//   send(payloads)                sends one call's worth of messages
//   work(callers, batch, take)    starts workers that hand each payload to `take`
//   idle()                        stops the workers; what they have in hand is finished first
//   count()                       how many messages wait, or null
//   end()                         closes its connections

import { createInterface } from 'node:readline';
import { performance } from 'node:perf_hooks';

const FILLER = 'x'.repeat(60);
// Batches that each sender may be ahead of the workers.
const AHEAD = 16;
const LEFT_WITHIN_MS = 60_000;

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Latencies in microseconds to two digits, as pairs of a latency and a count.
class Latencies {
  #counts = new Map();

  add(us) {
    const step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(us, 1))) - 1);
    const at = Math.ceil(us / step) * step;
    this.#counts.set(at, (this.#counts.get(at) ?? 0) + 1);
  }

  buckets() {
    return [...this.#counts].sort((a, b) => a[0] - b[0]);
  }
}

// The time between the ends of operations of one kind.
class Gaps {
  #last = performance.now();
  #max = 0;

  completed() {
    const now = performance.now();
    this.#max = Math.max(this.#max, now - this.#last);
    this.#last = now;
  }

  // The longest since the last call, in milliseconds; the one that has not ended is included, and
  // goes on.
  take() {
    const longest = Math.max(this.#max, performance.now() - this.#last);
    this.#max = 0;
    return longest;
  }
}

// Which numbers were sent and which came back.
class Ledger {
  next = 0;
  received = 0;
  duplicates = 0;
  #seen = new Uint8Array(1 << 20);

  take(count) {
    const first = this.next;
    this.next += count;
    return first;
  }

  note(number) {
    if (!(number < this.next)) throw new Error(`message ${number} came, and nobody sent it`);
    while (number >= this.#seen.length) {
      const grown = new Uint8Array(this.#seen.length * 2);
      grown.set(this.#seen);
      this.#seen = grown;
    }
    this.received += 1;
    if (this.#seen[number]) this.duplicates += 1;
    this.#seen[number] = 1;
  }

  outstanding() {
    return this.next - (this.received - this.duplicates);
  }
}

function payloads(ledger, count, dueMs) {
  const first = ledger.take(count);
  return Array.from({ length: count }, (_, at) => ({ n: first + at, due: dueMs, fill: FILLER }));
}

function answer(ledger, messages, seconds, name, latencies, figures = {}) {
  return {
    messages,
    seconds,
    sent: ledger.next,
    received: ledger.received,
    duplicates: ledger.duplicates,
    missing: 0,
    latencies: { [name]: latencies.buckets() },
    figures,
  };
}

// Lets the warm-up and the measured time pass; answers what `count` grew by in the latter.
async function measure(command, meter) {
  await sleep(command.warmup * 1000);
  const [before, begun] = [meter.done, performance.now()];
  meter.measuring = true;
  await sleep(command.seconds * 1000);
  const measured = [meter.done - before, (performance.now() - begun) / 1000];
  meter.stop = true;
  return measured;
}

async function send(command, peer) {
  const [ledger, latencies] = [new Ledger(), new Latencies()];
  const meter = { done: 0, measuring: false, stop: false };
  const caller = async () => {
    while (!meter.stop) {
      const begun = performance.now();
      await peer.send(payloads(ledger, command.batch, begun));
      if (meter.measuring) latencies.add((performance.now() - begun) * 1000);
      meter.done += command.batch;
    }
  };
  const callers = Array.from({ length: command.callers }, caller);
  const [messages, seconds] = await race(measure(command, meter), callers);
  await Promise.all(callers);
  const held = await peer.count();
  if (held !== null && held !== ledger.next) {
    throw new Error(`${ledger.next} messages were sent, and the queue holds ${held}`);
  }
  return answer(ledger, messages, seconds, 'send', latencies);
}

// Callers send ahead of the workers by a bounded number of messages.
async function cycle(command, peer) {
  const [ledger, latencies] = [new Ledger(), new Latencies()];
  const meter = { done: 0, measuring: false, stop: false };
  await peer.work(command.callers, command.batch, (payload) => {
    ledger.note(payload.n);
    if (meter.measuring) latencies.add((performance.now() - payload.due) * 1000);
    meter.done += 1;
  });
  const ahead = command.callers * command.batch * AHEAD;
  const caller = async () => {
    while (!meter.stop) {
      if (ledger.outstanding() + command.batch > ahead) {
        await sleep(1);
        continue;
      }
      await peer.send(payloads(ledger, command.batch, performance.now()));
    }
  };
  const callers = Array.from({ length: command.callers }, caller);
  const [messages, seconds] = await race(measure(command, meter), callers);
  await Promise.all(callers);
  const left = await drain(ledger);
  await peer.idle();
  const found = answer(ledger, messages, seconds, 'end_to_end', latencies);
  return { ...found, missing: left };
}

// A fixed rate in windows; the first is the warm-up.
async function paced(command, peer) {
  const [ledger, all] = [new Ledger(), new Latencies()];
  let window = { sent: 0, received: 0, latencies: new Latencies() };
  const [sends, receives] = [new Gaps(), new Gaps()];
  await peer.work(command.callers, command.batch, (payload) => {
    const us = Math.max(0, performance.now() - payload.due) * 1000;
    ledger.note(payload.n);
    window.received += 1;
    receives.completed();
    window.latencies.add(us);
    all.add(us);
  });
  const state = { next: 0, late: 0, stop: false, start: performance.now() + 50 };
  const caller = async () => {
    while (!state.stop) {
      const due = state.start + ((state.next++ * command.batch) / command.rate) * 1000;
      const wait = due - performance.now();
      if (wait > 0) await sleep(wait);
      else if (wait < -5) state.late += 1;
      await peer.send(payloads(ledger, command.batch, due));
      window.sent += command.batch;
      sends.completed();
    }
  };
  const callers = Array.from({ length: command.callers }, caller);
  let [messages, seconds] = [0, 0];
  for (let number = 0; number <= command.windows; number += 1) {
    const begun = performance.now();
    await race(sleep((number === 0 ? command.warmup : command.seconds) * 1000), callers);
    const seen = window;
    window = { sent: 0, received: 0, latencies: new Latencies() };
    const stall_max_ms = Math.max(sends.take(), receives.take());
    if (number === 0) continue;
    const length = (performance.now() - begun) / 1000;
    messages += seen.received;
    seconds += length;
    const { sent, received } = seen;
    const end_to_end = seen.latencies.buckets();
    say({ window: { seconds: length, sent, received, end_to_end, stall_max_ms } });
  }
  state.stop = true;
  await Promise.all(callers);
  const figures = { backlog_at_the_end: ledger.outstanding(), late_starts: state.late };
  const left = await drain(ledger);
  await peer.idle();
  const found = answer(ledger, messages, seconds, 'end_to_end', all, figures);
  return { ...found, missing: left };
}

// Waits for `timer`; a caller that fails before ends the wait.
function race(timer, callers) {
  const failed = callers.map((caller) => caller.then(() => new Promise(() => {})));
  return Promise.race([timer, ...failed]);
}

// Waits for what is still to come; answers how much of it did not.
async function drain(ledger) {
  const deadline = performance.now() + LEFT_WITHIN_MS;
  while (ledger.outstanding() > 0 && performance.now() < deadline) await sleep(5);
  return ledger.outstanding();
}

const WORKS = { send, cycle, paced };

export async function serve(peer) {
  say({ ready: peer.ready });
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      const command = JSON.parse(line);
      const work = WORKS[command.work];
      if (!work) throw new Error(`this driver does not do ${command.work}`);
      say({ done: await work(command, peer) });
    } catch (error) {
      say({ failed: String(error?.stack ?? error) });
      process.exit(1);
    }
  }
  await peer.end();
  process.exit(0);
}
