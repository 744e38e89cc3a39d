//! What a beanstalkd connection holds and is owed: waiting, deadlines, closing, drain mode, and
//! the queue behind a tube.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use beanstalkd_client::running::{Serves, until};
use beanstalkd_client::{Client, TestServer};
use slipring::stores::MemoryStore;
use slipring::{NewMessage, ReceiveRequest};
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::beanstalkd::{Listener, Server, Settings};
use tokio_util::sync::CancellationToken;

fn value<'a>(pairs: &'a [(String, String)], key: &str) -> &'a str {
    pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str()).unwrap()
}

#[test]
fn drain_mode_refuses_new_jobs_and_nothing_else() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send("put 0 0 60 1\r\na\r\n");
    client.expect("INSERTED 1\r\n");
    server.server.drain();
    client.send("put 0 0 60 1\r\nb\r\nput 0 0 60 1\r\nc\r\nreserve\r\n");
    client.expect("DRAINING\r\nDRAINING\r\nRESERVED 1 1\r\na\r\n");
    assert_eq!(value(&client.yaml("stats"), "draining"), "true");
}

#[test]
fn stopping_gives_reserved_jobs_back_and_ends_waiting_reserves() {
    let mut server = TestServer::start();
    let mut holder = server.connect();
    holder.send("put 0 0 60 1\r\na\r\nreserve\r\n");
    holder.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    let mut waiting = server.connect();
    waiting.send("reserve\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.stop();
    holder.expect_end();
    waiting.expect_end();
    // The one who waited may have been given the job in its last moment; it hands it back.
    let queue = server.runtime.block_on(server.engine.queue("default")).unwrap();
    until(|| server.runtime.block_on(queue.stats()).unwrap().ready == 1);
    let again = server.runtime.block_on(queue.receive(ReceiveRequest::up_to(1))).unwrap();
    assert_eq!(again[0].message.attempts, 2, "a hand-out that nobody saw counts for nothing");
}

#[test]
fn a_connection_that_ends_gives_all_its_reservations_back() {
    // S12.4
    const JOBS: usize = 1200;
    let server = TestServer::start();
    let mut holder = server.connect();
    holder.send("put 0 0 60 1\r\na\r\n".repeat(JOBS));
    for job in 1..=JOBS {
        holder.expect(format!("INSERTED {job}\r\n"));
    }
    holder.send("reserve\r\n".repeat(JOBS));
    for job in 1..=JOBS {
        holder.expect(format!("RESERVED {job} 1\r\na\r\n"));
    }
    server.wait_for_stat("current-jobs-reserved", |count| count == JOBS as u64);
    drop(holder);
    server.wait_for_stat("current-jobs-ready", |count| count == JOBS as u64);
    server.wait_for_stat("current-jobs-reserved", |count| count == 0);
}

#[test]
fn a_client_that_stops_sending_while_it_waits_times_out_and_is_closed() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send("reserve\r\nlist-tube-used\r\nreserve\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    client.stream.shutdown(Shutdown::Write).unwrap();
    client.expect("TIMED_OUT\r\nUSING default\r\nTIMED_OUT\r\n");
    client.expect_end();
}

#[test]
fn a_client_that_left_while_it_waited_is_given_no_job() {
    let server = TestServer::start();
    let mut gone = server.connect();
    gone.send("reserve\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    drop(gone);
    server.wait_for_stat("current-waiting", |count| count == 0);
    let mut client = server.connect();
    client.send("put 0 0 60 1\r\na\r\nreserve\r\n");
    client.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    assert_eq!(value(&client.yaml("stats-job 1"), "reserves"), "1");
}

#[test]
fn a_reserve_with_timeout_ends_at_its_time_and_not_before() {
    // S5.4
    let server = TestServer::start();
    let mut client = server.connect();
    client.send("reserve-with-timeout 5\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.clock.advance(Duration::from_millis(4900));
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.clock.advance(Duration::from_millis(150));
    client.expect("TIMED_OUT\r\n");
}

#[test]
fn one_who_waits_on_several_tubes_gets_the_job_of_any() {
    // S2.4
    let server = TestServer::start();
    let mut producer = server.connect();
    let mut worker = server.connect();
    worker.send("watch one\r\nwatch two\r\nignore default\r\n");
    worker.expect("WATCHING 2\r\nWATCHING 3\r\nWATCHING 2\r\n");
    for (id, tube) in [(1, "two"), (2, "one"), (3, "two")] {
        worker.send("reserve\r\n");
        server.wait_for_stat("current-waiting", |count| count == 1);
        producer.send(format!("use {tube}\r\nput 0 0 60 1\r\na\r\n"));
        producer.expect(format!("USING {tube}\r\nINSERTED {id}\r\n"));
        worker.expect(format!("RESERVED {id} 1\r\na\r\n"));
    }
}

#[test]
fn a_touch_begins_the_time_to_run_anew() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send("put 0 0 10 1\r\na\r\nreserve\r\n");
    client.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    server.clock.advance(Duration::from_secs(9));
    assert_eq!(client.ask("reserve"), "DEADLINE_SOON");
    client.send("touch 1\r\ntouch 2\r\ntouch 1\r\n");
    client.expect("TOUCHED\r\nNOT_FOUND\r\nTOUCHED\r\n");
    assert_eq!(value(&client.yaml("stats-job 1"), "time-left"), "10");
    assert_eq!(client.ask("reserve-with-timeout 0"), "TIMED_OUT");
    server.clock.advance(Duration::from_secs(9));
    assert_eq!(client.ask("delete 1"), "DELETED");
}

#[test]
fn one_who_waits_is_told_of_the_job_that_runs_out_first_now_and_not_before_its_time() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send("put 0 0 4 1\r\na\r\nput 0 0 100 1\r\nb\r\nreserve\r\nreserve\r\n");
    client.expect("INSERTED 1\r\nINSERTED 2\r\nRESERVED 1 1\r\na\r\nRESERVED 2 1\r\nb\r\n");
    // Touched: it runs out at 6 s, and at 5 s that is near.
    server.clock.advance(Duration::from_secs(2));
    assert_eq!(client.ask("touch 1"), "TOUCHED");
    client.send("reserve\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.clock.advance(Duration::from_millis(2500));
    let mut other = server.connect();
    other.send("put 0 0 100 1\r\nc\r\n");
    other.expect("INSERTED 3\r\n");
    client.expect("RESERVED 3 1\r\nc\r\n");
    client.send("reserve\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.clock.advance(Duration::from_millis(600));
    client.expect("DEADLINE_SOON\r\n");
    // Deleted: the next one runs out at 100 s.
    assert_eq!(client.ask("delete 1"), "DELETED");
    client.send("reserve-with-timeout 30\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.clock.advance(Duration::from_secs(31));
    client.expect("TIMED_OUT\r\n");
}

#[test]
fn one_who_is_being_served_when_a_job_begins_to_run_out_gets_what_is_found() {
    // S2.3: what is found would go back, and its time may be over by then.
    let store = FaultyStore::new(MemoryStore::shared());
    let server = TestServer::start_over(Arc::clone(&store) as _, <Server as Serves>::patient());
    let mut client = server.connect();
    client.send("put 0 0 4 1\r\na\r\nreserve\r\n");
    client.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    store.plan(Verb::Claim, 1, Fault::Hang);
    client.send("reserve\r\n");
    server.runtime.block_on(store.hanging(1));
    server.clock.advance(Duration::from_millis(3500));
    assert_eq!(server.connect().ask("put 0 0 100 1\r\nb"), "INSERTED 2");
    store.release();
    client.expect("RESERVED 2 1\r\nb\r\n");
    assert_eq!(client.ask("reserve"), "DEADLINE_SOON");
    // A look that does not end is not waited for until that job has run out.
    assert_eq!(client.ask("touch 1"), "TOUCHED");
    store.plan(Verb::Claim, 1, Fault::Hang);
    assert_eq!(server.connect().ask("put 0 0 100 1\r\nc"), "INSERTED 3");
    client.send("reserve\r\n");
    server.runtime.block_on(store.hanging(1));
    let (clock, told) = (server.clock.clone(), Arc::new(AtomicBool::new(false)));
    let until_told = Arc::clone(&told);
    let passing = std::thread::spawn(move || {
        while !until_told.load(Ordering::Relaxed) {
            clock.advance(Duration::from_millis(10));
        }
    });
    client.expect("DEADLINE_SOON\r\n");
    told.store(true, Ordering::Relaxed);
    passing.join().unwrap();
    store.release();
}

#[test]
fn long_pipelines_are_answered_in_order() {
    let server = TestServer::start();
    let mut client = server.connect();
    let count = 3000;
    let puts: String = (0..count).map(|n| format!("put {} 0 60 4\r\n{n:04}\r\n", n % 3)).collect();
    client.send(puts);
    for id in 1..=count {
        client.expect(format!("INSERTED {id}\r\n"));
    }
    client.send("reserve\r\n".repeat(count));
    let mut ids = Vec::new();
    for priority in 0..3 {
        for n in (priority..count).step_by(3) {
            client.expect(format!("RESERVED {} 4\r\n{n:04}\r\n", n + 1));
            ids.push(n + 1);
        }
    }
    // Every second one is released in the same run, and a repeated name ends a run.
    let settles: String = ids
        .iter()
        .map(|id| match id % 2 {
            0 => format!("delete {id}\r\ndelete {id}\r\n"),
            _ => format!("release {id} 0 1000\r\nbury {id} 0\r\n"),
        })
        .collect();
    client.send(settles);
    for id in &ids {
        client.expect(if id % 2 == 0 { "DELETED\r\n" } else { "RELEASED\r\n" });
        client.expect("NOT_FOUND\r\n");
    }
    let stats = client.yaml("stats");
    assert_eq!(value(&stats, "current-jobs-delayed"), "1500");
    assert_eq!(value(&stats, "current-jobs-reserved"), "0");
}

#[test]
fn jobs_of_others_are_deleted_in_one_pipeline() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send("put 0 0 60 1\r\na\r\n".repeat(200));
    for id in 1..=200 {
        client.expect(format!("INSERTED {id}\r\n"));
    }
    client.send((1..=200).map(|id| format!("delete {id}\r\ndelete {id}\r\n")).collect::<String>());
    for _ in 1..=200 {
        client.expect("DELETED\r\nNOT_FOUND\r\n");
    }
}

#[test]
fn a_tube_whose_queue_was_deleted_begins_anew() {
    let server = TestServer::start();
    let mut worker = server.connect();
    let mut producer = server.connect();
    producer.send("put 0 0 60 1\r\na\r\n");
    producer.expect("INSERTED 1\r\n");
    server.runtime.block_on(async {
        let queue = server.engine.queue("default").await.unwrap();
        server.engine.delete_queue(&queue).await.unwrap();
    });
    worker.send("reserve\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    producer.send("put 0 0 60 1\r\nb\r\n");
    producer.expect("INSERTED 2\r\n");
    worker.expect("RESERVED 2 1\r\nb\r\n");
}

#[test]
fn a_job_is_a_message_of_the_queue_of_the_same_name() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send("use emails\r\nput 7 0 42 5\r\nhello\r\n");
    client.expect("USING emails\r\nINSERTED 1\r\n");
    server.runtime.block_on(async {
        let queue = server.engine.queue("emails").await.unwrap();
        let found = queue.receive(ReceiveRequest::up_to(1)).await.unwrap().remove(0);
        assert_eq!(found.message.body, "hello");
        assert_eq!(found.message.priority.0, 7);
        assert_eq!(found.message.lease, Some(Duration::from_secs(42)));
        queue.ack(&found.receipt).await.unwrap();
        queue.send(NewMessage::new("back")).await.unwrap();
    });
    assert_eq!(client.ask("watch emails"), "WATCHING 2");
    client.send("reserve\r\n");
    client.expect("RESERVED 2 4\r\nback\r\n");
    let stats = client.yaml("stats-job 2");
    assert_eq!(value(&stats, "pri"), "1024");
    assert_eq!(value(&stats, "ttr"), "30");
}

#[test]
fn a_job_may_be_as_large_as_the_limit_says() {
    let server = TestServer::start_with(Settings { job_bytes_max: 3 << 20, ..Settings::default() });
    let mut client = server.connect();
    let body = "x".repeat(3 << 20);
    client.send(format!("put 0 0 60 {}\r\n{body}\r\nreserve\r\n", body.len()));
    client.expect(format!("INSERTED 1\r\nRESERVED 1 {}\r\n{body}\r\n", body.len()));
    client.send(format!("put 0 0 60 {}\r\n{body}x\r\n", body.len() + 1));
    client.expect("JOB_TOO_BIG\r\n");
    assert_eq!(value(&client.yaml("stats"), "max-job-size"), "3145728");
}

#[test]
fn a_unix_socket_serves_the_same_tubes() {
    let server = TestServer::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    // A socket that nobody listens on any more is in nobody's way.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let listener = server.runtime.block_on(Listener::unix(&path)).unwrap();
    assert_eq!(listener.address(), format!("unix:{}", path.display()));
    let stop = CancellationToken::new();
    let serving = server.runtime.spawn({
        let (server, stop) = (server.server.clone(), stop.clone());
        async move { server.serve(listener, stop).await }
    });
    let stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut unix = Client::new(stream);
    unix.send("put 0 0 60 1\r\na\r\n");
    unix.expect("INSERTED 1\r\n");
    let mut tcp = server.connect();
    tcp.send("reserve\r\n");
    tcp.expect("RESERVED 1 1\r\na\r\n");
    assert_eq!(value(&tcp.yaml("stats"), "total-connections"), "2");

    assert!(server.runtime.block_on(Listener::unix(&path)).is_err(), "somebody listens there");
    // Too busy to answer: what waits to be accepted fills its queue.
    let busy = folder.path().join("busy");
    let listener =
        socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
    listener.bind(&socket2::SockAddr::unix(&busy).unwrap()).unwrap();
    listener.listen(0).unwrap();
    let _waits = UnixStream::connect(&busy).unwrap();
    assert!(server.runtime.block_on(Listener::unix(&busy)).is_err(), "somebody is busy there");
    assert!(busy.exists());
    let file = folder.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    assert!(server.runtime.block_on(Listener::unix(&file)).is_err(), "not a socket");
    stop.cancel();
    server.runtime.block_on(serving).unwrap();
    unix.expect_end();
}

#[test]
fn tubes_come_and_go_with_those_who_mention_them() {
    let server = TestServer::start();
    let mut first = server.connect();
    let mut second = server.connect();
    first.send("use gone\r\nwatch gone\r\n");
    first.expect("USING gone\r\nWATCHING 2\r\n");
    assert_eq!(value(&second.yaml("stats-tube gone"), "current-using"), "1");
    drop(first);
    server.wait_for_stat("current-connections", |count| count <= 2);
    assert_eq!(second.ask("stats-tube gone"), "NOT_FOUND");
    second.send("list-tubes\r\n");
    assert_eq!(second.text(), "---\n- default\n");
    // The counters of a tube that had gone begin anew.
    second.send("use t\r\nput 0 0 60 1\r\na\r\ndelete 1\r\nuse default\r\nuse t\r\n");
    second.expect("USING t\r\nINSERTED 1\r\nDELETED\r\nUSING default\r\nUSING t\r\n");
    assert_eq!(value(&second.yaml("stats-tube t"), "total-jobs"), "0");
    // One that another connection still mentions goes on.
    let mut third = server.connect();
    assert_eq!(third.ask("use t"), "USING t");
    second.send("put 0 0 60 1\r\na\r\nuse default\r\nuse t\r\n");
    second.expect("INSERTED 2\r\nUSING default\r\nUSING t\r\n");
    assert_eq!(value(&second.yaml("stats-tube t"), "total-jobs"), "1");
}
