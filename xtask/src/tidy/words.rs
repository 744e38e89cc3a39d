//! Words that do not belong in a tracked file: registry hosts, paths of one machine, and who or
//! what wrote a line.

use super::finding::Finding;
use super::tree::Tree;

/// A word, written in two halves so that this file does not hold it, and why it is banned.
struct Word {
    halves: (&'static str, &'static str),
    why: &'static str,
}

const REGISTRY: &str = "name the package and let its client find the registry";
const MACHINE: &str = "a path of one machine: write a path from the root of the repository";
const AUTHOR: &str = "a file says what it does, not who or what wrote it";

const WORDS: [Word; 17] = [
    Word { halves: ("crates", ".io"), why: REGISTRY },
    Word { halves: ("pypi", ".org"), why: REGISTRY },
    Word { halves: ("python", "hosted.org"), why: REGISTRY },
    Word { halves: ("npm", "js.org"), why: REGISTRY },
    Word { halves: ("npm", "js.com"), why: REGISTRY },
    Word { halves: ("proxy", ".golang.org"), why: REGISTRY },
    Word { halves: ("sum", ".golang.org"), why: REGISTRY },
    Word { halves: ("deb", ".debian.org"), why: REGISTRY },
    Word { halves: ("/wo", "rk/"), why: MACHINE },
    Word { halves: ("/ro", "ot/"), why: MACHINE },
    Word { halves: ("/ho", "me/"), why: MACHINE },
    Word { halves: ("co-authored", "-by"), why: AUTHOR },
    Word { halves: ("generated", " by ai"), why: AUTHOR },
    Word { halves: ("language", " model"), why: AUTHOR },
    Word { halves: ("chat", "gpt"), why: AUTHOR },
    Word { halves: ("clau", "de"), why: AUTHOR },
    Word { halves: ("co", "pilot"), why: AUTHOR },
];

/// Lock files are written by their tools, and hold what their tools put there.
const UNREAD: [&str; 2] = ["Cargo.lock", "go.sum"];

/// Reports every banned word, whatever its case.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let words: Vec<(String, &str)> = WORDS
        .iter()
        .map(|word| (format!("{}{}", word.halves.0, word.halves.1), word.why))
        .collect();
    let mut findings = Vec::new();
    for file in &tree.files {
        if UNREAD.iter().any(|name| file.path.ends_with(name)) {
            continue;
        }
        for (number, line) in file.numbered() {
            let line = line.to_lowercase();
            for (word, why) in words.iter().filter(|(word, _)| stands_alone(&line, word)) {
                let text = format!("`{word}`: {why}");
                findings.push(Finding::fail(&file.path, number, "banned word", text));
            }
        }
    }
    findings
}

/// True if `line` holds `word` and no letter, digit, dot or dash comes right before it.
fn stands_alone(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let continues = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let path_goes_on = word.starts_with('/') && line[..at].ends_with('.');
        !path_goes_on && !line[..at].ends_with(continues)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn each_word_is_found_in_any_case() {
        for word in &WORDS {
            let text = format!("See {}{}.", word.halves.0, word.halves.1.to_uppercase());
            assert_eq!(count("a.txt", &text), 1, "{text}");
        }
    }

    #[test]
    fn parts_of_longer_words_and_lock_files_are_left_alone() {
        let (first, second) = WORDS[8].halves;
        assert_eq!(count("a.md", &format!("target{first}{second}file")), 0);
        assert_eq!(count("a.md", &format!("..{first}{second}file")), 0);
        assert_eq!(count("Cargo.lock", &format!("{first}{second}")), 0);
    }
}
