//! A durable message and job queue: types, lifecycle, store contract, engine and worker.
