//! CreateQueue: makes a queue, or finds an equal one.

use serde::{Deserialize, Serialize};

use crate::sqs::bounded::Map;
use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::queue_attribute;
use crate::sqs::xml::Xml;

/// The parameters of CreateQueue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct CreateQueue {
    /// Its name.
    pub queue_name: String,
    /// Its attributes.
    pub attributes: Map<String>,
    /// Its tags.
    #[serde(alias = "tags")]
    pub tags: Map<String>,
}

impl super::Parameters for CreateQueue {
    fn from_query(members: &Members<'_>) -> Result<CreateQueue, SqsError> {
        Ok(CreateQueue {
            queue_name: members.string("QueueName"),
            attributes: members.pairs("Attribute", "Name", "Value"),
            tags: members.pairs("Tag", "Key", "Value"),
        })
    }

    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        super::check_tags(&self.tags)?;
        queue_attribute::check(&self.attributes)
    }
}

/// The answer of CreateQueue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct CreateQueueAnswer {
    /// Where the queue is.
    pub queue_url: String,
}

impl CreateQueueAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        xml.text("QueueUrl", &self.queue_url);
    }
}
