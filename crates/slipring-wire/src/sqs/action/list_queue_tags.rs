//! ListQueueTags: the tags of a queue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::xml::Xml;

/// The parameters of ListQueueTags.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct ListQueueTags {
    /// The queue.
    pub queue_url: String,
}

impl super::Parameters for ListQueueTags {
    fn from_query(members: &Members<'_>) -> Result<ListQueueTags, SqsError> {
        Ok(ListQueueTags {
            queue_url: members.string("QueueUrl"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }
}

/// The answer of ListQueueTags.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ListQueueTagsAnswer {
    /// Names and values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

impl ListQueueTagsAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        for (key, value) in &self.tags {
            xml.pair("Tag", ("Key", key), ("Value", value));
        }
    }
}
