//! GetQueueUrl: the URL of a queue by its name.

use serde::{Deserialize, Serialize};

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::xml::Xml;

/// The parameters of GetQueueUrl.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct GetQueueUrl {
    /// The name.
    pub queue_name: String,
    /// The account; this server has one.
    #[serde(rename = "QueueOwnerAWSAccountId")]
    pub owner: Option<String>,
}

impl super::Parameters for GetQueueUrl {
    fn from_query(members: &Members<'_>) -> Result<GetQueueUrl, SqsError> {
        Ok(GetQueueUrl {
            queue_name: members.string("QueueName"),
            owner: members.maybe("QueueOwnerAWSAccountId"),
        })
    }

    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        super::require("QueueName", &self.queue_name)
    }
}

/// The answer of GetQueueUrl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct GetQueueUrlAnswer {
    /// Where the queue is.
    pub queue_url: String,
}

impl GetQueueUrlAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        xml.text("QueueUrl", &self.queue_url);
    }
}
