//! Reading a file or stdin in parts of bounded size, in one pass.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use csv::{ByteRecord, StringRecord};
use slipring::Capabilities;
use slipring::load::PART_MESSAGES_MAX;

use crate::failure::Failure;

use super::Format;
use super::feed::Broken;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;
/// A line may have so many times the bytes of a message, for JSON writes one byte as up to six.
const LINE_TIMES: u64 = 6;
/// And so many more for all that is around the body.
const LINE_MORE_BYTES: u64 = 64 << 10;

/// What a part was made of.
pub enum Rows {
    /// Lines, each with its number and where it ends in the text.
    Lines(Format, Vec<u8>, Vec<(u64, usize)>),
    /// Records, each with the number of its first line, and the head.
    Records(Arc<StringRecord>, Vec<(u64, ByteRecord)>),
}

/// A part of the file.
pub struct Chunk {
    /// Its number; the same file has the same parts each time, in the same store.
    pub part: u32,
    /// How many messages it has.
    pub messages: usize,
    /// What it is made of.
    pub rows: Rows,
}

impl Chunk {
    /// The line on which a message of it begins.
    pub fn line_of(&self, index: usize) -> u64 {
        let first = match &self.rows {
            Rows::Lines(_, _, ends) => ends.get(index).map(|(line, _)| *line),
            Rows::Records(_, records) => records.get(index).map(|(line, _)| *line),
        };
        first.unwrap_or(0)
    }

    /// The last line of it that is known.
    pub fn last_line(&self) -> u64 {
        self.line_of(self.messages.saturating_sub(1))
    }

    /// A number made of all its bytes.
    pub fn checksum(&self) -> u64 {
        let mut hasher = blake3::Hasher::new();
        match &self.rows {
            Rows::Lines(_, text, _) => {
                hasher.update(text);
            }
            Rows::Records(_, records) => {
                for (_, record) in records {
                    for field in record {
                        hasher.update(&(field.len() as u64).to_le_bytes());
                        hasher.update(field);
                    }
                }
            }
        }
        let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

/// The file, read from its beginning.
pub struct Source {
    input: Input,
    bytes: Option<u64>,
    part_messages: usize,
    part_bytes: usize,
    line_bytes_max: u64,
    next_part: u32,
    line: u64,
}

type Reader = Box<dyn Read + Send>;

enum Input {
    Lines(Format, BufReader<Reader>),
    Records(csv::Reader<Reader>, Arc<StringRecord>),
}

impl Source {
    /// Opens a file, or stdin for `-`. Parts are as large as the store wants its calls.
    ///
    /// # Errors
    /// A file that cannot be read; a CSV file whose head names no body or an unknown column.
    pub fn open(
        path: &Path,
        format: Format,
        message_bytes_max: u64,
        capabilities: &Capabilities,
    ) -> Result<Source, Failure> {
        let failed =
            |error: std::io::Error| Failure::failed(format!("{}: {error}", path.display()));
        let (reader, bytes): (Reader, Option<u64>) = if path.as_os_str() == "-" {
            (Box::new(std::io::stdin()), None)
        } else {
            let file = File::open(path).map_err(failed)?;
            let about = file.metadata().map_err(failed)?;
            if about.is_dir() {
                return Err(Failure::failed(format!("{} is a folder", path.display())));
            }
            let bytes = about.is_file().then_some(about.len());
            (Box::new(file), bytes)
        };
        let input = match format {
            Format::Csv => {
                let mut builder = csv::ReaderBuilder::new();
                let mut records = builder.buffer_capacity(READ_BYTES).from_reader(reader);
                let head = records.headers().map_err(|error| Failure::failed(told(&error)))?;
                let head = Arc::new(head.clone());
                super::parse::check_head(&head)?;
                Input::Records(records, head)
            }
            _ => Input::Lines(format, BufReader::with_capacity(READ_BYTES, reader)),
        };
        let most = usize::try_from(capabilities.call_messages_max).unwrap_or(PART_MESSAGES_MAX);
        let part_bytes = usize::try_from(capabilities.call_bytes_max).unwrap_or(1 << 20);
        Ok(Source {
            input,
            bytes,
            part_messages: most.clamp(1, PART_MESSAGES_MAX),
            part_bytes: part_bytes.clamp(1, 8 << 20),
            line_bytes_max: message_bytes_max.saturating_mul(LINE_TIMES) + LINE_MORE_BYTES,
            next_part: 0,
            line: 0,
        })
    }

    /// How large the file is, where that is known.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// The next part with how many bytes of the file it has; none at the end.
    pub fn next(&mut self) -> Result<Option<(Chunk, u64)>, Broken> {
        let (messages, rows, bytes) = match &mut self.input {
            Input::Lines(format, reader) => {
                let (text, ends) = lines(
                    *format,
                    reader,
                    &mut self.line,
                    (self.part_messages, self.part_bytes),
                    self.line_bytes_max,
                )?;
                let bytes = text.len() as u64;
                (ends.len(), Rows::Lines(*format, text, ends), bytes)
            }
            Input::Records(reader, head) => {
                let before = reader.position().byte();
                let records = records(reader, (self.part_messages, self.part_bytes))?;
                let bytes = reader.position().byte() - before;
                (records.len(), Rows::Records(Arc::clone(head), records), bytes)
            }
        };
        if messages == 0 {
            return Ok(None);
        }
        let part = self.next_part;
        self.next_part = part.checked_add(1).ok_or_else(|| {
            Broken::Failed(Failure::failed("the file has more parts than a load may have"))
        })?;
        Ok(Some((Chunk { part, messages, rows }, bytes)))
    }
}

type Ends = Vec<(u64, usize)>;

/// Reads lines until a part is full. Empty ones are no messages, but in a file of bodies they are.
fn lines(
    format: Format,
    reader: &mut BufReader<Reader>,
    line: &mut u64,
    (messages_max, bytes_max): (usize, usize),
    line_bytes_max: u64,
) -> Result<(Vec<u8>, Ends), Broken> {
    let (mut text, mut ends) = (Vec::new(), Vec::new());
    while ends.len() < messages_max && text.len() < bytes_max {
        let start = text.len();
        let read = reader.by_ref().take(line_bytes_max + 1).read_until(b'\n', &mut text);
        let read = read.map_err(|error| {
            Broken::Failed(Failure::failed(format!("after line {line}: {error}")))
        })?;
        if read == 0 {
            break;
        }
        *line += 1;
        if read as u64 > line_bytes_max {
            let why = format!("it has more than {line_bytes_max} bytes");
            return Err(Broken::Line { line: *line, why });
        }
        let blank = text.get(start..).is_some_and(|line| line.trim_ascii().is_empty());
        match blank && format == Format::Ndjson {
            true => text.truncate(start),
            false => ends.push((*line, text.len())),
        }
    }
    Ok((text, ends))
}

fn records(
    reader: &mut csv::Reader<Reader>,
    (messages_max, bytes_max): (usize, usize),
) -> Result<Vec<(u64, ByteRecord)>, Broken> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    while records.len() < messages_max && bytes < bytes_max {
        let mut record = ByteRecord::new();
        match reader.read_byte_record(&mut record) {
            Ok(false) => break,
            Ok(true) => {}
            Err(error) => {
                let line = error.position().map(csv::Position::line);
                let failed = || Broken::Failed(Failure::failed(told(&error)));
                return Err(
                    line.map_or_else(failed, |line| Broken::Line { line, why: told(&error) })
                );
            }
        }
        bytes += record.as_slice().len();
        let line = record.position().map_or(0, csv::Position::line);
        records.push((line, record));
    }
    Ok(records)
}

/// What is wrong with a CSV file, without the place, which is told apart.
fn told(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} fields, but the head has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8".to_owned(),
        _ => error.to_string(),
    }
}
