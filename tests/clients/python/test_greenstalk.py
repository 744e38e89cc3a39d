"""greenstalk: every command of beanstalkd, its states and its errors."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import greenstalk
import pytest
from conftest import beanstalkd_address

BODIES = [b"", b"plain", b"\r\n", b"line\r\nline\r\n", bytes(range(256)), b"x" * 65_535]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: ascii(body[:8]) + str(len(body)))
def test_a_body_is_opaque_bytes(connect, body):
    client = connect(encoding=None)
    id = client.put(body)
    job = client.reserve(timeout=5)
    assert (job.id, job.body) == (id, body)
    client.delete(job)
    with pytest.raises(greenstalk.NotFoundError):
        client.peek(id)


def test_text_is_encoded_by_the_client(connect):
    client = connect()
    client.put("žluťoučký 🦀")
    assert client.reserve(timeout=5).body == "žluťoučký 🦀"


def test_best_priority_first_then_order_of_arrival(connect):
    client = connect()
    for body, priority in [("c", 10), ("d", 10), ("a", 0), ("e", 2**32 - 1), ("b", 1)]:
        client.put(body, priority=priority)
    assert [client.reserve(timeout=5).body for _ in range(5)] == list("abcde")


def test_the_best_priority_wins_over_all_watched_tubes(connect, name):
    client = connect(watch=[name + "-1", name + "-2"])
    for tube, body, priority in [("-1", "second", 5), ("-2", "first", 4), ("-1", "third", 6)]:
        client.use(name + tube)
        client.put(body, priority=priority)
    assert [client.reserve(timeout=5).body for _ in range(3)] == ["first", "second", "third"]


def test_a_delayed_job_is_ready_after_its_delay(connect):
    client = connect()
    started = time.monotonic()
    id = client.put("late", delay=1)
    assert client.stats_job(id)["state"] == "delayed"
    assert client.peek_delayed().id == id
    with pytest.raises(greenstalk.TimedOutError):
        client.reserve(timeout=0)
    assert client.reserve(timeout=5).id == id
    assert 1 <= time.monotonic() - started < 2


def test_a_reservation_ends_after_its_time_to_run(connect):
    holder, other = connect(), connect()
    id = holder.put("x", ttr=1)
    holder.reserve(timeout=5)
    assert other.reserve(timeout=5).id == id
    told = other.stats_job(id)
    assert (told["reserves"], told["timeouts"], told["state"]) == (2, 1, "reserved")
    with pytest.raises(greenstalk.NotFoundError):
        holder.delete(id)


def test_touch_prolongs_a_reservation(connect):
    holder, other = connect(), connect()
    job = holder.reserve_job(holder.put("x", ttr=2))
    with pytest.raises(greenstalk.TimedOutError):
        other.reserve(timeout=1)
    holder.touch(job)
    with pytest.raises(greenstalk.TimedOutError):
        other.reserve(timeout=1)
    holder.delete(job)


def test_the_last_second_of_a_reservation_answers_deadline_soon(connect):
    client = connect()
    client.put("x", ttr=1)
    client.reserve(timeout=5)
    with pytest.raises(greenstalk.DeadlineSoonError):
        client.reserve(timeout=5)


def test_a_waiting_reserve_is_woken_by_deadline_soon(connect):
    client = connect()
    client.put("x", ttr=2)
    client.reserve(timeout=5)
    started = time.monotonic()
    with pytest.raises(greenstalk.DeadlineSoonError):
        client.reserve(timeout=20)
    assert 0.5 < time.monotonic() - started < 2


def test_release_gives_back_with_new_priority_and_delay(connect):
    client = connect()
    client.put("a", priority=1)
    client.put("b", priority=2)
    job = client.reserve(timeout=5)
    assert job.body == "a"
    client.release(job, priority=3)
    assert client.reserve(timeout=5).body == "b"
    job = client.reserve(timeout=5)
    assert (job.body, client.stats_job(job)["releases"]) == ("a", 1)
    client.release(job, delay=600)
    told = client.stats_job(job)
    assert (told["state"], told["pri"], told["delay"]) == ("delayed", greenstalk.DEFAULT_PRIORITY, 600)
    with pytest.raises(greenstalk.NotFoundError):
        client.release(job)


def test_a_buried_job_waits_for_a_kick(connect):
    client = connect()
    for body in "abc":
        client.put(body)
    for _ in "abc":
        client.bury(client.reserve(timeout=5), priority=7)
    assert client.peek_buried().body == "a"
    with pytest.raises(greenstalk.TimedOutError):
        client.reserve(timeout=0)
    assert client.kick(2) == 2
    assert [client.reserve(timeout=5).body for _ in "ab"] == ["a", "b"]
    buried = client.peek_buried()
    assert client.stats_job(buried)["pri"] == 7
    client.kick_job(buried)
    job = client.reserve(timeout=5)
    told = client.stats_job(job)
    assert (told["buries"], told["kicks"]) == (1, 1)


def test_kick_takes_delayed_jobs_only_when_nothing_is_buried(connect):
    client = connect()
    delayed = client.put("delayed", delay=600)
    client.put("buried")
    client.bury(client.reserve(timeout=5))
    assert client.kick(10) == 1
    assert client.reserve(timeout=5).body == "buried"
    assert client.kick(10) == 1
    assert client.reserve(timeout=5).id == delayed
    assert client.kick(10) == 0


def test_peek_looks_and_takes_nothing(connect, name):
    client = connect()
    for peek in [client.peek_ready, client.peek_delayed, client.peek_buried]:
        with pytest.raises(greenstalk.NotFoundError):
            peek()
    id = client.put("x")
    assert client.peek(id).body == client.peek_ready().body == "x"
    other = connect(use=name + "-other")
    with pytest.raises(greenstalk.NotFoundError):
        other.peek_ready()
    assert other.peek(id).body == "x"
    assert client.reserve(timeout=5).id == id


def test_reserve_job_takes_delayed_and_buried_jobs(connect):
    client = connect()
    delayed = client.put("delayed", delay=600)
    assert client.reserve_job(delayed).body == "delayed"
    buried = client.put("buried")
    client.bury(client.reserve(timeout=5))
    assert client.reserve_job(buried).body == "buried"
    with pytest.raises(greenstalk.NotFoundError):
        client.reserve_job(buried)
    client.delete(buried)
    with pytest.raises(greenstalk.NotFoundError):
        client.reserve_job(buried)


def test_jobs_of_others_can_be_deleted_unless_they_are_reserved(connect):
    holder, other = connect(), connect()
    ready, delayed = holder.put("ready"), holder.put("delayed", delay=600)
    other.delete(ready)
    other.delete(delayed)
    reserved = holder.put("reserved")
    holder.reserve(timeout=5)
    with pytest.raises(greenstalk.NotFoundError):
        other.delete(reserved)
    holder.delete(reserved)


def test_a_closed_connection_gives_its_jobs_back(connect):
    holder, other = connect(), connect()
    id = holder.put("x", ttr=600)
    holder.reserve(timeout=5)
    holder.close()
    assert other.reserve(timeout=5).id == id


def test_tubes_are_used_watched_and_ignored(connect, name):
    client = connect()
    assert client.using() == name
    assert client.watching() == [name]
    assert client.watch(name + "-2") == 2
    assert client.watch(name + "-2") == 2
    assert sorted(client.watching()) == [name, name + "-2"]
    assert name in client.tubes()
    assert client.ignore(name) == 1
    with pytest.raises(greenstalk.NotIgnoredError):
        client.ignore(name + "-2")
    assert client.ignore(name + "-never") == 1


def test_a_tube_vanishes_when_nobody_needs_it(connect, name):
    client = connect()
    tube = name + "-short"
    client.use(tube)
    assert tube in client.tubes()
    client.use(name)
    assert tube not in client.tubes()
    with pytest.raises(greenstalk.NotFoundError):
        client.stats_tube(tube)


def test_a_paused_tube_hands_nothing_out_for_a_while(connect, name):
    client = connect()
    client.put("x")
    client.pause_tube(name, 1)
    told = client.stats_tube(name)
    assert (told["pause"], told["cmd-pause-tube"]) == (1, 1)
    started = time.monotonic()
    with pytest.raises(greenstalk.TimedOutError):
        client.reserve(timeout=0)
    client.reserve(timeout=5)
    assert 0.9 < time.monotonic() - started < 2
    with pytest.raises(greenstalk.NotFoundError):
        client.pause_tube(name + "-never", 1)


def test_a_waiting_reserve_is_woken_by_a_put(connect, name):
    producer, consumer = connect(), connect()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(consumer.reserve)
        while producer.stats_tube(name)["current-waiting"] == 0:
            threading.Event().wait(0.01)
        id = producer.put("wake")
        assert waiting.result(timeout=5).id == id


def test_an_empty_reserve_takes_its_time(connect):
    client = connect()
    started = time.monotonic()
    with pytest.raises(greenstalk.TimedOutError):
        client.reserve(timeout=1)
    assert 1 <= time.monotonic() - started < 2


def test_statistics_of_a_job(connect, name):
    client = connect()
    id = client.put("x", priority=12, delay=34, ttr=56)
    told = client.stats_job(id)
    assert (told["id"], told["tube"], told["state"]) == (id, name, "delayed")
    assert (told["pri"], told["delay"], told["ttr"], told["age"]) == (12, 34, 56, 0)
    assert told["time-left"] in (33, 34)
    assert set(told) == set(greenstalk.StatsJob.__annotations__)


def test_statistics_of_a_tube(connect, name):
    client = connect()
    for priority, delay in [(0, 0), (1023, 0), (1024, 0), (0, 600)]:
        client.put("x", priority=priority, delay=delay)
    client.delete(client.reserve(timeout=5))
    client.bury(client.reserve(timeout=5))
    told = client.stats_tube(name)
    current = {key[13:]: told[key] for key in told if key.startswith("current-jobs-")}
    assert current == {"urgent": 0, "ready": 1, "reserved": 0, "delayed": 1, "buried": 1}
    assert (told["total-jobs"], told["cmd-delete"]) == (4, 1)
    assert (told["current-using"], told["current-watching"], told["pause"]) == (1, 1, 0)
    assert set(told) == set(greenstalk.StatsTube.__annotations__)


def test_statistics_of_the_server_count_commands(connect):
    client = connect()
    before = client.stats()
    client.put("x")
    client.delete(client.reserve(timeout=5))
    after = client.stats()
    assert set(after) == set(greenstalk.Stats.__annotations__)
    for key, rise in [("cmd-put", 1), ("cmd-delete", 1), ("total-jobs", 1), ("cmd-stats", 1)]:
        assert after[key] - before[key] == rise, key
    assert after["cmd-reserve-with-timeout"] - before["cmd-reserve-with-timeout"] == 1
    assert after["max-job-size"] == 65_535
    assert after["draining"] == "false"


def test_a_job_that_is_too_big_is_refused_and_the_connection_lives(connect):
    client = connect()
    with pytest.raises(greenstalk.JobTooBigError):
        client.put("x" * 65_536)
    client.put("x")
    assert client.reserve(timeout=5).body == "x"


def test_names_out_of_range_are_refused(connect):
    client = connect()
    for bad in ["-first", "x" * 201, "a,b"]:
        with pytest.raises(greenstalk.BadFormatError):
            client.use(bad)
    longest = "x" * 200
    client.use(longest)
    assert client.using() == longest


def answers(sent, count):
    """Sends bytes on a connection of its own and returns `count` lines of the answer."""
    with socket.create_connection(beanstalkd_address(), timeout=5) as raw:
        raw.sendall(sent)
        lines = raw.makefile("rb")
        return [lines.readline() for _ in range(count)]


def test_what_is_no_command_is_refused_and_the_connection_lives():
    assert answers(b"nonsense\r\nput 0 0 1 x\r\nuse ok\r\n", 3) == [
        b"UNKNOWN_COMMAND\r\n",
        b"BAD_FORMAT\r\n",
        b"USING ok\r\n",
    ]
    # A first line that is too long ends the connection, for it may be a web page's.
    assert answers(b"use ok\r\n" + b"x" * 300 + b"\r\nuse on\r\n", 3) == [
        b"USING ok\r\n",
        b"BAD_FORMAT\r\n",
        b"USING on\r\n",
    ]


def test_a_body_without_its_line_end_is_refused():
    assert answers(b"put 0 0 1 1\r\nxyz\r\n", 1) == [b"EXPECTED_CRLF\r\n"]


def test_commands_may_be_pipelined(name):
    count = 100
    puts = b"".join(b"put 0 0 60 1\r\n%d\r\n" % (n % 10) for n in range(count))
    lines = answers(b"use %b\r\n" % name.encode() + puts, count + 1)
    ids = [int(line.split()[1]) for line in lines[1:]]
    assert ids == sorted(set(ids)) and len(ids) == count
    deletes = b"".join(b"delete %d\r\n" % id for id in ids)
    assert answers(deletes, count) == [b"DELETED\r\n"] * count


def test_many_connections_share_the_work_and_lose_nothing(connect):
    producers, consumers = [connect() for _ in range(4)], [connect() for _ in range(4)]

    def produce(client):
        return [client.put("x") for _ in range(100)]

    def consume(client):
        ids = []
        while True:
            try:
                job = client.reserve(timeout=1)
            except greenstalk.TimedOutError:
                return ids
            client.delete(job)
            ids.append(job.id)

    with ThreadPoolExecutor(8) as pool:
        consuming = [pool.submit(consume, client) for client in consumers]
        put = [id for part in pool.map(produce, producers) for id in part]
        done = [id for part in consuming for id in part.result()]
    assert sorted(done) == sorted(put)
