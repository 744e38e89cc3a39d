//! ListDeadLetterSourceQueues: the queues that use a dead-letter queue.

use serde::{Deserialize, Serialize};

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::xml::Xml;

/// The parameters of ListDeadLetterSourceQueues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct ListDeadLetterSourceQueues {
    /// The queue.
    pub queue_url: String,
    /// At most so many; a token comes back when there are more.
    pub max_results: Option<i64>,
    /// Where the page before ended.
    pub next_token: Option<String>,
}

impl super::Parameters for ListDeadLetterSourceQueues {
    fn from_query(members: &Members<'_>) -> Result<ListDeadLetterSourceQueues, SqsError> {
        Ok(ListDeadLetterSourceQueues {
            queue_url: members.string("QueueUrl"),
            max_results: members.number("MaxResults")?,
            next_token: members.maybe("NextToken"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        super::check_range("MaxResults", self.max_results, 1..=limits.page_max)
    }
}

/// The answer of ListDeadLetterSourceQueues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ListDeadLetterSourceQueuesAnswer {
    /// Where the queues are.
    #[serde(rename = "queueUrls", skip_serializing_if = "Vec::is_empty")]
    pub queue_urls: Vec<String>,
    /// Asks for the next page.
    #[serde(rename = "NextToken", skip_serializing_if = "Option::is_none")]
    pub next_token: Option<String>,
}

impl ListDeadLetterSourceQueuesAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        for url in &self.queue_urls {
            xml.text("QueueUrl", url);
        }
        xml.maybe("NextToken", self.next_token.as_deref());
    }
}
