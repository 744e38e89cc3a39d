//! The query protocol's parameters: `Name.1.Member=value` pairs as lists, maps and members.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::bounded::{List, Map};
use super::error::{ErrorCode, SqsError, shortened};

/// Most parameters of a request; ten entries with ten attributes each stay far below.
const PARAMETERS_MAX: usize = 2_000;

/// The parameters of a request, decoded.
#[derive(Debug, Default)]
pub struct Form<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

/// Parameters below one prefix, the prefix taken off.
#[derive(Debug, Clone)]
pub struct Members<'f>(Vec<(&'f str, &'f str)>);

impl<'a> Form<'a> {
    /// Reads the parameters of the URL and of the body.
    ///
    /// # Errors
    /// `MalformedQuery` for too many parameters.
    pub fn read(query: &'a [u8], body: &'a [u8]) -> Result<Form<'a>, SqsError> {
        let parts = form_urlencoded::parse(query).chain(form_urlencoded::parse(body));
        let pairs: Vec<_> = parts.take(PARAMETERS_MAX + 1).collect();
        if pairs.len() > PARAMETERS_MAX {
            return Err(SqsError::new(
                ErrorCode::MalformedQuery,
                format!("The request has more than {PARAMETERS_MAX} parameters."),
            ));
        }
        Ok(Form(pairs))
    }

    /// All parameters.
    pub fn members(&self) -> Members<'_> {
        Members(self.0.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect())
    }
}

impl<'f> Members<'f> {
    /// The value of a parameter; the first one when it comes more than once.
    pub fn text(&self, name: &str) -> Option<&'f str> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// The value of a parameter, owned; empty when it is not there.
    pub fn string(&self, name: &str) -> String {
        self.text(name).unwrap_or_default().to_string()
    }

    /// The value of a parameter, owned.
    pub fn maybe(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_string)
    }

    /// A whole number.
    ///
    /// # Errors
    /// `InvalidParameterValue` when it is none.
    pub fn number(&self, name: &str) -> Result<Option<i64>, SqsError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.trim()
            .parse()
            .map(Some)
            .map_err(|_| SqsError::bad_value(shortened(text), name, "Must be an integer."))
    }

    /// The members `name.1.…`, `name.2.…` in the order of their numbers, which may have gaps.
    pub fn numbered(&self, name: &str) -> List<Members<'f>> {
        let mut found: BTreeMap<u32, Vec<(&'f str, &'f str)>> = BTreeMap::new();
        for (key, value) in &self.0 {
            let rest = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
            let Some(rest) = rest else { continue };
            let (number, member) = rest.split_once('.').unwrap_or((rest, ""));
            if let Ok(number) = number.parse() {
                found.entry(number).or_default().push((member, value));
            }
        }
        found.into_values().map(Members).collect()
    }

    /// The texts `name.1`, `name.2`, …; a plain `name` counts as a list of one.
    pub fn texts(&self, name: &str) -> List<String> {
        match self.text(name) {
            Some(single) => [single.to_string()].into_iter().collect(),
            None => self.numbered(name).map(|member| member.string("")),
        }
    }

    /// The texts `name.1.<key>` with `name.1.<value>`; a plain `name.<key>` is one more entry.
    pub fn pairs(&self, name: &str, key: &str, value: &str) -> Map<String> {
        let (numbered, plain) = (self.numbered(name), self.below(name));
        let plain = plain.text(key).is_some().then_some(&plain);
        let entries = numbered.iter().chain(plain);
        entries.map(|member| (member.string(key), member.string(value))).collect()
    }

    /// The members below `name.`.
    pub fn below(&self, name: &str) -> Members<'f> {
        let inside = self
            .0
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(name)?.strip_prefix('.')?, *value)));
        Members(inside.collect())
    }
}
