//! The walls between the crates: which may depend on which, and which libraries stay outside.

use serde_json::Value;

use super::finding::Finding;

/// What one crate may depend on.
struct Wall {
    name: &'static str,
    /// Ours, in every kind of dependency.
    may: &'static [&'static str],
    /// Ours, in addition, for its tests only.
    may_in_tests: &'static [&'static str],
    /// Not ours, and never: libraries that would break what the crate is for.
    never: &'static [&'static str],
}

const HTTP: [&str; 4] = ["axum", "http", "hyper", "hyper-util"];
const ALL: [&str; 6] = [
    "slipring",
    "slipring-server",
    "slipring-sqlite",
    "slipring-postgres",
    "slipring-wire",
    "slipring-conformance",
];

const WALLS: [Wall; 12] = [
    Wall {
        name: "slipring",
        may: &[],
        may_in_tests: &[],
        never: &["rusqlite", "tokio-postgres", "axum", "http", "hyper", "hyper-util"],
    },
    Wall {
        name: "slipring-sqlite",
        may: &["slipring"],
        may_in_tests: &["slipring-conformance"],
        never: &HTTP,
    },
    Wall {
        name: "slipring-postgres",
        may: &["slipring"],
        may_in_tests: &["slipring-conformance", "slipring-testbed"],
        never: &HTTP,
    },
    Wall { name: "slipring-conformance", may: &["slipring"], may_in_tests: &[], never: &HTTP },
    Wall {
        name: "slipring-testbed",
        may: &["slipring", "slipring-postgres"],
        may_in_tests: &[],
        never: &HTTP,
    },
    Wall {
        name: "slipring-wire",
        may: &[],
        may_in_tests: &[],
        never: &["tokio", "rusqlite", "axum", "hyper", "hyper-util", "socket2"],
    },
    Wall {
        name: "slipring-server",
        may: &["slipring", "slipring-wire"],
        may_in_tests: &["slipring-conformance", "slipring-sqlite"],
        never: &["rusqlite", "tokio-postgres"],
    },
    Wall {
        name: "slipring-cli",
        may: &[
            "slipring",
            "slipring-allocator",
            "slipring-server",
            "slipring-sqlite",
            "slipring-postgres",
        ],
        may_in_tests: &["slipring-wire", "slipring-testbed"],
        never: &["rusqlite", "tokio-postgres"],
    },
    Wall { name: "slipring-lab", may: &ALL, may_in_tests: &["slipring-testbed"], never: &[] },
    Wall { name: "slipring-allocator", may: &[], may_in_tests: &[], never: &["tokio", "rusqlite"] },
    Wall { name: "slipring-slowdisk", may: &[], may_in_tests: &[], never: &["tokio", "rusqlite"] },
    Wall { name: "xtask", may: &[], may_in_tests: &[], never: &["rusqlite", "tokio"] },
];

/// Checks the answer of `cargo metadata --no-deps` against the table.
pub fn check(metadata: &str) -> Vec<Finding> {
    let parsed: Value = match serde_json::from_str(metadata) {
        Ok(parsed) => parsed,
        Err(error) => return vec![broken("Cargo.toml", format!("cargo metadata: {error}"))],
    };
    let packages = parsed["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &Value) -> Vec<Finding> {
    let name = package["name"].as_str().unwrap_or_default();
    let manifest = match name {
        "xtask" => "xtask/Cargo.toml".to_owned(),
        _ => format!("crates/{name}/Cargo.toml"),
    };
    let Some(wall) = WALLS.iter().find(|wall| wall.name == name) else {
        let text = "not in the table of xtask/src/tidy/walls.rs: say what it may depend on";
        return vec![broken(&manifest, text.to_owned())];
    };
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let refused = dependencies.iter().filter_map(|dependency| {
        let other = dependency["name"].as_str().unwrap_or_default();
        let in_tests = dependency["kind"].as_str() == Some("dev");
        refuse(wall, other, in_tests)
    });
    refused.map(|text| broken(&manifest, text)).collect()
}

/// Says why `wall` keeps `other` out, or nothing when it does not.
fn refuse(wall: &Wall, other: &str, in_tests: bool) -> Option<String> {
    let name = wall.name;
    let ours = other == "xtask" || WALLS.iter().any(|wall| wall.name == other);
    if ours && wall.may.contains(&other) {
        return None;
    }
    if ours && wall.may_in_tests.contains(&other) {
        let text = format!("{name} may use {other} in tests only: make it a dev-dependency");
        return Some(text).filter(|_| !in_tests);
    }
    if ours {
        return Some(format!(
            "{name} may not depend on {other}: move the code to where both see it"
        ));
    }
    let text = format!("{name} keeps {other} out: leave it to the crate that is about it");
    Some(text).filter(|_| !in_tests && wall.never.contains(&other))
}

fn broken(path: &str, text: String) -> Finding {
    Finding::fail(path, 0, "dependency wall", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(package: &str, dependency: &str, kind: Option<&str>) -> usize {
        let kind = kind.map_or("null".to_owned(), |kind| format!("\"{kind}\""));
        let metadata = format!(
            r#"{{"packages":[{{"name":"{package}","dependencies":[
                {{"name":"{dependency}","kind":{kind}}}]}}]}}"#
        );
        check(&metadata).len()
    }

    #[test]
    fn dependencies_go_one_way() {
        assert_eq!(count("slipring-sqlite", "slipring", None), 0);
        assert_eq!(count("slipring", "slipring-sqlite", None), 1);
        assert_eq!(count("slipring", "slipring-wire", Some("dev")), 1);
        assert_eq!(count("slipring-wire", "slipring", None), 1);
        assert_eq!(count("slipring-server", "slipring-cli", None), 1);
        assert_eq!(count("xtask", "slipring", None), 1);
    }

    #[test]
    fn stores_use_the_conformance_suite_in_tests_only() {
        assert_eq!(count("slipring-sqlite", "slipring-conformance", Some("dev")), 0);
        assert_eq!(count("slipring-sqlite", "slipring-conformance", None), 1);
    }

    #[test]
    fn the_core_knows_no_database_and_the_wire_no_sockets() {
        assert_eq!(count("slipring", "rusqlite", None), 1);
        assert_eq!(count("slipring-wire", "tokio", None), 1);
        assert_eq!(count("slipring", "bytes", None), 0);
    }

    #[test]
    fn a_crate_that_the_table_does_not_know_fails() {
        assert_eq!(count("slipring-new", "bytes", None), 1);
    }
}
