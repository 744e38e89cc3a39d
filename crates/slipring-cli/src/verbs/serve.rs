//! `slipring serve`: all protocols over one store.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::{ArgMatches, Args};
use slipring::{Durability, Engine};
use slipring_server::audit::{Act, Audit, Who};
use slipring_server::declared::DeclaredQueues;
use slipring_server::{
    AdminOptions, BeanstalkdOptions, ServerOptions, SqsOptions, admin, beanstalkd, process, sqs,
};
use tokio::net::TcpListener;

use crate::failure::Failure;
use crate::settings::{Settings, SettingsArgs, count};
use crate::{audit, logging};

use super::running;

#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    settings: SettingsArgs,
}

impl ServeArgs {
    pub async fn run(self, given: &ArgMatches) -> Result<(), Failure> {
        let format = self.settings.format_of_errors();
        self.serve(given).await.map_err(|failure| failure.shown_as(format))
    }

    async fn serve(self, given: &ArgMatches) -> Result<(), Failure> {
        let settings = Settings::load(self.settings, given)?;
        logging::start(&settings.logs.log.value, settings.logs.log_format.value)?;
        settings.check_listeners()?;
        running::run(start(&settings)).await
    }
}

/// Opens the listeners and then the store; answers what the server is started with, and its first
/// line.
async fn start(settings: &Settings) -> Result<(ServerOptions, String), Failure> {
    process::raise_open_files();
    let mut places = Vec::new();
    let sqs = sqs_listener(settings, &mut places).await?;
    let beanstalkd = beanstalkd_listener(settings, &mut places).await?;
    let admin = admin_listener(settings, &mut places).await?;
    let audit_file = settings.logs.audit_file.value.as_deref().map(audit::open).transpose()?;
    // The store comes last: a busy port must not touch the file.
    let engine = settings.store.value.open(true).await?;
    let audit = Audit::new(Arc::clone(engine.clock()), audit_file);
    declare(&settings.queues.value, &engine, &audit).await?;
    let ready = format!(
        "slipring is ready: {}, storing in {}",
        places.join(", "),
        settings.store.value.in_words(Durability::Full),
    );
    let leaving_bytes_max = Some(count(&settings.limits.leaving_bytes_max));
    let audit = Some(audit);
    let options = ServerOptions { engine, sqs, beanstalkd, admin, leaving_bytes_max, audit };
    Ok((options, ready))
}

/// Makes and changes the queues that the file declares, before the first client is served.
async fn declare(queues: &DeclaredQueues, engine: &Engine, audit: &Audit) -> Result<(), Failure> {
    let done = queues.declare(engine).await?;
    let who = Who { protocol: "configuration", ..audit::me() };
    for (act, names) in [(Act::Create, &done.made), (Act::Configure, &done.changed)] {
        for name in names {
            audit.queue(act, name.as_str(), None, &who);
        }
    }
    Ok(())
}

async fn sqs_listener(
    settings: &Settings,
    places: &mut Vec<String>,
) -> Result<Option<SqsOptions>, Failure> {
    let Some(request) = settings.sqs_request() else { return Ok(None) };
    let listener = request.tcp().await?;
    places.push(format!("SQS on http://{}", local(&listener)?));
    let settings = sqs::Settings {
        account: settings.account.value.clone(),
        region: settings.region.value.clone(),
        connections_max: settings.connections_max.value,
        peer_share_percent: settings.limits.peer_share(),
        arriving_bytes_max: count(&settings.limits.arriving_bytes_max),
        deadlines: settings.limits.http_deadlines(),
        names: settings.entrance.names(),
        public_url: settings.entrance.public_url.value.clone(),
        proxies: settings.entrance.trusted_proxy.value.clone(),
        minute_rules: settings.sqs_minute_rules.value,
        test_mode: settings.sqs_test_mode.value,
        ..sqs::Settings::default()
    };
    Ok(Some(SqsOptions { listener, settings }))
}

async fn beanstalkd_listener(
    settings: &Settings,
    places: &mut Vec<String>,
) -> Result<Option<BeanstalkdOptions>, Failure> {
    let Some(request) = settings.beanstalkd_request() else { return Ok(None) };
    let listener = request.any().await?;
    places.push(format!("beanstalkd on {}", listener.address()));
    let settings = beanstalkd::Settings {
        job_bytes_max: settings.job_bytes_max.value,
        connections_max: settings.connections_max.value,
        peer_share_percent: settings.limits.peer_share(),
        arriving_bytes_max: count(&settings.limits.arriving_bytes_max),
        deadlines: settings.limits.beanstalkd_deadlines(),
        watched_max: count(&settings.limits.watched_tubes_max),
        tubes_max: count(&settings.limits.tubes_max),
        ..beanstalkd::Settings::default()
    };
    Ok(Some(BeanstalkdOptions { listener, settings }))
}

async fn admin_listener(
    settings: &Settings,
    places: &mut Vec<String>,
) -> Result<Option<AdminOptions>, Failure> {
    let Some(request) = settings.admin_request() else { return Ok(None) };
    let token = Some(settings.admin_token.value.clone()).filter(|token| !token.is_empty());
    let listener = request.tcp().await?;
    places.push(format!("admin on http://{}", local(&listener)?));
    let settings = admin::Settings {
        token,
        names: settings.entrance.names(),
        proxies: settings.entrance.trusted_proxy.value.clone(),
        peer_share_percent: settings.limits.peer_share(),
        deadlines: settings.limits.http_deadlines(),
        ..admin::Settings::default()
    };
    Ok(Some(AdminOptions { listener, settings }))
}

fn local(listener: &TcpListener) -> Result<SocketAddr, Failure> {
    listener.local_addr().map_err(|error| Failure::failed(format!("listener: {error}")))
}
