<?php

// Laravel's queue with its beanstalkd driver, and Pheanstalk, the client below it.
// Workers run in processes of their own, as `php artisan queue:work` does.

declare(strict_types=1);

require_once __DIR__ . '/tap.php';
require_once __DIR__ . '/application.php';

use Illuminate\Queue\BeanstalkdQueue;
use Pheanstalk\Exception;

use function Tap\check;
use function Tap\equal;
use function Tap\test;
use function Tap\within;

const RETRY_AFTER = 60;

/** Starts a worker. */
function start(string $tubes, int $jobs, int $retry_after = RETRY_AFTER)
{
    $command = [PHP_BINARY, __DIR__ . '/application.php', $tubes, "$retry_after", "$jobs"];
    $worker = proc_open($command, [['file', '/dev/null', 'r']], $pipes);
    check(is_resource($worker), 'no worker');
    return $worker;
}

/** Waits for the end of a worker and returns its status. */
function ended($worker): int
{
    within(function () use ($worker, &$status) {
        $status = proc_get_status($worker);
        return !$status['running'];
    });
    proc_close($worker);
    return $status['exitcode'];
}

/** A tube of its own for a test, and its queue. */
function fresh(int $retry_after = RETRY_AFTER): array
{
    $tube = 'php-' . bin2hex(random_bytes(6));
    return [$tube, application($tube, $retry_after)->getConnection()];
}

/** How many jobs of a tube are in each state. */
function left(BeanstalkdQueue $queue, string $tube): array
{
    $stats = $queue->getPheanstalk()->statsTube($tube);
    $states = ['ready', 'reserved', 'delayed', 'buried'];
    return array_map(fn (string $state) => (int) $stats["current-jobs-$state"], $states);
}

test('jobs run once with what they were given, and nothing is left', function () {
    [$tube, $queue] = fresh();
    $values = ['žluť 日本語 🦀', "<&>\"'\r\n\t", str_repeat('x', 60_000), ['a' => [1, 2.5, null]]];
    array_push($values, ...range(1, 21));
    $queue->bulk(array_map(fn (mixed $value) => new Note($tube, $value), $values));
    equal($queue->size(), 25);
    equal(ended(start($tube, 25)), 0);
    equal(array_column(runs($tube), 1), $values);
    equal(left($queue, $tube), [0, 0, 0, 0]);
});

test('a job that throws is released with its backoff', function () {
    [$tube, $queue] = fresh();
    $queue->push(new FailsTwice($tube, 'v'));
    equal(ended(start($tube, 3)), 0);
    $runs = runs($tube);
    equal(array_column($runs, 2), [1, 2, 3]);
    $times = array_column($runs, 3);
    check($times[1] - $times[0] >= 0.95 && $times[2] - $times[1] >= 0.95, 'the backoff was short');
    equal(left($queue, $tube), [0, 0, 0, 0]);
});

test('a job that fails too often is given up and deleted', function () {
    [$tube, $queue] = fresh();
    $queue->push(new FailsAlways($tube, 'v'));
    equal(ended(start($tube, 2)), 0);
    equal(array_column(runs($tube), 0), ['run', 'run', 'failed: never']);
    equal(left($queue, $tube), [0, 0, 0, 0]);
});

test('a job that is delayed is not early', function () {
    [$tube, $queue] = fresh();
    $sent = microtime(true);
    $queue->later(2, new Note($tube));
    equal(left($queue, $tube), [0, 0, 1, 0]);
    equal(ended(start($tube, 1)), 0);
    $waited = runs($tube)[0][3] - $sent;
    check($waited >= 1.95 && $waited < 20, "it waited $waited s");
});

test('a job whose worker is killed runs again when its time to run ends', function () {
    [$tube, $queue] = fresh(retry_after: 2);
    $queue->push(new Stuck($tube));
    $first = start($tube, 1, retry_after: 2);
    within(fn () => runs($tube) !== []);
    // The server gives back at once what a closed connection holds; a stopped process keeps its.
    posix_kill(proc_get_status($first)['pid'], SIGSTOP);
    equal(left($queue, $tube), [0, 1, 0, 0]);
    $second = start($tube, 1, retry_after: 2);
    equal(ended($second), 0);
    proc_terminate($first, SIGKILL);
    ended($first);
    $runs = runs($tube);
    equal(array_column($runs, 2), [1, 2]);
    $waited = $runs[1][3] - $runs[0][3];
    check($waited >= 1.9 && $waited < 20, "it waited $waited s");
    equal(left($queue, $tube), [0, 0, 0, 0]);
});

test('the connection of a worker that is killed gives its job back at once', function () {
    [$tube, $queue] = fresh();
    $queue->push(new Stuck($tube));
    $first = start($tube, 1);
    within(fn () => runs($tube) !== []);
    proc_terminate($first, SIGKILL);
    ended($first);
    equal(ended(start($tube, 1)), 0);
    equal(array_column(runs($tube), 2), [1, 2]);
    equal(left($queue, $tube), [0, 0, 0, 0]);
});

test('tubes are served in the order that the worker was told', function () {
    [$tube, $queue] = fresh();
    $high = "$tube-high";
    foreach ([1, 2] as $n) {
        $queue->push(new Note($tube, "low $n"));
    }
    foreach ([1, 2] as $n) {
        $queue->pushOn($high, new Note($tube, "high $n"));
    }
    equal(ended(start("$high,$tube", 2)), 0);
    equal(array_column(runs($tube), 1), ['high 1', 'high 2']);
    equal([left($queue, $high), left($queue, $tube)], [[0, 0, 0, 0], [2, 0, 0, 0]]);
});

test('a job is released, buried, kicked and deleted by hand', function () {
    [$tube, $queue] = fresh();
    $id = $queue->pushRaw('{"n":1}')->getId();
    $job = $queue->pop();
    equal([$job->getJobId(), $job->getRawBody(), $job->attempts()], [$id, '{"n":1}', 1]);
    equal(left($queue, $tube), [0, 1, 0, 0]);
    $job->release(600);
    equal(left($queue, $tube), [0, 0, 1, 0]);
    $queue->getPheanstalk()->kickJob($job->getPheanstalkJob());
    $job = $queue->pop();
    equal($job->attempts(), 2);
    $job->bury();
    equal(left($queue, $tube), [0, 0, 0, 1]);
    equal($queue->getPheanstalk()->useTube($tube)->kick(10), 1);
    $queue->pop()->delete();
    equal(left($queue, $tube), [0, 0, 0, 0]);
});

test('Pheanstalk sends and looks at bytes of every value', function () {
    [$tube, $queue] = fresh();
    $client = $queue->getPheanstalk()->useTube($tube);
    $bytes = str_repeat(implode('', array_map('chr', range(0, 255))), 255);
    $job = $client->put($bytes, 7, 0, 60);
    equal($client->peekReady()->getData(), $bytes);
    equal($client->peek($job)->getData(), $bytes);
    $stats = $client->statsJob($job);
    // beanstalkd writes names of tubes with quotes since 1.13; Pheanstalk 4 leaves them there.
    equal([trim($stats['tube'], '"'), $stats['state'], $stats['pri']], [$tube, 'ready', '7']);
    $reserved = $client->watchOnly($tube)->reserveWithTimeout(5);
    equal([$reserved->getId(), $reserved->getData()], [$job->getId(), $bytes]);
    $client->touch($reserved);
    $client->delete($reserved);
    equal([$client->peekReady(), $client->reserveWithTimeout(0)], [null, null]);
});

test('Pheanstalk pauses tubes and tells of those it uses and watches', function () {
    [$tube, $queue] = fresh();
    $client = $queue->getPheanstalk()->useTube($tube)->watchOnly($tube);
    $client->put('x');
    $client->pauseTube($tube, 600);
    equal($client->reserveWithTimeout(0), null);
    $client->resumeTube($tube);
    equal($client->reserveWithTimeout(5)->getData(), 'x');
    equal([$client->listTubeUsed(true), array_values($client->listTubesWatched(true))], [$tube, [$tube]]);
    check(in_array($tube, $client->listTubes(), true), 'the tube is not listed');
    check((int) $client->stats()['current-connections'] > 0, 'no connection is counted');
});

test('errors arrive as the exceptions of Pheanstalk', function () {
    [$tube, $queue] = fresh();
    $client = $queue->getPheanstalk()->useTube($tube);
    $gone = $client->put('x');
    $client->delete($gone);
    $refused = [
        [Exception\JobNotFoundException::class, fn () => $client->delete($gone)],
        [Exception\JobTooBigException::class, fn () => $client->put(str_repeat('x', 65_536))],
        [Exception\ServerException::class, fn () => $client->statsTube("$tube-absent")],
    ];
    foreach ($refused as [$class, $call]) {
        try {
            $call();
            $error = null;
        } catch (Exception $thrown) {
            $error = $thrown;
        }
        check($error instanceof $class, 'not ' . $class . ' but ' . get_debug_type($error));
    }
});

Tap\finish();
