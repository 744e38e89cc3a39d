//! Room is taken, waited for, kept and given back.

use super::*;

const KIB: usize = 1024;

#[test]
fn room_is_taken_until_there_is_none_and_given_back() {
    // S12.3
    let budget = Budget::new(100 * KIB, 64 * KIB);
    let (mut first, mut second) = (budget.room(), budget.room());
    assert!(first.grow(64 * KIB) && !second.grow(64 * KIB) && second.grow(40 * KIB));
    assert!(first.grow(10 * KIB), "it has more already");
    assert!(second.grow(FREE_BYTES) && !second.grow(60 * KIB));
    drop(first);
    assert!(second.grow(60 * KIB));
}

#[test]
fn one_body_of_the_largest_size_always_fits() {
    assert!(Budget::new(1, 1 << 30).room().grow(1 << 30));
}

#[tokio::test]
async fn room_is_scarce_while_it_is_put_aside_and_not_when_the_wait_is_given_up() {
    let budget = Budget::new(100 * KIB, 0);
    let mut first = budget.room();
    assert!(first.grow(60 * KIB) && !budget.is_scarce());
    {
        let mut second = budget.room();
        let mut waiting = std::pin::pin!(second.wait(100 * KIB));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        assert!(budget.is_scarce(), "what is left was put aside");
        drop(first);
        assert!(budget.is_scarce());
    }
    assert!(!budget.is_scarce());
}

#[test]
fn the_room_of_bytes_lasts_as_long_as_any_of_them() {
    let budget = Budget::new(100 * KIB, 0);
    let mut room = budget.room();
    assert!(room.grow(100 * KIB));
    room.shrink(90 * KIB);
    let bytes = room.hold(vec![7; 90 * KIB]);
    let part = bytes.slice(..1);
    drop(bytes);
    assert!(!budget.room().grow(50 * KIB) && budget.is_scarce());
    assert_eq!(&part[..], [7]);
    drop(part);
    assert!(budget.room().grow(100 * KIB) && !budget.is_scarce());
}

#[tokio::test]
async fn an_answer_keeps_the_room_of_what_was_fetched_for_it() {
    // S12.6: else answers that are made would stand beside those that are fetched.
    let (budget, clock) =
        (Budget::new(100 * KIB, 0), slipring::ManualClock::at(Timestamp::from_millis(1000)));
    let stop = CancellationToken::new();
    let mut first = budget.room();
    assert!(first.grow(80 * KIB));
    first.fit(90 * KIB, &clock, &stop).await.unwrap();
    assert!(!budget.room().grow(20 * KIB), "it has grown with its answer");
    first.fit(200 * KIB, &clock, &stop).await.unwrap();
    first.fit(50 * KIB, &clock, &stop).await.unwrap();
    let mut second = budget.room();
    assert!(second.grow(50 * KIB), "what it does not need is free");
    // One that has fetched nothing waits for its room.
    let mut third = budget.room();
    {
        let mut fitting = std::pin::pin!(third.fit(50 * KIB, &clock, &stop));
        assert!(futures::poll!(fitting.as_mut()).is_pending());
        drop(first);
        fitting.await.unwrap();
    }
    assert!(!budget.room().grow(20 * KIB));
}

#[tokio::test]
async fn as_much_is_done_beside_as_there_are_processors() {
    let budget = Budget::new(KIB, 0);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // Nobody gets through before the sender is dropped.
    let (shut, gate) = std::sync::mpsc::channel::<()>();
    let gate = Arc::new(parking_lot::Mutex::new(gate));
    let (begin, begun) = std::sync::mpsc::channel();
    let mut works: Vec<_> = (0..=processors)
        .map(|_| {
            let (begin, gate) = (begin.clone(), Arc::clone(&gate));
            let work = move || (begin.send(()).is_ok(), gate.lock().recv().is_err());
            Box::pin(budget.beside(work))
        })
        .collect();
    for work in &mut works {
        assert!(futures::poll!(work.as_mut()).is_pending());
    }
    (0..processors).for_each(|_| begun.recv().expect("they begin"));
    assert!(begun.try_recv().is_err(), "one more than there are processors");
    drop(shut);
    futures::future::join_all(works).await;
    begun.try_recv().expect("the last one began when another one had ended");
}

#[tokio::test]
async fn one_who_waits_gets_the_room_of_one_who_goes() {
    let budget = Budget::new(100 * KIB, 0);
    let (mut first, mut second) = (budget.room(), budget.room());
    assert!(first.grow(90 * KIB));
    budget.scarce().await;
    {
        let mut waiting = std::pin::pin!(second.wait(1 << 30));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        drop(first);
        waiting.await;
    }
    drop(second);
    budget.plenty().await;
}
