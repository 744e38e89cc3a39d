//! Load driver, workloads, targets and reports for Slipring and its peers.
