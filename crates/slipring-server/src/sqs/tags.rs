//! TagQueue, UntagQueue, ListQueueTags: tags are texts of the queue.

use std::collections::BTreeMap;

use slipring::QueueSettings;
use slipring_wire::sqs::{
    Answer, Limits, ListQueueTags, ListQueueTagsAnswer, SqsError, TagQueue, UntagQueue,
};

use super::call::Call;

/// What stands before the key of a tag among the texts of a queue.
const KEY: &str = "sqs-tag:";

/// Adds or changes tags.
pub(super) fn tag(
    settings: &mut QueueSettings,
    queue: &str,
    tags: BTreeMap<String, String>,
    limits: &Limits,
) -> Result<(), SqsError> {
    for (key, value) in tags {
        settings.attributes.insert(format!("{KEY}{key}"), value);
    }
    if settings.attributes.keys().filter(|key| key.starts_with(KEY)).count() > limits.tags_max {
        return Err(SqsError::invalid(format!("Too many tags added for queue {queue}.")));
    }
    Ok(())
}

impl Call<'_> {
    pub(super) async fn tag_queue(&self, p: TagQueue) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let (name, limits) = (queue.name(), self.limits().clone());
        let tags = p.tags.into_map();
        let add =
            move |settings: &mut QueueSettings| tag(settings, name.as_str(), tags.clone(), &limits);
        self.change(&queue, add).await
    }

    pub(super) async fn untag_queue(&self, p: UntagQueue) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let untag = move |settings: &mut QueueSettings| {
            for key in p.tag_keys.iter() {
                settings.attributes.remove(&format!("{KEY}{key}"));
            }
            Ok(())
        };
        self.change(&queue, untag).await
    }

    pub(super) async fn list_tags(&self, p: ListQueueTags) -> Result<Answer, SqsError> {
        let info = self.queue(&p.queue_url).await?.info();
        let texts = info.settings.attributes.iter();
        let tags = texts
            .filter_map(|(key, value)| Some((key.strip_prefix(KEY)?.to_string(), value.clone())));
        Ok(Answer::ListQueueTags(ListQueueTagsAnswer { tags: tags.collect() }))
    }
}
