//! A session that takes statements as `psql` does and prints what that prints.

use std::collections::HashMap;

use tokio_postgres::{Client, SimpleQueryMessage};

use super::page::cells;

/// The session of a user of the page.
pub struct Session {
    client: Client,
    /// What `\gset` has kept.
    kept: HashMap<String, String>,
}

/// A statement, and whether its row is kept.
#[derive(Debug, PartialEq)]
pub struct Statement {
    pub sql: String,
    pub gset: bool,
}

impl Session {
    /// A session on a connection.
    pub fn of(client: Client) -> Session {
        Session { client, kept: HashMap::new() }
    }

    /// Runs statements one after the other, whatever becomes of each; answers what they print.
    pub async fn run(&mut self, text: &str) -> Vec<String> {
        let mut printed = Vec::new();
        for statement in statements(text) {
            let mut sql = statement.sql;
            for (name, value) in &self.kept {
                let quoted = format!("'{}'", value.replace('\'', "''"));
                sql = sql.replace(&format!(":'{name}'"), &quoted);
                sql = sql.replace(&format!("(:{name})"), &format!("({value})"));
            }
            let answer = match self.client.simple_query(&sql).await {
                Ok(answer) => answer,
                Err(error) => {
                    printed.extend(refusal(&error));
                    continue;
                }
            };
            if !statement.gset {
                printed.extend(table(&answer));
            } else if let Err(why) = self.keep(&answer) {
                printed.push(format!("ERROR:  {why}"));
            }
        }
        printed.iter().filter_map(|line| cells(line)).collect()
    }

    fn keep(&mut self, answer: &[SimpleQueryMessage]) -> Result<(), String> {
        let mut rows = answer.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let (Some(row), None) = (rows.next(), rows.next()) else {
            return Err("\\gset is for one row".to_owned());
        };
        for (at, column) in row.columns().iter().enumerate() {
            let value = row.get(at).unwrap_or_default();
            self.kept.insert(column.name().to_owned(), value.to_owned());
        }
        Ok(())
    }
}

fn refusal(error: &tokio_postgres::Error) -> Vec<String> {
    let Some(error) = error.as_db_error() else { return vec![format!("ERROR:  {error}")] };
    let mut lines = vec![format!("ERROR:  {}: {}", error.code().code(), error.message())];
    lines.extend(error.detail().map(|detail| format!("DETAIL:  {detail}")));
    lines
}

fn table(answer: &[SimpleQueryMessage]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut columns = false;
    for message in answer {
        match message {
            SimpleQueryMessage::RowDescription(names) => {
                columns = true;
                let names: Vec<&str> = names.iter().map(|column| column.name()).collect();
                lines.push(names.join("|"));
            }
            SimpleQueryMessage::Row(row) => {
                let row = (0..row.len()).map(|at| row.get(at).unwrap_or_default());
                lines.push(row.collect::<Vec<_>>().join("|"));
            }
            SimpleQueryMessage::CommandComplete(0) if columns => lines.push("(0 rows)".to_owned()),
            _ => {}
        }
    }
    lines
}

/// Takes a text apart: at semicolons and `\gset`, but not in quotes and comments. What stands after
/// the last of them is a statement too, unless it is a comment.
pub fn statements(text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut sql = String::new();
    let mut quote = None;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if quote.is_none() && rest.starts_with("--") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
            sql.push('\n');
            continue;
        }
        let gset = quote.is_none() && rest.starts_with("\\gset");
        if gset || (quote.is_none() && next == ';') {
            found.push(Statement { sql: std::mem::take(&mut sql).trim().to_owned(), gset });
            rest = rest.strip_prefix("\\gset").unwrap_or(&rest[1..]);
            continue;
        }
        quote = match quote {
            None if matches!(next, '\'' | '"') => Some(next),
            Some(open) if open == next => None,
            same => same,
        };
        sql.push(next);
        rest = &rest[next.len_utf8()..];
    }
    let sql = sql.trim().to_owned();
    if !sql.is_empty() {
        found.push(Statement { sql, gset: false });
    }
    found
}
