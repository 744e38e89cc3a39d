//! How many tests passed, read from the last lines of pytest, of TAP and of `go test -v`.

use std::fmt;

/// Tests by what became of them. Excluded ones were deselected or skipped, each with its reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: usize,
    pub failed: usize,
    pub excluded: usize,
}

impl Count {
    /// True if something ran and nothing failed.
    pub fn is_clean(&self) -> bool {
        self.passed > 0 && self.failed == 0
    }
}

impl fmt::Display for Count {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.passed + self.failed + self.excluded;
        write!(out, "{} of {all} passed", self.passed)?;
        if self.failed > 0 {
            write!(out, ", {} failed", self.failed)?;
        }
        write!(out, ", {} excluded", self.excluded)
    }
}

/// Reads pytest's last line: `2 failed, 148 passed, 14 skipped, 3 deselected in 20.33s`.
pub fn pytest(output: &str) -> Count {
    let mut count = Count::default();
    let last = output.lines().rev().find(|line| line.contains(" in ") && line.contains('s'));
    let words: Vec<&str> = last.unwrap_or_default().split([' ', ',']).collect();
    for pair in words.windows(2) {
        let [number, word] = pair else { continue };
        let Ok(number) = number.parse::<usize>() else { continue };
        match *word {
            "passed" => count.passed += number,
            "failed" | "error" | "errors" => count.failed += number,
            "skipped" | "deselected" | "xfailed" => count.excluded += number,
            _ => {}
        }
    }
    count
}

/// The lines that say which tests were excluded and why, whatever wrote them.
pub fn exclusions(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter(|line| {
        let said = ["EXCLUDED ", "SKIPPED ", "--- SKIP: "];
        said.iter().any(|word| line.starts_with(word)) || line.contains(" # SKIP ")
    })
}

/// Reads the totals at the end of TAP output: `# pass 12`. Mocha's have none of skipped tests.
pub fn tap(output: &str) -> Count {
    let skips = output.lines().filter(|line| line.starts_with("ok ") && line.contains(" # SKIP "));
    let total = |name: &str| {
        let lines = output.lines().filter_map(|line| line.strip_prefix("# "));
        let mut numbers = lines.filter_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        numbers.next_back()
    };
    let or_none = |name| total(name).unwrap_or(0);
    Count {
        passed: or_none("pass "),
        failed: or_none("fail ") + or_none("cancelled "),
        excluded: total("skipped ").unwrap_or_else(|| skips.count()) + or_none("todo "),
    }
}

/// Counts the verdict lines of `go test -v`: `--- PASS: TestPut (0.00s)`.
pub fn go(output: &str) -> Count {
    let verdicts = |word: &str| {
        let start = format!("--- {word}: ");
        output.lines().filter(|line| line.trim_start().starts_with(&start)).count()
    };
    Count { passed: verdicts("PASS"), failed: verdicts("FAIL"), excluded: verdicts("SKIP") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytest_tells_its_counts_in_the_last_line() {
        let output = "FAILED a.py::b - 3 failed in words\n\
                      2 failed, 148 passed, 14 skipped, 3 deselected, 12 warnings in 20.33s\n";
        assert_eq!(pytest(output), Count { passed: 148, failed: 2, excluded: 17 });
        let banner = "==== 1 error, 5 passed in 0.10s ====";
        assert_eq!(pytest(banner), Count { passed: 5, failed: 1, excluded: 0 });
        assert!(!pytest("no tests ran in 0.01s").is_clean());
    }

    #[test]
    fn tap_tells_its_totals_as_comments() {
        let output = "ok 1 - a\n# Subtest: # pass 9\n# tests 4\n# pass 2\n# fail 1\n\
                      # cancelled 1\n# skipped 1\n# todo 0\n";
        assert_eq!(tap(output), Count { passed: 2, failed: 2, excluded: 1 });
        let mocha = "ok 1 a\nok 2 b # SKIP -\nnot ok 3 c\n# tests 2\n# pass 1\n# fail 1\n1..3\n";
        assert_eq!(tap(mocha), Count { passed: 1, failed: 1, excluded: 1 });
    }

    #[test]
    fn the_reasons_of_exclusions_are_found() {
        let output = "EXCLUDED a: b\nSKIPPED [2] a.py:3: b\nok 1 - a # SKIP b\nok 2 - # SKIPPER\n";
        assert_eq!(exclusions(output).count(), 3);
    }

    #[test]
    fn go_tells_a_verdict_for_each_test() {
        let output = "=== RUN TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.1s)\nFAIL\n";
        assert_eq!(go(output), Count { passed: 1, failed: 1, excluded: 0 });
    }
}
