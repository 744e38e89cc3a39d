<?php

// Tests in PHP that tell how they went in the Test Anything Protocol.
// Not for what is tested: that is in the files that require this one.

declare(strict_types=1);

namespace Tap;

error_reporting(E_ALL & ~E_DEPRECATED);
ini_set('display_errors', 'stderr');

/** Fails the test unless the two are identical. */
function equal(mixed $got, mixed $wanted): void
{
    if ($got !== $wanted) {
        [$got, $wanted] = array_map(fn ($value) => substr(json_encode($value), 0, 400), [$got, $wanted]);
        throw new \Exception("got $got, want $wanted");
    }
}

/** Fails the test unless `$holds`. */
function check(bool $holds, string $otherwise): void
{
    if (!$holds) {
        throw new \Exception($otherwise);
    }
}

/** Waits until `$condition` is true, at most half a minute. */
function within(callable $condition): void
{
    $deadline = microtime(true) + 30;
    while (!$condition()) {
        check(microtime(true) < $deadline, 'it did not come to pass');
        usleep(20_000);
    }
}

/** How many tests passed, and how many failed. */
final class Totals
{
    public static int $passed = 0;
    public static int $failed = 0;
}

/** Runs one test. */
function test(string $name, callable $body): void
{
    $number = Totals::$passed + Totals::$failed + 1;
    try {
        $body();
        Totals::$passed += 1;
        echo "ok $number - $name\n";
    } catch (\Throwable $error) {
        Totals::$failed += 1;
        echo "not ok $number - $name\n", preg_replace('/^/m', '  # ', (string) $error), "\n";
    }
}

/** Tells the totals and ends the program, with status 0 if all passed. */
function finish(): never
{
    [$passed, $failed] = [Totals::$passed, Totals::$failed];
    echo '1..', $passed + $failed, "\n# pass $passed\n# fail $failed\n";
    exit($failed === 0 && $passed > 0 ? 0 : 1);
}
