//! Embeds the migrations, in the order of their numbers, and the functions, in the order of
//! `functions/order.txt`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    println!("cargo::rerun-if-changed=migrations");
    println!("cargo::rerun-if-changed=functions");
    let mut text = String::new();
    list(&mut text, "MIGRATIONS", &migrations(&root.join("migrations"))?)?;
    list(&mut text, "FUNCTIONS", &functions(&root.join("functions"))?)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("embedded.rs"), text)?;
    Ok(())
}

fn migrations(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            files.push(path);
        }
    }
    files.sort();
    for (at, path) in files.iter().enumerate() {
        let number = format!("{:04}_", at + 1);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with(&number) {
            return Err(format!("migration {name} must begin with {number}").into());
        }
    }
    Ok(files)
}

fn functions(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let order = fs::read_to_string(folder.join("order.txt"))?;
    let names = order.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    Ok(names.map(|name| folder.join(name)).collect())
}

fn list(text: &mut String, name: &str, files: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    writeln!(text, "static {name}: &[(&str, &str)] = &[")?;
    for path in files {
        println!("cargo::rerun-if-changed={}", path.display());
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(text, "    ({stem:?}, include_str!({path:?})),")?;
    }
    writeln!(text, "];")?;
    Ok(())
}
