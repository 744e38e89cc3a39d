//! The beanstalkd protocol: bytes to commands, replies to bytes.
