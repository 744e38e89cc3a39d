//! Numbers with a name: `functions/constants.txt` says once what each is, a file of SQL writes
//! `{{NAME}}`, and what is made in the database has the number itself.

use std::collections::BTreeMap;

use super::order::Source;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// What the list says of a constant, by name.
pub(crate) type Constants = BTreeMap<String, String>;

/// Reads the list: `NAME = value -- meaning and unit` in each line that is not empty or `#`.
///
/// # Errors
/// A line that is none of these; a name that is there twice.
pub(crate) fn read(list: &str) -> Result<Constants, String> {
    let mut constants = Constants::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, value) = parts(line)
            .ok_or_else(|| format!("`{line}` is not `NAME = value -- meaning and unit`"))?;
        if constants.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(format!("the constant {name} is there twice"));
        }
    }
    Ok(constants)
}

fn parts(line: &str) -> Option<(&str, &str)> {
    let (said, meaning) = line.split_once(" -- ")?;
    let (name, value) = said.split_once(" = ")?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let sound = !name.is_empty() && name.chars().all(is_name);
    (sound && value.parse::<i64>().is_ok() && !meaning.trim().is_empty()).then_some((name, value))
}

/// Puts values in the place of names.
///
/// # Errors
/// A name that the list does not have; a constant that no file names.
pub(crate) fn put_in(constants: &Constants, sources: &mut [Source]) -> Result<(), String> {
    let mut unused = constants.clone();
    for source in sources {
        let mut made = String::new();
        let mut rest = source.text.as_str();
        while let Some((before, after)) = rest.split_once(OPEN) {
            let named = after.split_once(CLOSE);
            let found = named.and_then(|(name, behind)| Some((name, constants.get(name)?, behind)));
            let Some((name, value, behind)) = found else {
                let name = named.map_or(after, |(name, _)| name).lines().next().unwrap_or_default();
                return Err(format!("{}: no constant is called `{name}`", source.path));
            };
            unused.remove(name);
            made.push_str(before);
            made.push_str(value);
            rest = behind;
        }
        made.push_str(rest);
        source.text = made;
    }
    match unused.keys().next() {
        Some(name) => Err(format!("no function names the constant {name}")),
        None => Ok(()),
    }
}

/// The constants for Rust.
pub(crate) fn in_rust(constants: &Constants) -> String {
    let line =
        |(name, value): (&String, &String)| format!("pub(crate) const {name}: i64 = {value};\n");
    constants.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(list: &str, text: &str) -> Result<String, String> {
        let (name, path) = ("a".to_owned(), "x/a.sql".to_owned());
        let mut sources = [Source { name, path, text: text.to_owned() }];
        put_in(&read(list)?, &mut sources)?;
        let [source] = sources;
        Ok(source.text)
    }

    #[test]
    fn a_name_stands_for_its_value_and_what_is_left_stays() {
        let list = "# Bounds.\n\nMOST = 64 -- messages of a pack\nLEAST = -1 -- of them\n";
        let text = made(list, "a {{MOST}}+{{MOST}} '{1,2}' {{LEAST}}");
        assert_eq!(text.as_deref(), Ok("a 64+64 '{1,2}' -1"));
        assert_eq!(in_rust(&read(list).unwrap()).lines().count(), 2);
    }

    #[test]
    fn a_name_that_is_not_there_and_one_that_is_not_used_are_refused() {
        let list = "MOST = 64 -- messages of a pack\n";
        let error = made(list, "{{MOST}} {{LEAST}}").unwrap_err();
        assert_eq!(error, "x/a.sql: no constant is called `LEAST`");
        assert!(made(list, "{{MOST").is_err());
        assert_eq!(made(list, "64").unwrap_err(), "no function names the constant MOST");
    }

    #[test]
    fn a_line_needs_a_name_a_number_and_a_meaning() {
        for line in ["most = 1 -- a", "MOST = a -- b", "MOST = 1", "MOST = 1 --  ", "= 1 -- a"] {
            assert!(read(line).is_err(), "{line}");
        }
        assert!(read("A = 1 -- a\nA = 1 -- a\n").unwrap_err().contains("twice"));
    }
}
