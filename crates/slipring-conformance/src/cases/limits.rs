//! Limits of a queue: over them nothing is stored and nothing is lost.

use slipring::store::ClaimEnd;
use slipring::{Error, ErrorKind, MessageState};

use crate::bench::{Bench, m, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_queue_holds_exactly_as_many_messages_as_it_may, "S12.2"),
    case!(messages_in_every_state_count_against_the_limit, "S12.2"),
    case!(room_that_is_made_can_be_used, "S12.2"),
    case!(a_queue_holds_exactly_as_many_bytes_as_it_may, "S12.2"),
    case!(headers_groups_and_deduplication_ids_count_as_bytes, "S12.2"),
    case!(the_error_names_limit_value_and_queue, "S12.2"),
    case!(no_more_messages_are_leased_than_the_queue_may_have_in_flight, "S12.2"),
    case!(in_flight_room_is_shared_by_receives_in_their_order, "S12.2"),
    case!(a_settled_or_lapsed_lease_makes_room_in_flight, "S12.2", "S2.4"),
    case!(a_lower_limit_loses_nothing, "S12.2"),
    case!(dead_letters_are_not_lost_to_the_limit_of_their_queue, "S12.2", "S6.3"),
    case!(a_limit_of_nothing_takes_nothing, "S12.2"),
];

fn fact<'a>(error: &'a Error, key: &str) -> &'a str {
    let found = error.context().iter().find(|(name, _)| *name == key);
    found.map_or("", |(_, value)| value.as_str())
}

async fn a_queue_holds_exactly_as_many_messages_as_it_may(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(3))).await;
    for body in ["1", "2", "3"] {
        q.send(body).await;
    }
    refused(q.try_send("4").await, ErrorKind::LimitExceeded);
    assert_eq!(q.drain().await, ["1", "2", "3"]);
}

async fn messages_in_every_state_count_against_the_limit(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(4))).await;
    q.send("parked").await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    q.send("leased").await;
    q.claim_one().await;
    q.send(m("delayed").delay(s(60))).await;
    q.send("ready").await;
    q.holds(1, 1, 1, 1).await;
    refused(q.try_send("more").await, ErrorKind::LimitExceeded);
    b.pass(s(60)).await;
    refused(q.try_send("more").await, ErrorKind::LimitExceeded);
}

async fn room_that_is_made_can_be_used(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(1))).await;
    for round in 0..3 {
        let id = q.send("a").await;
        refused(q.try_send("b").await, ErrorKind::LimitExceeded);
        match round {
            0 => assert_eq!(q.drain().await, ["a"]),
            1 => assert_eq!(b.cancel(id).await.unwrap(), q.id),
            _ => assert_eq!(q.purge(10).await, 1),
        }
    }
    q.send("c").await;
}

async fn a_queue_holds_exactly_as_many_bytes_as_it_may(b: Bench) {
    let q = b.queue(settings(|to| to.bytes_max = Some(10))).await;
    q.send("12345").await;
    refused(q.try_send("123456").await, ErrorKind::LimitExceeded);
    q.send("12345").await;
    q.send("").await;
    refused(q.try_send("1").await, ErrorKind::LimitExceeded);
    assert_eq!(q.stats().await.bytes, 10);
    assert_eq!(q.drain().await, ["12345", "12345", ""]);
    assert_eq!(q.stats().await.bytes, 0);
}

async fn headers_groups_and_deduplication_ids_count_as_bytes(b: Bench) {
    let q = b.queue(settings(|to| to.bytes_max = Some(20))).await;
    let mut message = m("12").group("345").dedup_id("6789");
    let headers = slipring::Headers::from([("key".to_owned(), "value".to_owned())]);
    message.headers = Some(std::sync::Arc::new(headers));
    assert_eq!(message.size_bytes(), 17);
    q.send(message).await;
    assert_eq!(q.stats().await.bytes, 17);
    refused(q.try_send("1234").await, ErrorKind::LimitExceeded);
    let delivery = q.claim_one().await;
    q.nack_for(&delivery, s(1)).await.unwrap();
    assert_eq!(q.stats().await.bytes, 17);
    b.pass(s(1)).await;
    q.drain().await;
    assert_eq!(q.stats().await.bytes, 0);
}

async fn the_error_names_limit_value_and_queue(b: Bench) {
    let q = b
        .queue(settings(|to| {
            to.messages_max = Some(1);
            to.bytes_max = Some(10);
        }))
        .await;
    let error = refused(q.try_send("12345678901").await, ErrorKind::LimitExceeded);
    assert_eq!((fact(&error, "limit"), fact(&error, "limit_value")), ("bytes_max", "10"));
    assert_eq!(fact(&error, "queue"), q.info.name.as_str());
    q.send("1").await;
    let error = refused(q.try_send("2").await, ErrorKind::LimitExceeded);
    assert_eq!((fact(&error, "limit"), fact(&error, "limit_value")), ("messages_max", "1"));
    assert_eq!(fact(&error, "queue"), q.info.name.as_str());
}

async fn no_more_messages_are_leased_than_the_queue_may_have_in_flight(b: Bench) {
    let q = b.queue(settings(|to| to.in_flight_max = 3)).await;
    q.send_all(["1", "2", "3", "4", "5"]).await;
    let claimed = q.claim_many(&[2]).await;
    assert_eq!((claimed.deliveries[0].len(), claimed.end), (2, ClaimEnd::More));
    let claimed = q.claim_many(&[2]).await;
    assert_eq!((claimed.deliveries[0].len(), claimed.end), (1, ClaimEnd::InFlightLimit));
    let claimed = q.claim_many(&[2]).await;
    assert_eq!((claimed.deliveries[0].len(), claimed.end), (0, ClaimEnd::InFlightLimit));
    q.holds(2, 0, 3, 0).await;
}

async fn in_flight_room_is_shared_by_receives_in_their_order(b: Bench) {
    let q = b.queue(settings(|to| to.in_flight_max = 4)).await;
    q.send_all((0..10).map(|n| n.to_string())).await;
    let claimed = q.claim_many(&[3, 3, 3]).await;
    let sizes: Vec<_> = claimed.deliveries.iter().map(Vec::len).collect();
    assert_eq!((sizes, claimed.end), (vec![3, 1, 0], ClaimEnd::InFlightLimit));
}

async fn a_settled_or_lapsed_lease_makes_room_in_flight(b: Bench) {
    let q = b.queue(settings(|to| to.in_flight_max = 1)).await;
    q.send_all(["1", "2", "3", "4"]).await;
    let first = q.claim_one().await;
    assert!(q.claim(1).await.is_empty());
    q.ack(&first).await.unwrap();
    let second = q.claim_one().await;
    q.park(&second).await.unwrap();
    assert_eq!(q.take(5).await, ["3"]);
    b.pass(s(30)).await;
    assert_eq!(q.take(5).await, ["3"]);
    assert!(q.claim(1).await.is_empty());
}

async fn a_lower_limit_loses_nothing(b: Bench) {
    let q = b.plain().await;
    q.send_all(["1", "2", "3", "4"]).await;
    q.claim(3).await;
    let lower = settings(|to| {
        to.messages_max = Some(1);
        to.bytes_max = Some(1);
        to.in_flight_max = 1;
    });
    q.configure(&lower).await.unwrap();
    refused(q.try_send("5").await, ErrorKind::LimitExceeded);
    assert!(q.claim(1).await.is_empty());
    b.pass(s(30)).await;
    q.holds(4, 0, 0, 0).await;
    assert_eq!(q.drain().await, ["1", "2", "3", "4"]);
    q.send("5").await;
}

async fn dead_letters_are_not_lost_to_the_limit_of_their_queue(b: Bench) {
    let dead = b.queue(settings(|to| to.messages_max = Some(1))).await;
    let q = b.source_of(&dead, 1).await;
    dead.send("own").await;
    q.send_all(["a", "b"]).await;
    for _ in 0..2 {
        let delivery = q.claim_one().await;
        q.nack(&delivery).await.unwrap();
    }
    assert_eq!(q.stats().await.total() + dead.stats().await.total(), 3, "nothing is lost");
}

async fn a_limit_of_nothing_takes_nothing(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(0))).await;
    refused(q.try_send("a").await, ErrorKind::LimitExceeded);
    assert!(q.peek(MessageState::Ready).await.is_empty());
}
