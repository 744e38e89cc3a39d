//! What is wrong in a configuration that can be read, as far as it shows without opening anything.

use slipring_server::listen::{Reach, Request};

use crate::failure::Failure;

use super::{Setting, Settings, of_source};

/// A shorter admin token is refused.
const TOKEN_CHARACTERS_MIN: usize = 16;

/// What lets a listener be reached from elsewhere.
const ADD_INSECURE: &str = "add --insecure if they may, or listen on 127.0.0.1";
const ADD_TOKEN: &str = "set a token with --admin-token TOKEN, add --insecure if none is \
                         needed, or listen on 127.0.0.1";

impl Settings {
    /// How the listener of SQS is asked for, unless it is off.
    pub fn sqs_request(&self) -> Option<Request<'_>> {
        let (address, reach) = (self.sqs.value.address()?, self.reach(false));
        Some(Request { usage: "--sqs ADDR", address, reach, remedy: ADD_INSECURE })
    }

    /// How the listener of beanstalkd is asked for, unless it is off.
    pub fn beanstalkd_request(&self) -> Option<Request<'_>> {
        let (address, reach) = (self.beanstalkd.value.address()?, self.reach(false));
        Some(Request { usage: "--beanstalkd ADDR", address, reach, remedy: ADD_INSECURE })
    }

    /// How the listener of the admin API is asked for, unless it is off.
    pub fn admin_request(&self) -> Option<Request<'_>> {
        let reach = self.reach(!self.admin_token.value.is_empty());
        let address = self.admin.value.address()?;
        Some(Request { usage: "--admin ADDR", address, reach, remedy: ADD_TOKEN })
    }

    fn reach(&self, credentials: bool) -> Reach {
        if credentials || self.entrance.insecure.value { Reach::Anybody } else { Reach::Loopback }
    }

    /// Refuses listeners that no server could have, whatever the machine.
    ///
    /// # Errors
    /// That nothing listens, an address that others can reach without leave, a Unix socket for
    /// HTTP.
    pub fn check_listeners(&self) -> Result<(), Failure> {
        let beanstalkd = self.beanstalkd_request();
        let http = [self.sqs_request(), self.admin_request()];
        if beanstalkd.is_none() && http.iter().all(Option::is_none) {
            return Err(Failure::usage("every listener is off; there is nothing to serve"));
        }
        beanstalkd.map_or(Ok(()), Request::check)?;
        http.into_iter().flatten().try_for_each(Request::check_tcp)?;
        Ok(())
    }
}

/// Refuses a limit of no connections.
pub(super) fn check_connections(most: &Setting<usize>) -> Result<(), Failure> {
    if most.value > 0 {
        return Ok(());
    }
    let source = of_source("connections_max", &most.source);
    Err(Failure::usage(format!("connections_max ({source}) is 0; use at least 1")))
}

/// Refuses a token that can be guessed, or that no client can send; the error does not repeat it.
pub(super) fn check_token(token: &Setting<String>) -> Result<(), Failure> {
    let text = &token.value;
    let length = text.chars().count();
    let wrong = if length == 0 {
        return Ok(());
    } else if length < TOKEN_CHARACTERS_MIN {
        format!("has {length} characters; use at least {TOKEN_CHARACTERS_MIN} random ones")
    } else if text.trim() != text || !text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        let text = "has characters that a header does not carry; use visible ASCII, without \
                    blanks at its ends";
        text.to_owned()
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "admin_token ({}) {wrong}, such as the output of `openssl rand -hex 16`",
        of_source("admin_token", &token.source)
    )))
}
