<?php

// An application that uses Laravel's queue with its beanstalkd driver: its jobs, and a worker.
// `php application.php TUBES RETRY_AFTER JOBS` works on so many jobs, and then ends.
// The server is told by CLIENTS_BEANSTALKD, HOST:PORT; jobs note their runs in CLIENTS_FOLDER.

declare(strict_types=1);

error_reporting(E_ALL & ~E_DEPRECATED);

require_once 'Illuminate/Bus/autoload.php';
require_once 'Illuminate/Events/autoload.php';
require_once 'Illuminate/Queue/autoload.php';
require_once 'Pheanstalk/autoload.php';

use Illuminate\Bus\Queueable;
use Illuminate\Container\Container;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Queue\Capsule\Manager;
use Illuminate\Queue\InteractsWithQueue;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;

/** A job that notes each run in the file of its name. */
abstract class Job implements ShouldQueue
{
    use InteractsWithQueue;
    use Queueable;

    public function __construct(public string $name, public mixed $value = null)
    {
    }

    protected function note(string $what): void
    {
        $run = [$what, $this->value, $this->attempts(), microtime(true)];
        file_put_contents(notes($this->name), json_encode($run) . "\n", FILE_APPEND | LOCK_EX);
    }
}

final class Note extends Job
{
    public function handle(): void
    {
        $this->note('run');
    }
}

final class FailsTwice extends Job
{
    public int $tries = 5;
    public int $backoff = 1;

    public function handle(): void
    {
        $this->note('run');
        if ($this->attempts() < 3) {
            throw new RuntimeException('not yet');
        }
    }
}

final class FailsAlways extends Job
{
    public int $tries = 2;

    public function handle(): void
    {
        $this->note('run');
        throw new RuntimeException('never');
    }

    public function failed(Throwable $error): void
    {
        $this->note('failed: ' . $error->getMessage());
    }
}

/** Its first run ends when its worker is killed. */
final class Stuck extends Job
{
    public function handle(): void
    {
        $this->note('run');
        if ($this->attempts() === 1) {
            sleep(600);
        }
    }
}

/** Tells stderr of whatever a job threw; what the worker itself meets ends it. */
final class Reports implements ExceptionHandler
{
    public function report(Throwable $e): void
    {
        fwrite(STDERR, get_class($e) . ': ' . $e->getMessage() . "\n");
        if ($e instanceof Pheanstalk\Exception) {
            exit(1);
        }
    }

    public function shouldReport(Throwable $e): bool
    {
        return true;
    }

    public function render($request, Throwable $e)
    {
        throw $e;
    }

    public function renderForConsole($output, Throwable $e): void
    {
        $this->report($e);
    }
}

/** The file of the runs of jobs with this name. */
function notes(string $name): string
{
    return getenv('CLIENTS_FOLDER') . "/$name.runs";
}

/** The runs of jobs with this name: what, the value, which attempt, when. */
function runs(string $name): array
{
    $lines = is_file(notes($name)) ? file(notes($name), FILE_IGNORE_NEW_LINES) : [];
    return array_map(fn (string $line) => json_decode($line, true), $lines);
}

/** The queue of an application whose default tube is `$tube`. */
function application(string $tube, int $retry_after): Manager
{
    $container = new Container();
    $container->instance(Illuminate\Contracts\Container\Container::class, $container);
    $events = new Illuminate\Events\Dispatcher($container);
    $container->instance('events', $events);
    $container->instance(Illuminate\Contracts\Events\Dispatcher::class, $events);
    $dispatcher = new Illuminate\Bus\Dispatcher($container);
    $container->instance(Illuminate\Contracts\Bus\Dispatcher::class, $dispatcher);
    $queue = new Manager($container);
    [$host, $port] = explode(':', getenv('CLIENTS_BEANSTALKD'));
    $queue->addConnection([
        'driver' => 'beanstalkd',
        'host' => $host,
        'port' => (int) $port,
        'queue' => $tube,
        'retry_after' => $retry_after,
        'block_for' => 5,
    ]);
    return $queue;
}

/** Works on `$jobs` jobs of the tubes, the first one first; returns the status of the worker. */
function work(string $tubes, int $retry_after, int $jobs): int
{
    $queue = application(explode(',', $tubes)[0], $retry_after);
    $container = $queue->getContainer();
    $worker = new Worker(
        $queue->getQueueManager(),
        $container['events'],
        new Reports(),
        fn () => false,
    );
    $options = new WorkerOptions(sleep: 0, maxTries: 3, maxJobs: $jobs, maxTime: 30);
    return $worker->daemon('default', $tubes, $options);
}

if (realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) {
    exit(work($argv[1], (int) $argv[2], (int) $argv[3]));
}
