//! Values for the parameters of a user's statement, made anew for each turn.

use std::str::FromStr;

/// How the value of one parameter is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameter {
    /// `n`: the number of the turn, from 0.
    Number,
    /// `thread`: the number of the thread, from 0.
    Thread,
    /// `random:LOW..HIGH`: a whole number from LOW to HIGH, both included.
    Random { low: i64, high: i64 },
    /// `=TEXT`: this text.
    Text(String),
}

/// The value of one parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Parameter, String> {
        if let Some(text) = text.strip_prefix('=') {
            return Ok(Parameter::Text(text.to_owned()));
        }
        match text {
            "n" => return Ok(Parameter::Number),
            "thread" => return Ok(Parameter::Thread),
            _ => {}
        }
        let range = text.strip_prefix("random:").and_then(|range| range.split_once(".."));
        let numbers = range.and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
        match numbers {
            Some((low, high)) if low <= high => Ok(Parameter::Random { low, high }),
            _ => Err(format!("{text:?} is no parameter; use n, thread, random:LOW..HIGH or =TEXT")),
        }
    }
}

/// Makes the values of one thread.
#[derive(Debug, Clone)]
pub struct Parameters {
    list: Vec<Parameter>,
    thread: i64,
    state: u64,
}

impl Parameters {
    /// For a thread; the same seed gives the same values.
    pub fn new(list: &[Parameter], thread: usize, seed: u64) -> Parameters {
        let state = seed ^ (thread as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Parameters { list: list.to_vec(), thread: thread as i64, state }
    }

    /// The values of a turn.
    pub fn values(&mut self, number: u64) -> Vec<Value> {
        let (thread, state) = (self.thread, &mut self.state);
        let value = |parameter: &Parameter| match parameter {
            Parameter::Number => Value::Number(number as i64),
            Parameter::Thread => Value::Number(thread),
            Parameter::Random { low, high } => Value::Number(between(state, *low, *high)),
            Parameter::Text(text) => Value::Text(text.clone()),
        };
        self.list.iter().map(value).collect()
    }
}

/// A number from `low` to `high` by splitmix64, which is even enough for choosing rows.
fn between(state: &mut u64, low: i64, high: i64) -> i64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let span = u128::from(high.abs_diff(low)) + 1;
    let offset = (u128::from(mixed ^ (mixed >> 31)) * span) >> 64;
    low.wrapping_add(offset as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_read_as_they_are_written() {
        let read = |text: &str| text.parse::<Parameter>();
        assert_eq!(read("n"), Ok(Parameter::Number));
        assert_eq!(read("thread"), Ok(Parameter::Thread));
        assert_eq!(read("random:-5..5"), Ok(Parameter::Random { low: -5, high: 5 }));
        assert_eq!(read("=n"), Ok(Parameter::Text("n".into())));
        for wrong in ["", "x", "random:5..1", "random:5", "random:a..b"] {
            assert!(read(wrong).unwrap_err().contains("random:LOW..HIGH"), "{wrong}");
        }
    }

    #[test]
    fn random_values_fill_their_range_and_repeat_with_the_seed() {
        let list = [Parameter::Random { low: 1, high: 10 }, Parameter::Number];
        let draw = |seed| -> Vec<_> {
            let mut parameters = Parameters::new(&list, 3, seed);
            (0..1000).map(|number| parameters.values(number)).collect()
        };
        let drawn = draw(7);
        for wanted in 1..=10 {
            let count = drawn.iter().filter(|values| values[0] == Value::Number(wanted)).count();
            assert!(count > 50, "{wanted}: {count}");
        }
        assert_eq!(drawn[999][1], Value::Number(999));
        assert_eq!(drawn, draw(7));
        assert_ne!(drawn, draw(8));
        let mut all = 0;
        between(&mut all, i64::MIN, i64::MAX);
    }
}
