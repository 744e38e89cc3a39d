"""pystalk: every method of its client, and its pool of producers."""

import pytest
from conftest import beanstalkd_address
from pystalk import BeanstalkClient, BeanstalkError, ProductionPool


@pytest.fixture
def tube(stalk, name):
    """A tube that the client uses and watches alone."""
    stalk.use(name)
    stalk.watchlist = [name]
    return name


def test_a_job_is_put_reserved_and_deleted(stalk, tube):
    status, id = stalk.put_job("žluť")
    job = stalk.reserve_job(timeout=5)
    assert (status, job.job_id, job.job_data) == (b"INSERTED", id, "žluť".encode())
    stalk.delete_job(job)
    with pytest.raises(BeanstalkError) as caught:
        stalk.delete_job(id)
    assert caught.value.message == "NOT_FOUND"


def test_a_large_job_comes_in_many_packets(stalk, tube):
    body = bytes(range(256)) * 255
    stalk.put_job(body)
    assert stalk.reserve_job(timeout=5).job_data == body


def test_bodies_can_be_decoded_by_the_client(name):
    client = BeanstalkClient.from_uri(
        "beanstalkd://%s:%d" % beanstalkd_address(), socket_timeout=30, auto_decode=True
    )
    assert client.ping()
    client.put_job_into(name, "日本")
    client.watch(name)
    assert client.reserve_job(timeout=5).job_data == "日本"
    client.close()


def test_a_reserve_with_nothing_there_times_out(stalk, tube):
    with pytest.raises(BeanstalkError) as caught:
        stalk.reserve_job(timeout=0)
    assert caught.value.message == "TIMED_OUT"


def test_iterators_end_when_nothing_is_left(stalk, tube):
    for n in range(5):
        stalk.put_job(str(n))
    seen = []
    for job in stalk.reserve_iter():
        seen.append(job.job_data)
        stalk.delete_job(job)
    assert seen == [b"0", b"1", b"2", b"3", b"4"]
    for iterator in [stalk.peek_ready_iter, stalk.peek_delayed_iter, stalk.peek_buried_iter]:
        assert list(iterator()) == []


def test_peek_looks_at_each_state(stalk, tube):
    _, ready = stalk.put_job("ready", pri=1)
    _, delayed = stalk.put_job("delayed", delay=600)
    _, buried = stalk.put_job("buried", pri=0)
    job = stalk.reserve_job(timeout=5)
    assert job.job_id == buried
    stalk.bury_job(job, pri=9)
    assert stalk.peek_ready().job_id == ready
    assert stalk.peek_delayed().job_id == delayed
    assert stalk.peek_buried().job_id == buried
    assert stalk.stats_job(buried)["pri"] == 9


def test_buried_jobs_are_kicked(stalk, tube):
    for n in range(3):
        stalk.put_job(str(n))
        stalk.bury_job(stalk.reserve_job(timeout=5))
    assert stalk.kick_jobs(2) == (b"KICKED", 2)
    stalk.kick_job(stalk.peek_buried())
    assert stalk.stats_tube(tube)["current-jobs-ready"] == 3


def test_a_released_job_comes_back_with_its_new_priority(stalk, tube):
    stalk.put_job("x", pri=1)
    job = stalk.reserve_job(timeout=5)
    stalk.release_job(job, pri=77)
    told = stalk.stats_job(job.job_id)
    assert (told["pri"], told["state"], told["releases"]) == (77, "ready", 1)
    job = stalk.reserve_job(timeout=5)
    stalk.release_job(job, delay=600)
    assert stalk.stats_job(job)["state"] == "delayed"


def test_a_paused_tube_is_unpaused(stalk, tube):
    stalk.put_job("x")
    stalk.pause_tube(tube, 600)
    with pytest.raises(BeanstalkError):
        stalk.reserve_job(timeout=0)
    assert stalk.stats_tube(tube)["pause-time-left"] > 590
    stalk.unpause_tube(tube)
    assert stalk.reserve_job(timeout=5).job_data == b"x"


def test_statistics_are_yaml_that_a_parser_reads(stalk, tube):
    _, id = stalk.put_job("x")
    assert tube in stalk.list_tubes()
    told = stalk.stats()
    assert isinstance(told["version"], str) and isinstance(told["pid"], int)
    assert told["current-tubes"] == len(stalk.list_tubes())
    assert stalk.stats_tube(tube)["name"] == tube
    assert stalk.stats_job(id)["id"] == id


def test_tubes_are_used_for_a_while_and_watched(stalk, tube, name):
    with stalk.using(name + "-aside") as aside:
        aside.put_job("aside")
    stalk.put_job("here")
    assert stalk.reserve_job(timeout=5).job_data == b"here"
    stalk.watch(name + "-aside")
    stalk.ignore(name)
    assert stalk.watchlist == {name + "-aside"}
    assert stalk.reserve_job(timeout=5).job_data == b"aside"


def test_a_client_that_was_closed_connects_again_with_its_tubes(stalk, tube):
    stalk.put_job("x")
    stalk.close()
    assert stalk.reserve_job(timeout=5).job_data == b"x"


def test_a_pool_of_producers_puts_by_turns(stalk, name):
    uris = ["beanstalkd://%s:%d" % beanstalkd_address()] * 2
    pool = ProductionPool.from_uris(uris, socket_timeout=30)
    pool.use(name)
    ids = [pool.put_job(str(n))[1] for n in range(4)]
    pool.put_job_into(name + "-2", "aside")
    assert ids == sorted(set(ids))
    assert stalk.stats_tube(name)["current-jobs-ready"] == 4
    assert stalk.stats_tube(name + "-2")["current-jobs-ready"] == 1
    stalk.watchlist = [name, name + "-2"]
    for job in stalk.reserve_iter():
        stalk.delete_job(job)
