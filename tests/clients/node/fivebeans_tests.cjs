// Loaded before the tests that fivebeans ships, which are run as they are: sends their connections
// to the server under test, told by CLIENTS_BEANSTALKD (HOST:PORT), and leaves out what no server
// can make pass.

"use strict";

const net = require("node:net");

/** The address that the tests have written into them. */
const WRITTEN = 11300;

/** The titles of tests that are left out, each with its reason. */
const EXCLUDED = {
  "FiveBeansWorker starting & stopping emits the error event on failure":
    "it compares errno with a name; Node.js 13 and newer have a number there",
  "FiveBeansWorker log events have tests": "fivebeans has written no test under this title",
};

const [host, port] = process.env.CLIENTS_BEANSTALKD.split(":");
const connect = net.createConnection;

net.createConnection = (first, ...rest) =>
  first === WRITTEN ? connect(Number(port), host) : connect(first, ...rest);

// A test leaves itself out where the version of beanstalkd is too old. Ours counts otherwise.
const semver = require(require.resolve("semver", { paths: [process.cwd()] }));
semver.satisfies = () => true;

exports.mochaHooks = {
  beforeEach() {
    const reason = EXCLUDED[this.currentTest.fullTitle()];
    if (reason !== undefined) this.skip();
  },
  afterAll() {
    const titles = new Set();
    this.test.parent.eachTest((test) => titles.add(test.fullTitle()));
    for (const [title, reason] of Object.entries(EXCLUDED)) {
      if (!titles.has(title)) throw new Error(`no test has the title: ${title}`);
      console.log(`EXCLUDED ${title}: ${reason}`);
    }
  },
};
