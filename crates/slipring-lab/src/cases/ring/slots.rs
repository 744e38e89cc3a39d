//! Tickets, the slots they lead to, and the messages in them.

use anyhow::{Context, Result, bail};

/// Bytes of a message, as published.
pub const MESSAGE_BYTES: usize = 300;
/// Its first bytes are its number in decimal digits.
const NUMBER_BYTES: usize = 20;

/// The sizes of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// Slots, made before the measurement.
    pub slots: i64,
    /// So many tickets, from 0 on, have a message to begin with.
    pub backlog: i64,
    /// Tickets that a sequence hands to a session (or to the server) at a time.
    pub cache: i64,
}

/// Which table a design works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// A queue table: a push is a row at the right edge of the key, a pop removes the first.
    RightEdge,
    /// A ring whose next slot is the neighbour.
    Neighbours,
    /// A ring whose keys are the slot numbers with their bits reversed.
    Reversed,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 3] = [Table::RightEdge, Table::Neighbours, Table::Reversed];

    /// Its name in names of files and databases.
    pub fn name(self) -> &'static str {
        match self {
            Table::RightEdge => "right_edge",
            Table::Neighbours => "neighbours",
            Table::Reversed => "reversed",
        }
    }
}

/// Where the numbers of slots come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tickets {
    /// A sequence that hands out many at a time.
    Sequence,
    /// A table's identity, which hands out one at a time.
    Identity,
}

/// A published design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    /// What it works on.
    pub table: Table,
    /// Where its tickets come from; a table without slots needs none.
    pub tickets: Tickets,
}

impl Design {
    /// All of them, in the order in which they were published.
    pub const ALL: [Design; 4] = [
        Design { table: Table::RightEdge, tickets: Tickets::Sequence },
        Design { table: Table::Neighbours, tickets: Tickets::Sequence },
        Design { table: Table::Reversed, tickets: Tickets::Sequence },
        Design { table: Table::Reversed, tickets: Tickets::Identity },
    ];

    /// Its name in tables and plots.
    pub fn name(self) -> &'static str {
        match (self.table, self.tickets) {
            (Table::RightEdge, _) => "right edge",
            (Table::Neighbours, Tickets::Sequence) => "ring, neighbours, sequence",
            (Table::Neighbours, Tickets::Identity) => "ring, neighbours, identity",
            (Table::Reversed, Tickets::Sequence) => "ring, bits reversed, sequence",
            (Table::Reversed, Tickets::Identity) => "ring, bits reversed, identity",
        }
    }
}

impl Ring {
    /// The key of a ticket's slot.
    pub fn slot(&self, table: Table, ticket: i64) -> i64 {
        let place = ticket % self.slots;
        match table {
            Table::Reversed => (place.reverse_bits() >> (i64::BITS - self.bits())) & self.mask(),
            Table::RightEdge | Table::Neighbours => place,
        }
    }

    /// How often the ring has gone round before a ticket.
    pub fn lap(&self, ticket: i64) -> i64 {
        ticket / self.slots
    }

    /// Bits of the largest slot number.
    pub fn bits(&self) -> u32 {
        i64::BITS - (self.slots - 1).max(1).leading_zeros()
    }

    fn mask(&self) -> i64 {
        (1 << self.bits()) - 1
    }

    /// All tickets of the first lap in the order of their slots.
    pub fn tickets_by_slot(&self, table: Table) -> impl Iterator<Item = i64> {
        let ring = *self;
        let keys = 0..ring.keys(table);
        // Bits that are reversed twice are as before.
        let whole = Ring { slots: ring.mask() + 1, ..ring };
        let ticket = move |key| match table {
            Table::Reversed => whole.slot(table, key),
            Table::RightEdge | Table::Neighbours => key,
        };
        keys.map(ticket).filter(move |ticket| *ticket < ring.slots)
    }

    /// Keys of a table, used or not: with reversed bits some are left out.
    fn keys(&self, table: Table) -> i64 {
        match table {
            Table::Reversed => self.mask() + 1,
            Table::RightEdge | Table::Neighbours => self.slots,
        }
    }

    /// A statement for a table, with the sizes written into it.
    pub fn written_into(&self, table: Table, statement: &str) -> String {
        statement
            .replace(":last_of_backlog", &(self.backlog - 1).to_string())
            .replace(":last", &(self.keys(table) - 1).to_string())
            .replace(":keys", &self.keys(table).to_string())
            .replace(":backlog", &self.backlog.to_string())
            .replace(":slots", &self.slots.to_string())
            .replace(":bits", &self.bits().to_string())
            .replace(":cache", &self.cache.to_string())
    }
}

/// The message of a number, in a text that is used again and again.
pub fn write_message(text: &mut String, number: i64) {
    use std::fmt::Write;
    text.clear();
    // Writing into a text does not fail.
    let _ = write!(text, "{number:0NUMBER_BYTES$}");
    text.extend(std::iter::repeat_n('.', MESSAGE_BYTES - NUMBER_BYTES));
}

/// The number of a message.
///
/// # Errors
/// When it is no whole message.
pub fn number_of(message: &str) -> Result<i64> {
    if message.len() != MESSAGE_BYTES {
        bail!("a message of {} bytes, not {MESSAGE_BYTES}", message.len());
    }
    let digits = message.get(..NUMBER_BYTES).context("a message without a number")?;
    digits.parse().with_context(|| format!("a message that begins with {digits:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversed_slots_are_far_apart_and_each_is_used_once() {
        let ring = Ring { slots: 2000, backlog: 1000, cache: 10 };
        assert_eq!(ring.bits(), 11);
        assert_eq!(ring.slot(Table::Reversed, 1), 1024);
        assert_eq!(ring.slot(Table::Reversed, 2), 512);
        assert_eq!(ring.slot(Table::Reversed, 2001), 1024);
        assert_eq!(ring.lap(2001), 1);
        for table in Table::ALL {
            let tickets: Vec<i64> = ring.tickets_by_slot(table).collect();
            assert_eq!(tickets.len(), 2000);
            let slots: Vec<i64> = tickets.iter().map(|t| ring.slot(table, *t)).collect();
            assert!(slots.is_sorted_by(|a, b| a < b), "{table:?}");
        }
        assert_eq!(Ring { slots: 2_000_000, ..ring }.bits(), 21);
    }

    #[test]
    fn a_message_has_its_number_and_its_length() {
        let mut text = String::new();
        write_message(&mut text, 7 << 40);
        assert_eq!(text.len(), MESSAGE_BYTES);
        assert_eq!(number_of(&text).unwrap(), 7 << 40);
        assert!(number_of(&text[1..]).is_err());
        assert!(number_of(&"x".repeat(300)).is_err());
    }

    #[test]
    fn sizes_are_written_into_statements() {
        let ring = Ring { slots: 2000, backlog: 1000, cache: 10 };
        let text = ":slots :keys :last :last_of_backlog :backlog :bits :cache";
        let written = |table| ring.written_into(table, text);
        assert_eq!(written(Table::Neighbours), "2000 2000 1999 999 1000 11 10");
        assert_eq!(written(Table::Reversed), "2000 2048 2047 999 1000 11 10");
    }
}
