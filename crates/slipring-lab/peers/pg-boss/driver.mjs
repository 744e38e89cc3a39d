// Drives pg-boss by its batch paths: insert, fetch with a batch size, complete of many.

import { readFileSync } from 'node:fs';
import * as boss from 'pg-boss';

import { serve } from '../protocol.mjs';

const manifest = new URL('node_modules/pg-boss/package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
const PgBoss = boss.PgBoss ?? boss.default;
const QUEUE = 'lab';
// Between two fetches that found nothing; its own workers would wait at least half a second.
const POLL_MS = 20;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const client = new PgBoss({ connectionString: process.argv[2], max: 40 });
client.on('error', (error) => console.error(error));
await client.start();
await client.createQueue(QUEUE);
let workers = [];
let working = false;

async function worker(batch, take) {
  while (working) {
    const jobs = await client.fetch(QUEUE, { batchSize: batch });
    if (jobs.length === 0) {
      await sleep(POLL_MS);
      continue;
    }
    for (const job of jobs) take(job.data);
    await client.complete(QUEUE, jobs.map((job) => job.id));
  }
}

await serve({
  ready: {
    version: `pg-boss ${version}`,
    how: 'insert of many, fetch with batchSize, complete of many',
  },
  async send(payloads) {
    await client.insert(QUEUE, payloads.map((data) => ({ data })));
  },
  async work(callers, batch, take) {
    working = true;
    workers = Array.from({ length: callers }, () => worker(batch, take));
  },
  async idle() {
    working = false;
    await Promise.all(workers);
  },
  async count() {
    const { rows } = await client.getDb().executeSql(
      "SELECT count(*)::int AS count FROM pgboss.job WHERE name = $1 AND state = 'created'",
      [QUEUE],
    );
    return rows[0].count;
  },
  async end() {
    await client.stop({ graceful: false });
  },
});
