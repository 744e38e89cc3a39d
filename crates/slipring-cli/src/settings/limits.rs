//! How many, how much and how long: the limits of a server, each a number above zero.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use slipring_server::deadlines::Deadlines;

use super::{Layers, Row, Setting, row};

/// Declares the limits: flag and key, environment variable, default, and what it is.
macro_rules! limits {
    ($($key:ident $variable:literal $default:literal $help:literal;)*) => {
        /// The flags of the limits.
        #[derive(Debug, Args)]
        pub struct LimitsArgs {
            $(
                #[arg(long, value_name = "NUMBER", env = $variable)]
                #[arg(help = concat!($help, " [default: ", $default, "]"))]
                $key: Option<NonZeroU64>,
            )*
        }

        /// The table `[limits]` of the configuration file.
        #[derive(Debug, Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct FileLimits {
            $($key: Option<NonZeroU64>,)*
        }

        /// The limits that hold.
        #[derive(Debug)]
        pub struct Limits {
            $(#[doc = $help] pub $key: Setting<u64>,)*
        }

        impl Limits {
            pub(super) fn load(
                args: &LimitsArgs,
                file: &FileLimits,
                layers: &Layers<'_>,
            ) -> Limits {
                let number = |given: Option<NonZeroU64>| given.map(NonZeroU64::get);
                Limits {
                    $($key: layers.pick(
                        stringify!($key),
                        number(args.$key),
                        number(file.$key),
                        || $default,
                    ),)*
                }
            }

            pub(super) fn rows(&self) -> Vec<Row> {
                vec![$(row(stringify!($key), &self.$key),)*]
            }
        }
    };
}

limits! {
    peer_share_percent "SLIPRING_PEER_SHARE_PERCENT" 50
        "The part of connections-max that one address of another machine may have, in percent";
    arriving_bytes_max "SLIPRING_ARRIVING_BYTES_MAX" 134217728
        "Most bytes of requests that have come in part, of each protocol";
    leaving_bytes_max "SLIPRING_LEAVING_BYTES_MAX" 67108864
        "Most bytes of answers that clients have not read yet, of all protocols";
    idle_seconds_max "SLIPRING_IDLE_SECONDS_MAX" 60
        "An HTTP connection may be silent so long between two requests";
    beanstalkd_idle_seconds_max "SLIPRING_BEANSTALKD_IDLE_SECONDS_MAX" 3600
        "A beanstalkd connection that waits for no job and holds none may be silent so long";
    head_seconds_max "SLIPRING_HEAD_SECONDS_MAX" 10
        "The head of an HTTP request may take so long";
    request_seconds_max "SLIPRING_REQUEST_SECONDS_MAX" 60
        "The body of a request, or a whole beanstalkd command, may take so long";
    stalled_seconds_max "SLIPRING_STALLED_SECONDS_MAX" 10
        "A body may come too slowly, and an answer may find nothing read of it, for so long";
    rate_bytes_min "SLIPRING_RATE_BYTES_MIN" 1024
        "Bytes a second below which a body comes too slowly";
    watched_tubes_max "SLIPRING_WATCHED_TUBES_MAX" 1000
        "Most tubes that one beanstalkd connection may watch";
    tubes_max "SLIPRING_TUBES_MAX" 100000
        "Most tubes that are known at a time without a job in them";
}

impl Limits {
    /// The times of HTTP listeners.
    pub fn http_deadlines(&self) -> Deadlines {
        Deadlines {
            idle: Duration::from_secs(self.idle_seconds_max.value),
            head: Duration::from_secs(self.head_seconds_max.value),
            request: Duration::from_secs(self.request_seconds_max.value),
            rate_bytes_min: self.rate_bytes_min.value,
            stalled: Duration::from_secs(self.stalled_seconds_max.value),
        }
    }

    /// The times of the beanstalkd listener.
    pub fn beanstalkd_deadlines(&self) -> Deadlines {
        let idle = Duration::from_secs(self.beanstalkd_idle_seconds_max.value);
        Deadlines { idle, ..self.http_deadlines() }
    }

    /// The share of an address; more than all is all.
    pub fn peer_share(&self) -> u8 {
        u8::try_from(self.peer_share_percent.value.min(100)).unwrap_or(100)
    }
}

/// A number of bytes or things as the server counts them.
pub fn count(setting: &Setting<u64>) -> usize {
    usize::try_from(setting.value).unwrap_or(usize::MAX)
}
