//! The SQS and beanstalkd protocols: bytes to commands and back; no sockets, no store.

pub mod beanstalkd;
pub mod sqs;
