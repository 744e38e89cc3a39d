//! Nothing: the lab takes the SQL files out of the source of the crate that `Cargo.toml` names.
