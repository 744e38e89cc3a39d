//! Messages out of the lines of a part.

use std::sync::Arc;
use std::time::Duration;

use csv::{ByteRecord, StringRecord};
use slipring::{NewMessage, Priority};
use slipring_server::admin::model::Outgoing;

use crate::failure::Failure;

use super::Format;
use super::feed::Broken;
use super::source::{Chunk, Rows};

/// Columns of a CSV file beside `header.NAME`.
const COLUMNS: [&str; 4] = ["body", "priority", "lease_ms", "group"];
const HEADER: &str = "header.";

/// Refuses a head that names no body, a column twice, or one that is not known.
pub fn check_head(head: &StringRecord) -> Result<(), Failure> {
    for (at, name) in head.iter().enumerate() {
        let known = COLUMNS.contains(&name)
            || name.strip_prefix(HEADER).is_some_and(|name| !name.is_empty());
        if !known {
            return Err(Failure::failed(format!(
                "line 1: {name:?} is no column; use body, priority, lease_ms, group, header.NAME"
            )));
        }
        if head.iter().take(at).any(|before| before == name) {
            return Err(Failure::failed(format!("line 1: the column {name:?} is there twice")));
        }
    }
    match head.iter().any(|name| name == "body") {
        true => Ok(()),
        false => Err(Failure::failed("line 1: there is no column body")),
    }
}

/// The messages of a part.
///
/// # Errors
/// The first line that is bad.
pub fn messages(chunk: &Chunk) -> Result<Vec<NewMessage>, Broken> {
    let mut messages = Vec::with_capacity(chunk.messages);
    match &chunk.rows {
        Rows::Lines(format, text, ends) => {
            let mut start = 0;
            for (line, end) in ends {
                let row = text.get(start..*end).unwrap_or_default();
                start = *end;
                let row = row.strip_suffix(b"\n").unwrap_or(row);
                let row = row.strip_suffix(b"\r").unwrap_or(row);
                let message = match format {
                    Format::Lines => Ok(NewMessage::new(row.to_vec())),
                    _ => of_json(row),
                };
                messages.push(message.map_err(|why| Broken::Line { line: *line, why })?);
            }
        }
        Rows::Records(head, records) => {
            for (line, record) in records {
                let message = of_record(head, record);
                messages.push(message.map_err(|why| Broken::Line { line: *line, why })?);
            }
        }
    }
    Ok(messages)
}

fn of_json(row: &[u8]) -> Result<NewMessage, String> {
    let parsed = serde_json::from_slice::<Outgoing>(row).map_err(|error| {
        let text = error.to_string();
        // The line that it names is always the first, of the one line that it has seen.
        text.replace(" at line 1 column ", " at column ")
    })?;
    parsed.message()
}

fn of_record(head: &StringRecord, record: &ByteRecord) -> Result<NewMessage, String> {
    let mut message = NewMessage::new("");
    let mut headers = slipring::Headers::new();
    for (name, field) in head.iter().zip(record) {
        let text = || std::str::from_utf8(field).map_err(|_| format!("{name} is not UTF-8"));
        match name {
            "body" => message.body = field.to_vec().into(),
            _ if field.is_empty() => {}
            "priority" => message.priority = Priority(number(name, text()?)?),
            "lease_ms" => message.lease = Some(Duration::from_millis(number(name, text()?)?)),
            "group" => message.group = Some(Arc::from(text()?)),
            _ => {
                let name = name.strip_prefix(HEADER).unwrap_or(name);
                headers.insert(name.to_owned(), text()?.to_owned());
            }
        }
    }
    message.headers = (!headers.is_empty()).then(|| Arc::new(headers));
    Ok(message)
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name} is {text:?}; give a whole number in its range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_line_has_the_fields_of_the_admin_api() {
        let message = of_json(br#"{"body":"a","priority":3,"group":"g","headers":{"k":"v"}}"#);
        let message = message.unwrap();
        assert_eq!((&*message.body, message.priority), (&b"a"[..], Priority(3)));
        assert_eq!(message.group.as_deref(), Some("g"));
        assert_eq!(of_json(br#"{"body_base64":"AQI="}"#).unwrap().body, vec![1, 2]);
        for (line, why) in [
            (&br#"{"body":"#[..], "EOF while parsing a value at column 8"),
            (br#"{"bodi":"a"}"#, "unknown field `bodi`"),
            (br#"{}"#, "either body or body_base64"),
            (br#"{"body_base64":"?"}"#, "body_base64"),
            (b"\xff", "column 1"),
        ] {
            let error = of_json(line).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_record_has_the_columns_of_the_head() {
        let head = StringRecord::from(vec!["priority", "body", "header.k", "group", "lease_ms"]);
        check_head(&head).unwrap();
        let message = of_record(&head, &ByteRecord::from(vec!["7", "a,b", "v", "", "50"])).unwrap();
        assert_eq!((&*message.body, message.priority), (&b"a,b"[..], Priority(7)));
        assert_eq!((message.group, message.lease), (None, Some(Duration::from_millis(50))));
        assert_eq!(message.headers.unwrap()["k"], "v");
        let error = of_record(&head, &ByteRecord::from(vec!["-1", "a", "", "", ""])).unwrap_err();
        assert!(error.contains("priority is \"-1\""), "{error}");
        for head in [vec!["priority"], vec!["body", "text"], vec!["body", "body"]] {
            let error = check_head(&StringRecord::from(head)).unwrap_err().to_string();
            assert!(error.starts_with("line 1: "), "{error}");
        }
    }
}
