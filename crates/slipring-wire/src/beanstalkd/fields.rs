//! A command line read field by field: numbers and names, separated by spaces.

use super::name::{TubeName, is_name_byte};
use super::refusal::Refusal;

/// The part of a line not read yet.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Fields<'a> {
        Fields { rest }
    }

    fn skip_spaces(&mut self) {
        while let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// A decimal number after any spaces. No sign; stops at the first byte that is no digit.
    pub(super) fn number(&mut self) -> Result<u64, Refusal> {
        self.skip_spaces();
        let mut number: u64 = 0;
        let mut rest = self.rest;
        while let [byte @ b'0'..=b'9', tail @ ..] = rest {
            number = number
                .checked_mul(10)
                .and_then(|n| n.checked_add(u64::from(byte - b'0')))
                .ok_or(Refusal::BadFormat)?;
            rest = tail;
        }
        if rest.len() == self.rest.len() {
            return Err(Refusal::BadFormat);
        }
        self.rest = rest;
        Ok(number)
    }

    /// A number of at most 2³²−1.
    pub(super) fn number_u32(&mut self) -> Result<u32, Refusal> {
        u32::try_from(self.number()?).map_err(|_| Refusal::BadFormat)
    }

    /// A tube name after any spaces, up to the first byte that no name has.
    pub(super) fn name(&mut self) -> Result<TubeName, Refusal> {
        self.skip_spaces();
        let end = self.rest.iter().position(|&byte| !is_name_byte(byte));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        TubeName::from_bytes(name).map_err(|_| Refusal::BadFormat)
    }

    /// The whole rest as a tube name; no space before or after it.
    pub(super) fn only_name(self) -> Result<TubeName, Refusal> {
        TubeName::from_bytes(self.rest).map_err(|_| Refusal::BadFormat)
    }

    /// Nothing may be left, not even a space.
    pub(super) fn end(self) -> Result<(), Refusal> {
        if self.rest.is_empty() { Ok(()) } else { Err(Refusal::BadFormat) }
    }

    /// One number and nothing else: the only argument of most commands.
    pub(super) fn only_number(mut self) -> Result<u64, Refusal> {
        let number = self.number()?;
        self.end()?;
        Ok(number)
    }
}
