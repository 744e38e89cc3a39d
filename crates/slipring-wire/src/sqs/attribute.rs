//! Message attributes: their values, their rules, and which of them a receive asks for.

use std::collections::BTreeMap;
use std::ops::Deref;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounded::Map;
use super::error::SqsError;
use super::form::Members;
use super::limits::Limits;
use super::text;
use super::xml::Xml;

/// Bytes that are base64 on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary(Vec<u8>);

impl From<Vec<u8>> for Binary {
    fn from(bytes: Vec<u8>) -> Binary {
        Binary(bytes)
    }
}

impl Deref for Binary {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for Binary {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Binary {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Binary, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map(Binary).map_err(serde::de::Error::custom)
    }
}

/// The value of a message attribute.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct AttributeValue {
    /// `String`, `Number` or `Binary`, with an optional `.suffix`.
    pub data_type: String,
    /// The value of a string or number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string_value: Option<String>,
    /// The value of a binary attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary_value: Option<Binary>,
    /// How many texts came as `StringListValues`, which the protocol reserves for later.
    #[serde(skip_serializing, deserialize_with = "counted")]
    pub string_list_values: usize,
    /// How many values came as `BinaryListValues`, which the protocol reserves for later.
    #[serde(skip_serializing, deserialize_with = "counted")]
    pub binary_list_values: usize,
}

/// The number of elements of a list, which take no memory.
fn counted<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let list: Option<Vec<IgnoredAny>> = Option::deserialize(from)?;
    Ok(list.map_or(0, |list| list.len()))
}

impl AttributeValue {
    /// A string attribute.
    pub fn string(text: impl Into<String>) -> AttributeValue {
        AttributeValue {
            data_type: "String".to_string(),
            string_value: Some(text.into()),
            ..AttributeValue::default()
        }
    }

    /// Bytes that count against the size of the message, the name not counted.
    fn size(&self) -> u64 {
        let text = self.string_value.as_ref().map_or(0, String::len);
        let bytes = self.binary_value.as_ref().map_or(0, |bytes| bytes.len());
        (self.data_type.len() + text + bytes) as u64
    }

    fn from_query(member: &Members<'_>) -> Result<AttributeValue, SqsError> {
        let value = member.below("Value");
        let binary = match value.text("BinaryValue") {
            Some(text) => Some(Binary(STANDARD.decode(text).map_err(|_| {
                SqsError::bad_value(
                    member.text("Name").unwrap_or_default(),
                    "BinaryValue",
                    "Must be base64.",
                )
            })?)),
            None => None,
        };
        Ok(AttributeValue {
            data_type: value.string("DataType"),
            string_value: value.maybe("StringValue"),
            binary_value: binary,
            string_list_values: value.texts("StringListValue").sent,
            binary_list_values: value.texts("BinaryListValue").sent,
        })
    }

    pub(super) fn write_xml(&self, xml: &mut Xml) {
        xml.maybe("StringValue", self.string_value.as_deref());
        if let Some(bytes) = &self.binary_value {
            xml.text("BinaryValue", &STANDARD.encode(bytes.deref()));
        }
        xml.text("DataType", &self.data_type);
    }
}

/// The attributes `name.1.Name`, `name.1.Value.…` of the query protocol.
pub(super) fn from_query(
    members: &Members<'_>,
    name: &str,
) -> Result<Map<AttributeValue>, SqsError> {
    members
        .numbered(name)
        .iter()
        .map(|member| Ok((member.string("Name"), AttributeValue::from_query(member)?)))
        .collect()
}

/// Bytes of attributes that count against the size of their message.
pub fn size(attributes: &BTreeMap<String, AttributeValue>) -> u64 {
    attributes.iter().map(|(name, value)| name.len() as u64 + value.size()).sum()
}

/// Checks the attributes of a message that is sent.
pub(super) fn check(attributes: &Map<AttributeValue>, limits: &Limits) -> Result<(), SqsError> {
    if attributes.sent > limits.message_attributes_max {
        return Err(SqsError::invalid(format!(
            "Number of message attributes [{}] exceeds the allowed maximum [{}].",
            attributes.sent, limits.message_attributes_max
        )));
    }
    for (name, value) in attributes.iter() {
        check_name(name, limits)?;
        check_value(name, value, limits)?;
    }
    Ok(())
}

fn check_name(name: &str, limits: &Limits) -> Result<(), SqsError> {
    let refuse = |why: &str| {
        let shown = super::error::shortened(name);
        Err(SqsError::invalid(format!("The message attribute name '{shown}' is invalid. {why}")))
    };
    if name.is_empty() {
        return Err(SqsError::invalid("The message attribute name must not be empty."));
    }
    if name.chars().nth(limits.attribute_name_chars_max).is_some() {
        return refuse("It is longer than 256 characters.");
    }
    if !name.chars().all(is_allowed_in_name) {
        return refuse(
            "Attribute name can contain A-Z, a-z, 0-9, accented Latin letters, underscore (_), \
             hyphen (-), and period (.) characters.",
        );
    }
    if name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        return refuse("It must not begin or end with a period, nor have two in a row.");
    }
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("aws.") || lower.starts_with("amazon.") {
        return refuse("The prefixes AWS. and Amazon. are reserved.");
    }
    Ok(())
}

/// AWS takes more than its documents name: the letters of Latin-1 and Latin Extended-A too.
fn is_allowed_in_name(c: char) -> bool {
    let accented = matches!(c, '\u{c0}'..='\u{17f}') && !matches!(c, '\u{d7}' | '\u{f7}');
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') || accented
}

fn check_value(name: &str, value: &AttributeValue, limits: &Limits) -> Result<(), SqsError> {
    let kind = value.data_type.split('.').next().unwrap_or_default();
    if value.data_type.is_empty() {
        return Err(SqsError::invalid(format!(
            "The message attribute '{name}' must contain non-empty message attribute type."
        )));
    }
    if value.data_type.chars().nth(limits.attribute_name_chars_max).is_some() {
        return Err(SqsError::invalid(format!(
            "The type of message attribute '{name}' is longer than 256 characters."
        )));
    }
    let empty = |kind: &str| {
        Err(SqsError::invalid(format!(
            "Message (user) attribute '{name}' must contain a non-empty value of type '{kind}'."
        )))
    };
    match kind {
        "String" | "Number" => match value.string_value.as_deref() {
            None | Some("") => empty(&value.data_type),
            Some(text) if kind == "Number" && !text::is_number(text) => Err(SqsError::invalid(
                format!("Can't cast the value of message (user) attribute '{name}' to a number."),
            )),
            Some(text) => text::check(text).map_err(|error| SqsError::invalid(error.message)),
        },
        "Binary" => match &value.binary_value {
            Some(bytes) if !bytes.is_empty() => Ok(()),
            _ => empty(&value.data_type),
        },
        _ => Err(SqsError::invalid(format!(
            "The message attribute '{name}' has an invalid message attribute type, the set of \
             supported type prefixes is Binary, Number, and String."
        ))),
    }?;
    check_fields(name, value)
}

/// Refuses a value beside the one of the type: the digest and the client would each choose one.
pub(super) fn check_fields(name: &str, value: &AttributeValue) -> Result<(), SqsError> {
    let binary = value.data_type.split('.').next() == Some("Binary");
    let (right, wrong, both) = match binary {
        true => ("BinaryValue", "StringValue", value.string_value.is_some()),
        false => ("StringValue", "BinaryValue", value.binary_value.is_some()),
    };
    if both {
        return Err(SqsError::invalid(format!(
            "The message attribute '{name}' with type '{}' must use field '{right}' and no \
             '{wrong}': an attribute has one value.",
            value.data_type
        )));
    }
    for (field, count) in [
        ("StringListValues", value.string_list_values),
        ("BinaryListValues", value.binary_list_values),
    ] {
        if count > 0 {
            return Err(SqsError::invalid(format!(
                "The message attribute '{name}' has {count} {field}. Message attribute list \
                 values are not supported; use field '{right}'."
            )));
        }
    }
    Ok(())
}

/// Whether a receive with these names asks for the attribute: `All`, `.*`, `*`, `prefix.*` (with
/// or without a dot after the prefix in the attribute's name) or the name itself.
pub fn is_asked_for(names: &[String], attribute: &str) -> bool {
    names.iter().any(|name| match name.as_str() {
        "All" | ".*" | "*" => true,
        exact if exact == attribute => true,
        other => other.strip_suffix(".*").is_some_and(|prefix| attribute.starts_with(prefix)),
    })
}
