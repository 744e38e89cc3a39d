//! What is asked of a row, and whether it is met.

use serde::{Deserialize, Deserializer, Serialize};

/// One thing asked of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// What is asked, in words.
    pub target: String,
    /// The unit of both figures.
    pub unit: String,
    /// What was measured; not a number for what was not.
    #[serde(deserialize_with = "measured")]
    pub figure: f64,
    /// What was needed; likewise.
    #[serde(deserialize_with = "measured")]
    pub needed: f64,
    /// Ours divided by what it is compared with, where the target is such a ratio.
    pub ratio: Option<f64>,
    /// Whether it was met.
    pub pass: bool,
}

/// JSON writes null for what is not a number.
fn measured<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

impl Condition {
    /// A rate is at least `factor` times that of another, which is called `name`.
    pub fn times(own: f64, theirs: f64, name: &str, factor: f64) -> Condition {
        let target = format!("{factor} × {name}");
        let condition = Condition::at_least(target, "messages/s", own, factor * theirs);
        Condition { ratio: (theirs > 0.0).then(|| own / theirs), ..condition }
    }

    /// A figure is at least what is needed.
    pub fn at_least(target: String, unit: &str, figure: f64, needed: f64) -> Condition {
        let pass = figure >= needed && needed > 0.0;
        let target = format!("≥ {target}");
        Condition { target, unit: unit.into(), figure, needed, ratio: None, pass }
    }

    /// A figure is at most what is allowed.
    pub fn at_most(target: &str, unit: &str, figure: f64, needed: f64) -> Condition {
        let target = format!("{target} ≤ {}", number(needed));
        let pass = figure <= needed;
        Condition { target, unit: unit.into(), figure, needed, ratio: None, pass }
    }

    /// Whether it is missed when something takes long, as on a busy machine.
    pub fn limits_a_time(&self) -> bool {
        matches!(self.unit.as_str(), "ms" | "s") && self.target.contains('≤')
    }

    /// The target with its figures, on one line.
    pub fn text(&self) -> String {
        let ratio = self.ratio.map_or(String::new(), |ratio| format!("ratio {ratio:.2}"));
        format!(
            "{:<44} {:>12} of {:>12} {:<10} {:<12} {}",
            self.target,
            number(self.figure),
            number(self.needed),
            self.unit,
            ratio,
            if self.pass { "pass" } else { "MISS" }
        )
    }
}

/// A figure for people: thousands parted, digits after the point only where they matter.
pub fn number(figure: f64) -> String {
    if figure.is_nan() {
        return "?".to_owned();
    }
    if figure.abs() < 100.0 {
        return format!("{figure:.2}");
    }
    let digits = format!("{figure:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_meets_no_target() {
        assert!(!Condition::times(f64::NAN, f64::NAN, "raw", 0.5).pass);
        assert!(!Condition::at_most("memory", "MB", f64::NAN, 300.0).pass);
        assert!(Condition::at_most("memory", "MB", 300.0, 300.0).pass);
        assert!(!Condition::at_least("a rate".into(), "/s", 99.0, 100.0).pass);
    }

    #[test]
    fn figures_are_written_for_people() {
        let written = [0.756, 99.0, 300.0, 1234.4, 1_970_000.0].map(number);
        assert_eq!(written, ["0.76", "99.00", "300", "1,234", "1,970,000"]);
    }
}
