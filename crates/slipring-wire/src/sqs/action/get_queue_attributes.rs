//! GetQueueAttributes: settings and counts of a queue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sqs::bounded::List;
use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::queue_attribute;
use crate::sqs::xml::Xml;

/// The parameters of GetQueueAttributes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct GetQueueAttributes {
    /// The queue.
    pub queue_url: String,
    /// Which; `All` for all of them, none for none.
    pub attribute_names: List<String>,
}

impl super::Parameters for GetQueueAttributes {
    fn from_query(members: &Members<'_>) -> Result<GetQueueAttributes, SqsError> {
        Ok(GetQueueAttributes {
            queue_url: members.string("QueueUrl"),
            attribute_names: members.texts("AttributeName"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        if self.attribute_names.sent > self.attribute_names.len() {
            return Err(SqsError::invalid("Too many attribute names."));
        }
        match self.attribute_names.iter().find(|name| !queue_attribute::is_known(name.trim())) {
            Some(unknown) => Err(SqsError::unknown_attribute(unknown)),
            None => Ok(()),
        }
    }
}

/// The answer of GetQueueAttributes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct GetQueueAttributesAnswer {
    /// Names and values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

impl GetQueueAttributesAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        for (name, value) in &self.attributes {
            xml.pair("Attribute", ("Name", name), ("Value", value));
        }
    }
}
