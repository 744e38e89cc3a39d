//! Client sides of the two protocols, as cheap on processor time as they can be: the load shares
//! the machine with the server it loads.

pub mod beanstalkd;
pub mod sqs;
