//! Listeners, sessions, admin API and metrics of the Slipring server, as a library.

pub mod beanstalkd;
