//! Receipts as texts: bound to queue, message and fence, and impossible to guess.

use slipring::lifecycle::Settlement;
use slipring::{ErrorKind, ReceiptKey};

use crate::bench::{Bench, refused};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_sealed_receipt_opens_and_settles, "S3.6"),
    case!(a_forged_or_altered_text_is_refused, "S3.6"),
    case!(the_key_of_a_store_is_always_the_same, "S3.6"),
    case!(two_stores_have_different_keys, "S3.6"),
    case!(texts_of_different_hand_outs_differ, "S3.6", "S3.2"),
    case!(the_key_outlives_a_restart, needs Durable, "S3.6"),
];

async fn key(b: &Bench) -> ReceiptKey {
    b.store().receipt_key().await.expect("the store has a key")
}

async fn a_sealed_receipt_opens_and_settles(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    let text = key(&b).await.seal(&delivery.receipt);
    let receipt = key(&b).await.open(&text).unwrap();
    assert_eq!(receipt, delivery.receipt);
    assert!(q.settle_all(vec![(receipt, Settlement::Ack)]).await[0].is_ok());
}

async fn a_forged_or_altered_text_is_refused(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let receipt = q.claim_one().await.receipt;
    let text = key(&b).await.seal(&receipt);
    let foreign = ReceiptKey::from_bytes([7; 32]).seal(&receipt);
    for forged in [foreign.as_str(), &text[1..], &format!("{text}A"), ""] {
        refused(key(&b).await.open(forged), ErrorKind::ReceiptInvalid);
    }
}

async fn the_key_of_a_store_is_always_the_same(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let receipt = q.claim_one().await.receipt;
    assert_eq!(key(&b).await.seal(&receipt), key(&b).await.seal(&receipt));
}

async fn two_stores_have_different_keys(b: Bench) {
    let other = b.another().await;
    let q = b.plain().await;
    q.send("a").await;
    let text = key(&b).await.seal(&q.claim_one().await.receipt);
    refused(key(&other).await.open(&text), ErrorKind::ReceiptInvalid);
}

async fn texts_of_different_hand_outs_differ(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let mut texts = std::collections::BTreeSet::new();
    for _ in 0..10 {
        let delivery = q.claim_one().await;
        assert!(texts.insert(key(&b).await.seal(&delivery.receipt)));
        q.nack(&delivery).await.unwrap();
    }
}

async fn the_key_outlives_a_restart(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let receipt = q.claim_one().await.receipt;
    let text = key(&b).await.seal(&receipt);
    b.reopen().await;
    assert_eq!(key(&b).await.open(&text).unwrap(), receipt);
    assert!(q.settle_all(vec![(receipt, Settlement::Ack)]).await[0].is_ok());
}
