//! Settings of access: allowed host names, the public URL, trusted proxies, and `insecure`.

use clap::Args;
use clap::builder::BoolishValueParser;
use slipring_server::names::{HostNames, PublicUrl};
use slipring_server::proxies::Proxies;

use super::file::FileSettings;
use super::{Layers, Row, Setting, row, shown};

/// Shown for what is empty.
const NONE: &str = "(none)";

/// The flags of the entrance.
#[derive(Debug, Args)]
pub struct EntranceArgs {
    /// Listen on addresses other machines can reach although nothing asks for credentials
    #[arg(long, env = "SLIPRING_INSECURE")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(value_parser = BoolishValueParser::new())]
    insecure: Option<bool>,
    /// Host names beside those of this machine that clients may call the server by, separated by
    /// commas; web pages of these hosts may use it [default: none]
    #[arg(long, value_name = "NAMES", env = "SLIPRING_ALLOW_HOST")]
    allow_host: Option<HostNames>,
    /// What SQS queue addresses begin with, such as the URL of a proxy; its host is allowed
    /// [default: what the client called]
    #[arg(long, value_name = "URL", env = "SLIPRING_PUBLIC_URL")]
    public_url: Option<PublicUrl>,
    /// A proxy whose X-Forwarded-For, -Host and -Proto are believed: an address, or a network such
    /// as 10.0.0.0/8; several separated by commas, or by the flag again [default: none]
    #[arg(long, value_name = "ADDR", env = "SLIPRING_TRUSTED_PROXY")]
    trusted_proxy: Option<Vec<Proxies>>,
}

/// The entrance as it is.
#[derive(Debug)]
pub struct Entrance {
    /// Whether listeners that ask for no credentials may have addresses that others can reach.
    pub insecure: Setting<bool>,
    /// Host names that are allowed beside those of this machine.
    pub allow_host: Setting<HostNames>,
    /// What SQS queue addresses begin with; `None` for what the client called.
    pub public_url: Setting<Option<PublicUrl>>,
    /// Proxies that are believed.
    pub trusted_proxy: Setting<Proxies>,
}

impl Entrance {
    pub(super) fn load(
        args: EntranceArgs,
        file: &mut FileSettings,
        layers: &Layers<'_>,
    ) -> Entrance {
        let public_url = file.public_url.take().map(Some);
        let proxies = args.trusted_proxy.map(|all| all.into_iter().collect());
        let file_proxies = file.trusted_proxy.take();
        Entrance {
            insecure: layers.pick("insecure", args.insecure, file.insecure, || false),
            allow_host: layers.pick(
                "allow_host",
                args.allow_host,
                file.allow_host.take(),
                HostNames::default,
            ),
            public_url: layers.pick("public_url", args.public_url.map(Some), public_url, || None),
            trusted_proxy: layers.pick("trusted_proxy", proxies, file_proxies, Proxies::default),
        }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let names = shown(&self.allow_host, |names| match names.is_empty() {
            true => NONE.to_owned(),
            false => names.to_string(),
        });
        let public_url = shown(&self.public_url, |url| match url {
            Some(url) => url.to_string(),
            None => NONE.to_owned(),
        });
        let proxies = shown(&self.trusted_proxy, |proxies| match proxies.is_empty() {
            true => NONE.to_owned(),
            false => proxies.to_string(),
        });
        vec![
            row("insecure", &self.insecure),
            row("allow_host", &names),
            row("public_url", &public_url),
            row("trusted_proxy", &proxies),
        ]
    }

    /// The names that are allowed: those that were given, and that of the public URL.
    pub fn names(&self) -> HostNames {
        let mut names = self.allow_host.value.clone();
        if let Some(url) = &self.public_url.value {
            names.add(url.host().clone());
        }
        names
    }
}
