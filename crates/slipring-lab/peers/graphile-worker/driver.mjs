// Drives graphile-worker by its batch paths: addJobs, a local queue, and completions in batches.

import { readFileSync } from 'node:fs';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

import { serve } from '../protocol.mjs';

const manifest = new URL('node_modules/graphile-worker/package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
const TASK = 'lab';
// Of its performance guide: jobs at a time per process, and a local queue well above them.
const CONCURRENT = 24;
const LOCAL_QUEUE = 500;

const pool = new pg.Pool({ connectionString: process.argv[2], max: 40 });
pool.on('error', () => {});
const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message);
});
const utils = await makeWorkerUtils({ pgPool: pool, logger });
await utils.migrate();
let runner = null;

await serve({
  ready: {
    version: `graphile-worker ${version}`,
    how: `addJobs; ${CONCURRENT} concurrent jobs, localQueue ${LOCAL_QUEUE}, completeJobBatchDelay 0`,
  },
  async send(payloads) {
    await utils.addJobs(payloads.map((payload) => ({ identifier: TASK, payload })));
  },
  async work(callers, batch, take) {
    runner = await run({
      pgPool: pool,
      logger,
      noHandleSignals: true,
      preset: {
        worker: {
          concurrentJobs: Math.max(CONCURRENT, callers),
          pollInterval: 1000,
          localQueue: { size: Math.max(LOCAL_QUEUE, batch) },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      taskList: { [TASK]: async (payload) => take(payload) },
    });
  },
  async idle() {
    await runner.stop();
    runner = null;
  },
  async count() {
    const { rows } = await pool.query('SELECT count(*)::int AS count FROM graphile_worker.jobs');
    return rows[0].count;
  },
  async end() {
    await utils.release();
    await pool.end();
  },
});
