//! Which queues a scrape is about.

/// A name, or the beginning of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Filter {
    /// The queue of this name.
    Name(String),
    /// The queues whose names begin so.
    Prefix(String),
}

impl Filter {
    /// Reads `NAME` or `PREFIX*`.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) fn parse(pattern: &str) -> Result<Filter, String> {
        let (text, prefix) = match pattern.strip_suffix('*') {
            Some(text) => (text, true),
            None => (pattern, false),
        };
        if text.contains('*') || (text.is_empty() && !prefix) {
            return Err(format!(
                "queue is {pattern:?}; use a name, or PREFIX* with one * at its end"
            ));
        }
        let text = text.to_owned();
        Ok(if prefix { Filter::Prefix(text) } else { Filter::Name(text) })
    }

    /// Whether a queue of this name is meant.
    pub(super) fn takes(&self, name: &str) -> bool {
        match self {
            Filter::Name(text) => name == text,
            Filter::Prefix(text) => name.starts_with(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_the_beginning_of_names() {
        let takes = |pattern: &str, name: &str| Filter::parse(pattern).unwrap().takes(name);
        assert!(takes("a", "a") && !takes("a", "ab"));
        assert!(takes("a*", "a") && takes("a*", "ab") && !takes("a*", "ba"));
        assert!(takes("*", "anything"));
        for bad in ["", "a*b", "*a", "**"] {
            assert!(Filter::parse(bad).unwrap_err().contains("PREFIX*"), "{bad}");
        }
    }
}
