//! Set-up: what the tests need beside Rust, installed from package registries when it is missing.
//!
//! Each part leaves a finished installation alone, so that a second run costs a second.

pub mod debian;
pub mod deny;
pub mod go;
pub mod java;
pub mod node;
pub mod postgres;
pub mod python;

use crate::process::Outcome;
use crate::repository::Repository;

/// Installs everything that any step needs.
pub fn run(repository: &Repository) -> Outcome {
    debian::run(&debian::ALL)?;
    for environment in python::ALL {
        environment.set_up(repository)?;
    }
    node::run(repository)?;
    postgres::run(repository)?;
    go::run(repository)?;
    java::run(repository)?;
    deny::run(repository).map(drop)
}
