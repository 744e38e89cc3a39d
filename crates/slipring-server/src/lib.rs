//! Listeners, sessions, admin API and metrics of the Slipring server, as a library.

pub mod admin;
pub mod audit;
pub mod beanstalkd;
mod bodies;
mod browsers;
mod budget;
pub mod deadlines;
pub mod declared;
mod failures;
mod http;
pub mod listen;
mod metrics;
pub mod names;
mod pace;
mod places;
pub mod process;
pub mod proxies;
mod refusals;
mod resend;
pub mod server;
mod sockets;
pub mod sqs;

pub use server::{AdminOptions, BeanstalkdOptions, Server, ServerOptions, SqsOptions, Stopped};
