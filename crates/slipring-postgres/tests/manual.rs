//! The page for users of SQL: its examples are run as they stand there, and it names every function
//! that users may call, with its arguments, and every setting of a queue.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

#[path = "manual/page.rs"]
mod page;
#[path = "manual/psql.rs"]
mod psql;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use page::{Page, is_shown};
use psql::{Session, statements};
use slipring_testbed::{Cluster, Database, connect, run};
use tokio_postgres::{Client, Row};

/// The users of the page, and the roles that each has.
const USERS: [(&str, &str); 6] = [
    ("producer", "slipring_producer"),
    ("consumer", "slipring_consumer"),
    ("admin", "slipring_admin"),
    ("shop", "slipring_producer, slipring_consumer"),
    ("stranger", ""),
    ("reporter", "reporter"),
];

/// A role whose name the page says. It is the cluster's, and has rights in no database at first.
const REPORTER: &str = "DO $$ BEGIN CREATE ROLE reporter; EXCEPTION WHEN duplicate_object OR \
                        unique_violation THEN NULL; END $$";

fn the_page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/stores/postgres-sql.md");
    std::fs::read_to_string(path).unwrap()
}

async fn setup() -> (&'static Cluster, Database, Client) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    (cluster, database, client)
}

/// A session of each user.
async fn sessions(cluster: &Cluster, database: &Database) -> HashMap<&'static str, Session> {
    let admin = cluster.superuser(&database.name).await;
    run(&admin, REPORTER).await;
    let mut sessions = HashMap::new();
    for (user, roles) in USERS {
        let name = format!("{}_{user}", database.name);
        run(&admin, &format!("CREATE ROLE {name} LOGIN PASSWORD 'test'")).await;
        if !roles.is_empty() {
            run(&admin, &format!("GRANT {roles} TO {name}")).await;
        }
        run(&admin, &format!("CREATE SCHEMA AUTHORIZATION {name}")).await;
        let client = connect(&cluster.url(&name, "test", &database.name)).await;
        run(&client, "SET statement_timeout = '60s'; SET lock_timeout = '30s'").await;
        if user == roles {
            run(&client, &format!("SET ROLE {roles}")).await;
        }
        sessions.insert(user, Session::of(client));
    }
    sessions
}

/// What is wrong with the examples of a page.
async fn wrong_examples(page: &Page) -> Vec<String> {
    let (cluster, database, _client) = setup().await;
    let mut sessions = sessions(cluster, &database).await;
    let mut wrong = Vec::new();
    for block in &page.blocks {
        let Some(session) = sessions.get_mut(block.user.as_str()) else {
            wrong.push(format!("line {}: no `-- as USER` at its head", block.line));
            continue;
        };
        let printed = session.run(&block.sql).await;
        let same = printed.len() == block.shown.len()
            && block.shown.iter().zip(&printed).all(|(shown, line)| is_shown(shown, line));
        let silent =
            block.shown.is_empty() && !printed.iter().any(|line| line.starts_with("ERROR"));
        if !same && !silent {
            let (shown, printed) = (block.shown.join("\n  "), printed.join("\n  "));
            wrong.push(format!("line {}:\n  {printed}\nshown is:\n  {shown}", block.line));
        }
    }
    wrong
}

/// An argument or a column, by its name: the types that it may have, and its default.
type Fields = BTreeMap<String, (BTreeSet<String>, String)>;

fn note(fields: &mut Fields, name: &str, kind: &str, default: &str) {
    let field = fields.entry(name.to_owned()).or_default();
    field.0.insert(kind.to_owned());
    // Of overloads some have a default and others have to be told apart by the argument.
    if !default.is_empty() {
        default.clone_into(&mut field.1);
    }
}

fn of_table(rows: &[Vec<String>]) -> Fields {
    let mut fields = Fields::new();
    for row in rows {
        for kind in row[1].split(", ") {
            note(&mut fields, &row[0], kind, row.get(2).map_or("", String::as_str));
        }
    }
    fields
}

/// What the catalogue says of the overloads of a function.
fn of_catalogue(overloads: &[&Row], names: &str, types: &str, defaults: Option<&str>) -> Fields {
    let mut fields = Fields::new();
    for row in overloads {
        let (names, types): (Vec<String>, Vec<String>) = (row.get(names), row.get(types));
        let defaults: Vec<String> = defaults.map(|column| row.get(column)).unwrap_or_default();
        for (at, name) in names.iter().enumerate() {
            note(&mut fields, name, &types[at], defaults.get(at).map_or("", String::as_str));
        }
    }
    fields
}

/// `slipring.name(arguments) → answer`, as the page has it in a line of its own.
fn signature(row: &Row) -> String {
    let (name, answer): (&str, &str) = (row.get("name"), row.get("answer"));
    let arguments: Vec<String> = row.get("arguments");
    let arguments = arguments.iter().map(|name| name.replace("group", "\"group\""));
    format!("`slipring.{name}({}) → {answer}`", arguments.collect::<Vec<_>>().join(", "))
}

/// What the page lacks, or says otherwise, of the functions that users may call.
async fn wrong_functions(page: &Page, client: &Client) -> Vec<String> {
    let rows = client.query(include_str!("manual/functions.sql"), &[]).await.unwrap();
    let mut functions: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        functions.entry(row.get("name")).or_default().push(row);
    }
    let mut wrong = Vec::new();
    for (name, overloads) in &functions {
        let Some(section) = page.section(name) else {
            wrong.push(format!("{name} has no section"));
            continue;
        };
        for row in overloads {
            let roles: Vec<String> = row.get("roles");
            let roles = format!("Roles: `{}`.", roles.join("`, `"));
            for line in [signature(row), roles] {
                if !section.has(&line) {
                    wrong.push(format!("{name} has no line {line}"));
                }
            }
        }
        for (heading, names, types, defaults) in [
            ("argument", "arguments", "types", Some("defaults")),
            ("column", "columns", "column_types", None),
        ] {
            let made = of_catalogue(overloads, names, types, defaults);
            let told = of_table(&section.table(heading));
            if made != told {
                wrong.push(format!("{name}, {heading}: {made:?}\nthe page has: {told:?}"));
            }
        }
        let errors = section.table("error");
        let call = format!("slipring.{name}(");
        let blocks = || page.blocks.iter().filter(|block| block.title == **name);
        if !blocks().any(|block| block.sql.contains(&call)) {
            wrong.push(format!("{name} has no example"));
        }
        for state in blocks().flat_map(|block| &block.shown).filter_map(|line| {
            let state = line.strip_prefix("ERROR:  ")?.get(..5)?;
            (state != "42501").then_some(state)
        }) {
            if !errors.iter().any(|row| row[0] == state) {
                wrong.push(format!("{name}: {state} is in an example, but not among its errors"));
            }
        }
    }
    for section in &page.sections {
        let signed = section.lines.iter().any(|line| line.starts_with("`slipring."));
        if signed && !functions.contains_key(section.title.as_str()) {
            wrong.push(format!("{} is no function that users may call", section.title));
        }
    }
    wrong
}

#[tokio::test]
async fn every_example_prints_what_the_page_shows() {
    let page = Page::of(&the_page());
    let wrong = wrong_examples(&page).await;
    assert!(wrong.is_empty(), "docs/stores/postgres-sql.md\n{}", wrong.join("\n"));
    assert!(page.blocks.len() > 25, "{} blocks were found", page.blocks.len());
}

#[tokio::test]
async fn a_wrong_example_is_noticed() {
    let create = "```sql\n-- as admin\nSELECT slipring.create_queue('q') AS new;\n```\n";
    for (after, found) in [
        ("```text\n new\n-----\n t\n```\n", 0),
        ("", 0),
        ("```text\n new\n-----\n f\n```\n", 1),
        ("```text\n new\n-----\n t\n t\n```\n", 1),
        ("```sql\nSELECT 1;\n```\n", 1),
        ("```sql\n-- as producer\nSELECT slipring.purge('q');\n```\n", 1),
        ("```sql\n-- as producer\nSELECT 1;\n```\n```text\nERROR:  SR001: …\n```\n", 1),
        (
            "```sql\n-- as admin\nSELECT slipring.purge('r');\n```\n```text\nERROR:  SR002: …\n```",
            1,
        ),
        ("```sql\n-- as consumer\nSELECT * FROM slipring.receive('q') \\gset\n```\n", 1),
    ] {
        let wrong = wrong_examples(&Page::of(&format!("{create}{after}"))).await;
        assert_eq!(wrong.len(), found, "{after}: {wrong:?}");
    }
}

#[tokio::test]
async fn every_function_that_users_may_call_stands_on_the_page() {
    let (_, _, client) = setup().await;
    let wrong = wrong_functions(&Page::of(&the_page()), &client).await;
    assert!(wrong.is_empty(), "docs/stores/postgres-sql.md\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_function_that_the_page_does_not_tell_of_is_noticed() {
    let (_, _, client) = setup().await;
    let text = the_page();
    for (said, instead) in [
        ("### nack\n", "### other\n"),
        ("| `n` | `int` | `1` |", "| `n` | `int` | `2` |"),
        ("| `urgent` | `bigint` |", "| `urgent` | `int` |"),
        ("slipring.peek('", "peek('"),
        ("Roles: `slipring_producer`, `slipring_admin`.", "Roles: `slipring_producer`."),
        ("| SR002 | there is a queue", "| SR003 | there is a queue"),
    ] {
        assert!(text.contains(said), "{said}");
        let wrong = wrong_functions(&Page::of(&text.replace(said, instead)), &client).await;
        assert!(!wrong.is_empty(), "{said} as {instead}");
    }
    run(
        &client,
        "CREATE FUNCTION slipring.more(n int) RETURNS int LANGUAGE sql AS 'SELECT 1';
         REVOKE ALL ON FUNCTION slipring.more FROM PUBLIC;
         GRANT EXECUTE ON FUNCTION slipring.more TO slipring_consumer",
    )
    .await;
    let wrong = wrong_functions(&Page::of(&text), &client).await;
    assert_eq!(wrong, ["more has no section"]);
}

#[tokio::test]
async fn every_setting_stands_on_the_page_with_its_range_and_default() {
    let (_, _, client) = setup().await;
    let page = Page::of(&the_page());
    let rows = page.section("Settings").unwrap().table("setting");
    let told: serde_json::Map<_, _> = rows
        .iter()
        .map(|row| (row[0].clone(), serde_json::from_str(&row[3]).expect(&row[0])))
        .collect();
    let made = client.query_one("SELECT slipring.settings_default()", &[]).await.unwrap();
    assert_eq!(made.get::<_, serde_json::Value>(0), serde_json::Value::Object(told));
    run(&client, "SELECT slipring.create_queue('q')").await;
    let mut ranges = 0;
    for row in &rows {
        let Some((low, high)) = row[2].split_once(" to ") else { continue };
        let (low, high): (i128, i128) = (low.parse().unwrap(), high.parse().unwrap());
        for (value, ok) in [(low, true), (high, true), (low - 1, false), (high + 1, false)] {
            let sql = format!("SELECT slipring.configure('q', '{{\"{}\": {value}}}')", row[0]);
            let code = client.batch_execute(&sql).await.err().and_then(|e| e.code().cloned());
            assert_eq!(code.map(|c| c.code().to_owned()), (!ok).then(|| "SR007".into()), "{sql}");
        }
        ranges += 1;
    }
    assert!(ranges > 9, "{ranges} ranges were found");
}

#[test]
fn statements_end_where_psql_ends_them() {
    let text =
        "-- as x; y\nSELECT ';', \"a;b\" \\gset\nBEGIN;  -- it's; so\nSELECT 'it''s;' -- no\n";
    let found: Vec<(String, bool)> =
        statements(text).into_iter().map(|found| (found.sql, found.gset)).collect();
    let wanted = [("SELECT ';', \"a;b\"", true), ("BEGIN", false), ("SELECT 'it''s;'", false)];
    assert_eq!(found, wanted.map(|(sql, gset)| (sql.to_owned(), gset)));
}
