//! The SQLite store of Slipring: one durable file.
