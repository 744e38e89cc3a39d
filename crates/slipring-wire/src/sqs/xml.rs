//! Writing the XML answers of the query protocol.

/// A document being written.
#[derive(Debug, Default)]
pub struct Xml(String);

/// The namespace of every answer.
pub const NAMESPACE: &str = "http://queue.amazonaws.com/doc/2012-11-05/";

const FIRST_LINE: &str = "<?xml version=\"1.0\"?>";

impl Xml {
    /// An empty document with its first line.
    pub fn new() -> Xml {
        Xml(FIRST_LINE.to_string())
    }

    /// As [`Xml::new`], with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Xml {
        let mut text = String::with_capacity(bytes);
        text.push_str(FIRST_LINE);
        Xml(text)
    }

    /// `<name>`, what `inside` writes, `</name>`; `<name/>` when it writes nothing.
    pub fn element(&mut self, name: &str, inside: impl FnOnce(&mut Xml)) {
        self.open(name, "");
        let opened = self.0.len();
        inside(self);
        if self.0.len() == opened {
            self.0.pop();
            self.0.push_str("/>");
        } else {
            self.close(name);
        }
    }

    /// The outermost element, which names the namespace.
    pub fn root(&mut self, name: &str, inside: impl FnOnce(&mut Xml)) {
        self.open(name, NAMESPACE);
        inside(self);
        self.close(name);
    }

    /// `<name>text</name>`; `<name/>` when there is no text.
    pub fn text(&mut self, name: &str, text: &str) {
        self.element(name, |xml| xml.escape(text));
    }

    /// `<name>text</name>`, or nothing where it is `None`.
    pub fn maybe(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// `<name>` with two texts inside, as maps are written.
    pub fn pair(&mut self, name: &str, key: (&str, &str), value: (&str, &str)) {
        self.element(name, |xml| {
            xml.text(key.0, key.1);
            xml.text(value.0, value.1);
        });
    }

    /// The document.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }

    fn open(&mut self, name: &str, namespace: &str) {
        self.0.push('<');
        self.0.push_str(name);
        if !namespace.is_empty() {
            self.0.push_str(" xmlns=\"");
            self.0.push_str(namespace);
            self.0.push('"');
        }
        self.0.push('>');
    }

    fn close(&mut self, name: &str) {
        self.0.push_str("</");
        self.0.push_str(name);
        self.0.push('>');
    }

    fn escape(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find(needs_escape) {
            let (plain, special) = rest.split_at(at);
            self.0.push_str(plain);
            self.0.push_str(match special.as_bytes().first() {
                Some(b'&') => "&amp;",
                Some(b'<') => "&lt;",
                Some(b'>') => "&gt;",
                Some(b'"') => "&quot;",
                Some(b'\'') => "&apos;",
                // A bare carriage return would be read as a line feed.
                Some(b'\r') => "&#xD;",
                // XML cannot name the other control characters, U+FFFE and U+FFFF at all.
                _ => "\u{fffd}",
            });
            let after = special.char_indices().nth(1).map_or(special.len(), |(at, _)| at);
            rest = special.get(after..).unwrap_or_default();
        }
        self.0.push_str(rest);
    }
}

fn needs_escape(c: char) -> bool {
    matches!(c, '&' | '<' | '>' | '"' | '\'' | '\u{fffe}' | '\u{ffff}')
        || (c < ' ' && c != '\t' && c != '\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_name_is_replaced_and_what_stands_behind_it_is_kept() {
        let mut xml = Xml::new();
        xml.text("a", "x\u{fffe}é\u{ffff}\u{1}<\u{fffd}\r\u{fffe}");
        let written = String::from_utf8(xml.into_bytes()).unwrap();
        assert!(
            written.ends_with("<a>x\u{fffd}é\u{fffd}\u{fffd}&lt;\u{fffd}&#xD;\u{fffd}</a>"),
            "{written}"
        );
    }
}
