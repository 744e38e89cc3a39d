//! The transcripts in `tests/transcripts/sqs`; their README says how they are written.

// Each test program uses a part.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use slipring_wire::sqs::{Head, Request, SqsError};

/// A recorded request.
#[derive(Debug, Clone)]
pub struct Sent {
    pub place: String,
    pub method: &'static str,
    pub path: String,
    pub query: Option<String>,
    pub target: Option<String>,
    pub body: Vec<u8>,
}

impl Sent {
    pub fn head(&self) -> Head<'_> {
        Head {
            method: self.method,
            path: &self.path,
            query: self.query.as_deref(),
            content_type: None,
            target: self.target.as_deref(),
            trace: None,
        }
    }

    pub fn parse(&self) -> Result<Request, SqsError> {
        Request::parse(&self.head(), &self.body)
    }
}

/// What is claimed about some requests.
#[derive(Debug, Clone)]
pub enum Claim {
    Equal,
    Refused { status: u16, shape: String, code: String, text: Option<String> },
}

/// Every claim with its requests.
pub fn all() -> Vec<(Vec<Sent>, Claim)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/sqs");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().flat_map(|path| read(path.as_path())).collect()
}

fn read(path: &Path) -> Vec<(Vec<Sent>, Claim)> {
    let text = std::fs::read_to_string(path).unwrap();
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    let (mut claims, mut sent) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", number + 1);
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" if rest.is_empty() => {}
            "#" => {}
            "json" | "query" | "get" => sent.push(request(place, word, rest)),
            "equal" => claims.push((std::mem::take(&mut sent), Claim::Equal)),
            "refused" => claims.push((std::mem::take(&mut sent), refused(rest))),
            _ => sent.last_mut().unwrap_or_else(|| panic!("{place}")).body.extend(line.bytes()),
        }
    }
    assert!(sent.is_empty(), "{file} ends with requests that nothing is claimed about");
    claims
}

fn request(place: String, kind: &str, rest: &str) -> Sent {
    let (path, query) = match rest.split_once('?') {
        _ if kind == "json" => ("/", None),
        Some((path, query)) => (path, Some(query.to_string())),
        None => (rest, None),
    };
    Sent {
        place,
        method: if kind == "get" { "GET" } else { "POST" },
        path: path.to_string(),
        query,
        target: (kind == "json").then(|| format!("AmazonSQS.{rest}")),
        body: Vec::new(),
    }
}

fn refused(rest: &str) -> Claim {
    let words: Vec<&str> = rest.splitn(4, ' ').collect();
    let [status, shape, code, ref text @ ..] = words[..] else { panic!("refused {rest}") };
    Claim::Refused {
        status: status.parse().unwrap(),
        shape: shape.to_string(),
        code: code.to_string(),
        text: text.first().map(|text| text.to_string()),
    }
}
