//! The executable meaning of docs/semantics.md: the suite every Slipring store passes.
