//! Sends to a queue that may have been deleted a moment ago, by this server or another one.

use slipring::store::Sent;
use slipring::{Engine, Error, ErrorKind, NewMessage, Queue};

/// Sends messages each for itself; answers in their order. What found no queue is stored nowhere,
/// and is sent again, up to `again_max` times, to the queue that `anew` finds. Where it
/// fails, that is the answer of these messages.
pub(crate) async fn send_each<F>(
    engine: &Engine,
    queue: &Queue,
    messages: Vec<NewMessage>,
    again_max: usize,
    anew: impl Fn() -> F,
) -> Vec<Result<Sent, Error>>
where
    F: Future<Output = Result<Queue, Error>>,
{
    let mut sent = send_to(queue, messages.clone()).await;
    for _ in 0..again_max {
        if !sent.iter().any(found_no_queue) {
            break;
        }
        let refused = |(_, sent): &(_, &Result<Sent, Error>)| found_no_queue(sent);
        let again = messages.iter().zip(&sent).filter(refused).map(|(message, _)| message.clone());
        let again: Vec<NewMessage> = again.collect();
        let found = async {
            engine.note_deletions().await?;
            anew().await
        };
        let answers = match found.await {
            Ok(queue) => send_to(&queue, again).await,
            Err(error) => vec![Err(error); again.len()],
        };
        let unanswered = sent.iter_mut().filter(|sent| found_no_queue(sent));
        unanswered.zip(answers).for_each(|(sent, answer)| *sent = answer);
    }
    sent
}

async fn send_to(queue: &Queue, mut messages: Vec<NewMessage>) -> Vec<Result<Sent, Error>> {
    match messages.pop() {
        Some(only) if messages.is_empty() => vec![queue.send(only).await],
        Some(last) => {
            messages.push(last);
            queue.send_each(messages).await
        }
        None => Vec::new(),
    }
}

fn found_no_queue(sent: &Result<Sent, Error>) -> bool {
    sent.as_ref().is_err_and(|error| error.kind() == ErrorKind::QueueNotFound)
}
