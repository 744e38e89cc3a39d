//! The slipring binary: serve, beanstalkd, queue, send, receive and the rest.

fn main() {}
