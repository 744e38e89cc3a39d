//! The repository's own checks: test, tidy, clients, schema.

fn main() {}
