<?php
// Laravel's queue as Debian packages it, without the framework around it: fills a queue with empty
// jobs, or is one of the workers.
//
//     php jobs.php fill CONFIG JOBS
//     php jobs.php work CONFIG ORDER
//
// CONFIG is JSON: "queue" is a connection of config/queue.php, "database" one of
// config/database.php or null. A worker says "ready", waits for a line, and works until the queue
// is empty. It appends the index of each job to the file ORDER as it executes it, and says in the
// end what it counted. `pop`, `fire` and `delete` are called as Laravel's own worker does; a claim
// that fails is tried again at once, where that one waits a second.

declare(strict_types=1);

require_once 'Illuminate/Queue/autoload.php';
require_once 'Pheanstalk/autoload.php';

use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager as Database;
use Illuminate\Database\QueryException;
use Illuminate\Database\Schema\Blueprint;
use Illuminate\Queue\Capsule\Manager as Queues;

final class EmptyJob
{
    /** @var resource */
    public static $order;

    public function fire($job, array $data): void
    {
        fwrite(self::$order, $data['index'] . "\n");
        $job->delete();
    }
}

function queues(Container $container, array $config)
{
    $queues = new Queues($container);
    if ($config['database'] !== null) {
        $database = new Database($container);
        $database->addConnection($config['database']);
        $container->instance('db', $database->getDatabaseManager());
    }
    $queues->addConnection($config['queue']);
    return $queues->getConnection();
}

/** The table of Laravel's own migration. */
function make_table(Container $container): void
{
    $schema = $container->make('db')->connection()->getSchemaBuilder();
    $schema->create('jobs', function (Blueprint $table) {
        $table->bigIncrements('id');
        $table->string('queue')->index();
        $table->longText('payload');
        $table->unsignedTinyInteger('attempts');
        $table->unsignedInteger('reserved_at')->nullable();
        $table->unsignedInteger('available_at');
        $table->unsignedInteger('created_at');
    });
}

function fill(Container $container, array $config, int $jobs): void
{
    $queue = queues($container, $config);
    if ($config['database'] !== null) {
        make_table($container);
        $container->make('db')->connection()->beginTransaction();
    }
    for ($index = 0; $index < $jobs; $index++) {
        $queue->push('EmptyJob', ['index' => $index]);
    }
    if ($config['database'] !== null) {
        $container->make('db')->connection()->commit();
    }
}

/** Which of the counts a refused statement belongs to; any other error ends the worker. */
function kind(QueryException $error): string
{
    [$state, $code] = ($error->errorInfo ?? []) + ['', 0];
    if ($state === '40P01' || $code === 1213) {
        return 'deadlocks';
    }
    // SQLite's "busy" and "locked", and a wait for a lock of MariaDB that took too long.
    if (in_array($code, [5, 6, 1205], true)) {
        return 'refused';
    }
    throw $error;
}

function work(Container $container, array $config): array
{
    $queue = queues($container, $config);
    $counts = ['claims' => 0, 'deadlocks' => 0, 'delete_deadlocks' => 0, 'lost_deletes' => 0,
        'refused' => 0];
    [$gone, $end] = [0, 0];
    $queue->size();
    echo "ready\n";
    fgets(STDIN);
    while (true) {
        try {
            $job = $queue->pop();
        } catch (QueryException $error) {
            $counts[kind($error)]++;
            continue;
        }
        if ($job === null) {
            if ($queue->size() === 0) {
                break;
            }
            usleep(2000);
            continue;
        }
        $counts['claims']++;
        try {
            $job->fire();
            $gone++;
            $end = hrtime(true);
        } catch (QueryException $error) {
            $kind = kind($error);
            $counts[$kind]++;
            $counts['delete_deadlocks'] += $kind === 'deadlocks' ? 1 : 0;
            $counts['lost_deletes']++;
        }
    }
    return ['counts' => $counts + ['rounds' => $counts['claims']], 'gone' => $gone,
        'end_ns' => $end];
}

[, $what, $json, $argument] = $argv;
$config = json_decode($json, true, 16, JSON_THROW_ON_ERROR);
$container = new Container();
if ($what === 'fill') {
    fill($container, $config, (int) $argument);
} else {
    EmptyJob::$order = fopen($argument, 'ab');
    echo json_encode(work($container, $config)), "\n";
}
