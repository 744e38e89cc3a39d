//! The SQS protocol, JSON and query: requests to actions, answers and errors to bytes.
