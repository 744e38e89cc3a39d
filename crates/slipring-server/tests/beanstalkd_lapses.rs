//! Jobs whose time to run has just ended, on a machine that is busy: nobody holds them, and who
//! names them by id finds them free.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::sync::Arc;
use std::time::Duration;

use beanstalkd_client::TestServer;
use beanstalkd_client::running::Serves;
use slipring::stores::MemoryStore;
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::beanstalkd::Server;

#[test]
fn a_job_that_ran_out_can_be_deleted_until_somebody_else_has_it() {
    // S3.4
    let server = TestServer::start();
    let mut first = server.connect();
    let mut second = server.connect();
    for (id, taken) in [(1, false), (2, true)] {
        first.send("put 0 0 1 1\r\na\r\nreserve\r\n");
        first.expect(format!("INSERTED {id}\r\nRESERVED {id} 1\r\na\r\n"));
        server.clock.advance(Duration::from_millis(1100));
        assert_eq!(first.ask(&format!("release {id} 0 0")), "NOT_FOUND");
        if taken {
            second.send("reserve\r\n");
            second.expect(format!("RESERVED {id} 1\r\na\r\n"));
            assert_eq!(first.ask(&format!("delete {id}")), "NOT_FOUND");
        } else {
            assert_eq!(first.ask(&format!("delete {id}")), "DELETED");
        }
    }
}

#[test]
fn a_job_that_ran_out_is_free_before_the_pass_over_its_queue_has_ended() {
    // S5.5
    for (command, reply) in
        [("delete 1\r\n", "DELETED\r\n"), ("reserve-job 1\r\n", "RESERVED 1 1\r\na\r\n")]
    {
        let store = FaultyStore::new(MemoryStore::shared());
        let server = TestServer::start_over(Arc::clone(&store) as _, <Server as Serves>::patient());
        let mut holder = server.connect();
        holder.send("put 0 0 1 1\r\na\r\nreserve\r\n");
        holder.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
        store.plan(Verb::Expire, 1, Fault::Hang);
        server.clock.advance(Duration::from_millis(1100));
        server.runtime.block_on(store.hanging(1));
        let mut client = server.connect();
        client.send(format!("use default\r\n{command}"));
        server.wait_for_stat("cmd-use", |count| count == 1);
        store.release();
        client.expect(format!("USING default\r\n{reply}"));
    }
}

#[test]
fn a_job_that_is_near_its_end_comes_before_the_end_of_a_wait_at_the_same_time() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send("put 0 0 6 1\r\na\r\nreserve\r\n");
    client.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    client.send("reserve-with-timeout 5\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.clock.advance(Duration::from_secs(5));
    client.expect("DEADLINE_SOON\r\n");
}
