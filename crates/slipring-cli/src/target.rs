//! What the queue verbs work on: a server's admin API, or a store through the same API in this
//! process.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use slipring::{Engine, Obstacles};
use slipring_server::admin::model::{Progress, QueuePage, QueueView};
use slipring_server::admin::{self, Api, MayRetry};
use tokio::net::TcpStream;

use crate::audit::{self, AuditArgs};
use crate::failure::Failure;
use crate::logging::{self, LogFormat};
use crate::settings::{FileSettings, Listen};
use crate::store::{StoreParser, StoreSpec};

/// Where the server's admin address is looked for when no flag names it.
const ADMIN: &str = "SLIPRING_ADMIN";
/// Longest line of a long operation's answer: one that answers 1,000 messages one by one.
const LINE_BYTES_MAX: usize = 4 << 20;

/// Where a verb's queues are, and how it prints.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// The server's admin address [env: SLIPRING_ADMIN] [default: that of the configuration file,
    /// else 127.0.0.1:9325]
    // The environment is read by hand: a --store beats it, and is refused beside the flag only.
    #[arg(long, value_name = "ADDR", conflicts_with = "store")]
    admin: Option<String>,
    /// The server's admin token
    #[arg(long, value_name = "TOKEN", env = "SLIPRING_ADMIN_TOKEN", hide_env_values = true)]
    admin_token: Option<String>,
    /// Work on this store without a server: sqlite:PATH or postgres://…
    #[arg(long, value_name = "STORE", value_parser = StoreParser)]
    store: Option<StoreSpec>,
    /// Configuration file; default ./slipring.toml if there, else /etc/slipring/slipring.toml
    #[arg(long, value_name = "FILE", env = "SLIPRING_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    audit: AuditArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What becomes of a store that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Make {
    /// It is made.
    Yes,
    /// It is an error.
    No,
    /// It is an error; what holds one up that is there is looked for first.
    NoButLook,
}

impl TargetArgs {
    /// Gets ready to call. A file has to be there already.
    ///
    /// # Errors
    /// A wrong address, a configuration or a file that cannot be used.
    pub async fn open(&self) -> Result<Target, Failure> {
        Ok(self.open_at(Make::No).await?.0)
    }

    /// As [`TargetArgs::open`]; of a store without a server it is answered too what held it up
    /// before this call has done anything.
    ///
    /// # Errors
    /// As [`TargetArgs::open`].
    pub async fn open_after_look(&self) -> Result<(Target, Option<Obstacles>), Failure> {
        self.open_at(Make::NoButLook).await
    }

    /// As [`TargetArgs::open`], but makes the file when it is not there.
    ///
    /// # Errors
    /// As [`TargetArgs::open`].
    pub async fn open_or_make(&self) -> Result<Target, Failure> {
        Ok(self.open_at(Make::Yes).await?.0)
    }

    async fn open_at(&self, make: Make) -> Result<(Target, Option<Obstacles>), Failure> {
        let Some(store) = &self.store else {
            let found = FileSettings::find(self.config.as_deref())?;
            let token = self.admin_token.clone().or(found.values.admin_token);
            let token = token.filter(|token| !token.is_empty());
            let listen = found.values.admin.map(|listen| listen.to_string());
            let address = self.address(listen, found.path.as_deref())?;
            return Ok((Target::Server { address, token }, None));
        };
        match store {
            StoreSpec::Memory => {
                let text = "--store memory: holds nothing before and after this call; name a file";
                return Err(Failure::usage(text));
            }
            StoreSpec::Sqlite(path) if make != Make::Yes && !path.exists() => {
                let path = path.display();
                return Err(Failure::failed(format!("--store sqlite:{path}: no such file")));
            }
            StoreSpec::Sqlite(_) | StoreSpec::Postgres(_) => {}
        }
        // What the store warns of would be lost otherwise.
        logging::start("warn", LogFormat::Human)?;
        let audit_file = self.audit.open()?;
        let (engine, seen) = match make {
            Make::NoButLook => {
                let (engine, seen) = store.open_after_look().await?;
                (engine, Some(seen))
            }
            Make::Yes | Make::No => (store.open(make == Make::Yes).await?, None),
        };
        let api = Api::audited(engine.clone(), audit_file, audit::me());
        Ok((Target::File { api, engine }, seen))
    }

    /// The server's address: the flag's, else the environment's, else that of the file.
    fn address(&self, listen: Option<String>, path: Option<&Path>) -> Result<String, Failure> {
        let (from, address) = if let Some(address) = &self.admin {
            ("--admin".to_owned(), address.clone())
        } else if let Some(address) = std::env::var_os(ADMIN).filter(|text| !text.is_empty()) {
            let text = address.into_string();
            let text = text.map_err(|_| Failure::usage(format!("{ADMIN}: the address is no text")));
            (ADMIN.to_owned(), text?)
        } else if let Some(address) = listen {
            let path = path.unwrap_or(Path::new("")).display();
            (format!("configuration {path}: admin"), address)
        } else {
            return Ok(Listen::loopback(9325).to_string());
        };
        if address == Listen::Off.to_string() {
            return Err(Failure::usage(format!(
                "{from} is {address}: the configured server has no admin listener; use --store \
                 STORE, or --admin ADDR for another server"
            )));
        }
        let address = address.trim_start_matches("http://").trim_end_matches('/');
        // A store, maybe with a password: it is not repeated, nor asked for as a host.
        if address.contains(['@', '/']) {
            return Err(Failure::usage(format!(
                "{from}: it is no HOST:PORT of a server's admin listener; use --store STORE for a \
                 store"
            )));
        }
        Ok(address.to_owned())
    }
}

/// A server, or a file.
pub enum Target {
    /// The admin API of a server.
    Server {
        /// Host and port.
        address: String,
        /// The bearer token.
        token: Option<String>,
    },
    /// The same API over a file.
    File {
        /// The API.
        api: Api,
        /// What it works on.
        engine: Engine,
    },
}

type Answer = Response<UnsyncBoxBody<Bytes, Failure>>;

impl Target {
    /// The queues whose names begin with `prefix`, by name, of so many pages at most; and whether
    /// these are all.
    ///
    /// # Errors
    /// What the API says; no answer at all.
    pub async fn queues(
        &self,
        prefix: &str,
        pages_max: usize,
    ) -> Result<(Vec<QueueView>, bool), Failure> {
        let (mut queues, mut after) = (Vec::new(), String::new());
        for _ in 0..pages_max {
            let path = format!("/v1/queues?prefix={}&after={}", encoded(prefix), encoded(&after));
            let page: QueuePage = self.get(&path).await?;
            queues.extend(page.queues);
            match page.next {
                Some(next) => after = next,
                None => return Ok((queues, true)),
            }
        }
        Ok((queues, false))
    }

    /// Calls an operation and reads its JSON answer.
    ///
    /// # Errors
    /// What the API says; no answer at all.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let answer = self.answer(method, path, body).await?;
        let bytes = answer.into_body().collect().await?.to_bytes();
        parse(if bytes.is_empty() { b"null" } else { &bytes })
    }

    /// Reads.
    ///
    /// # Errors
    /// As [`Target::call`].
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.call(Method::GET, path, &()).await
    }

    /// Calls a long operation; `progress` hears every line before the last, which is answered.
    ///
    /// # Errors
    /// As [`Target::call`]; what the last line says went wrong.
    pub async fn follow(
        &self,
        path: &str,
        body: &impl Serialize,
        mut progress: impl FnMut(&Progress),
    ) -> Result<Progress, Failure> {
        let mut done = 0;
        let mut body = self.answer(Method::POST, path, body).await?.into_body();
        let mut pending = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|failure| so_far(failure, done))?;
            let Ok(data) = frame.into_data() else { continue };
            pending.extend_from_slice(&data);
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                let line: Progress = parse(&line).map_err(|failure| so_far(failure, done))?;
                match (&line.error, line.done) {
                    // An older server says 0 beside its error.
                    (Some(error), _) => {
                        return Err(so_far(refusal(error), done.max(line.messages)));
                    }
                    (None, true) => return Ok(line),
                    (None, false) => {
                        done = line.messages;
                        progress(&line);
                    }
                }
            }
            if pending.len() > LINE_BYTES_MAX {
                let failure = "the server answers with something else than lines";
                return Err(so_far(Failure::failed(failure), done));
            }
        }
        let ended = Failure::failed("the answer ended before the operation was done");
        Err(so_far(ended.unknown(), done))
    }

    /// Closes the file. To be called at the end of a verb that went well.
    pub async fn close(self) {
        if let Target::File { engine, .. } = self {
            engine.shutdown().await;
        }
    }

    async fn answer(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answer, Failure> {
        let body = match method {
            Method::GET | Method::DELETE => Vec::new(),
            _ => serde_json::to_vec(body).map_err(Failure::failed)?,
        };
        let request = Request::builder().method(method).uri(path);
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.body(Bytes::from(body)).map_err(Failure::failed)?;
        let answer = match self {
            Target::Server { address, token } => ask(address, token.as_deref(), request).await?,
            Target::File { api, .. } => {
                api.call(request).await.map(|body| body.map_err(broken).boxed_unsync())
            }
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let bytes = answer.into_body().collect().await?.to_bytes();
        match serde_json::from_slice::<admin::Failure>(&bytes) {
            Ok(error) => Err(refusal(&error)),
            Err(_) => {
                let failure = Failure::failed(format!("the server answered {status}"));
                Err(if status.is_server_error() { failure.unknown() } else { failure })
            }
        }
    }
}

/// Sends a request to a server, on a connection of its own.
async fn ask(
    address: &str,
    token: Option<&str>,
    request: Request<Bytes>,
) -> Result<Answer, Failure> {
    let lost = |error: &dyn std::fmt::Display| {
        Failure::failed(format!(
            "no server answers at {address} ({error}); start one with `slipring serve`, name \
             another with --admin ADDR, or work on a file with --store sqlite:PATH"
        ))
    };
    let stream = TcpStream::connect(address).await.map_err(|error| lost(&error))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| lost(&error))?;
    // Ends with the connection; what goes wrong on it, the answer says.
    tokio::spawn(connection);
    let (mut parts, body) = request.into_parts();
    let header = |text: &str| http::HeaderValue::from_str(text).map_err(Failure::usage);
    parts.headers.insert(HOST, header(address)?);
    if let Some(token) = token {
        parts.headers.insert(AUTHORIZATION, header(&format!("Bearer {token}"))?);
    }
    let request = Request::from_parts(parts, Full::new(body));
    let answer = sender.send_request(request).await.map_err(|error| match error.is_canceled() {
        // It was not sent.
        true => lost(&error),
        false => lost(&error).unknown(),
    })?;
    Ok(answer.map(|body| body.map_err(broken).boxed_unsync()))
}

/// The error of an answer that did not come whole.
fn broken(error: impl Display) -> Failure {
    Failure::failed(error).unknown()
}

/// The failure of a long operation that had done so much.
fn so_far(failure: Failure, messages: u64) -> Failure {
    match messages {
        0 => failure,
        _ => failure.with(format!("{messages} messages were done before it")),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::failed(format!("the server's answer: {error}")))
}

/// The API's error in one line.
pub fn refusal(error: &admin::Failure) -> Failure {
    let mut text = error.message.clone();
    let facts: Vec<String> =
        error.context.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if !facts.is_empty() {
        text.push_str(&format!(" ({})", facts.join(", ")));
    }
    match error.retry {
        MayRetry::Unknown => Failure::failed(text).unknown(),
        MayRetry::Never | MayRetry::Later => Failure::failed(text),
    }
}

/// The path of something of a queue.
pub fn queue_path(queue: &str, rest: &str) -> String {
    format!("/v1/queues/{}{rest}", encoded(queue))
}

/// A text as a part of a path or the value of a parameter.
pub fn encoded(text: &str) -> impl Display {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}
