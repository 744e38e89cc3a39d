//! Pages that mean no good, in real browsers: they try to purge and to read a queue of a server on
//! the same machine. Nothing may happen to it.

mod front;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{self, Outcome};
use crate::repository::Repository;
use crate::server::Server;

use front::Fronts;

const PAGE: &str = include_str!("page.html");
/// Where the page is, and where it sends; both are names of this machine to the browsers.
const PAGE_NAME: &str = "rebound.example";
const PUBLIC_NAME: &str = "public.example";
/// A browser has so long to start and to try everything.
const TRIED_WITHIN: Duration = Duration::from_secs(60);
const LIMIT_SECONDS: u32 = 90;
const BODY: &str = "precious";

/// What must have been sent, by the beginning of its path.
const ATTACKS: [&str; 10] = [
    "/image-",
    "/frame-",
    "/form-",
    "/plain-",
    "/fetch-",
    "/cors-",
    "/rebound-get",
    "/rebound-json",
    "/short",
    "/long-",
];

/// A browser and how it is started without a window.
struct Browser {
    name: &'static str,
    command: fn(&Path) -> Outcome<Command>,
}

const BROWSERS: [Browser; 2] = [
    Browser { name: "chromium", command: chromium },
    Browser { name: "firefox-esr", command: firefox },
];

/// Runs the attacks in every browser; each has a server of its own.
pub fn run(repository: &Repository) -> Outcome {
    let binary = repository.release_binary()?;
    for browser in &BROWSERS {
        println!("--- {}", browser.name);
        let folder = repository.emptied(&format!("pages/{}", browser.name))?;
        let store = format!("sqlite:{}", folder.join("slipring.db").display());
        let server = Server::start(&binary, &store, &folder.join("server.log"))?;
        attack(browser, &server, &folder)?;
        server.stop()?;
    }
    Ok(())
}

fn attack(browser: &Browser, server: &Server, folder: &Path) -> Outcome {
    let places = server.addresses();
    let make = query(&places.sqs, "Action=CreateQueue&QueueName=q")?;
    let send = query(&places.sqs, &format!("Action=SendMessage&QueueUrl=q&MessageBody={BODY}"))?;
    if !make.contains("<QueueUrl>") || !send.contains("<MessageId>") {
        return Err(format!("the queue was not made: {make}{send}"));
    }
    let targets = [&*places.sqs, &*places.beanstalkd, &*places.admin];
    let fronts = Fronts::open(targets, page)?;
    let profile = folder.join("profile");
    let mut command = (browser.command)(&profile)?;
    command.arg(format!("http://{PAGE_NAME}:{}/page", fronts.sqs.port()));
    let log = std::fs::File::create(folder.join("browser.log"));
    let log = log.map_err(|error| format!("the browser's log: {error}"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let child = command.spawn();
    let child = child.map_err(|error| format!("{} cannot be started: {error}", browser.name))?;
    let running = Running(child);
    let begun = Instant::now();
    while !fronts.seen.has("/top-level") && begun.elapsed() < TRIED_WITHIN {
        thread::sleep(Duration::from_millis(50));
    }
    // Ends its connections, and with them what may still be on its way.
    drop(running);
    let tried = fronts.seen.all();
    println!("{}: {} requests in {:?}", browser.name, tried.len(), begun.elapsed());
    check_attacks(&tried)?;
    check_queue(server)
}

/// The page with the ports in it.
fn page([sqs, beanstalkd, admin]: [u16; 3]) -> String {
    PAGE.replace("@SQS@", &sqs.to_string())
        .replace("@BEANSTALKD@", &beanstalkd.to_string())
        .replace("@ADMIN@", &admin.to_string())
        .replace("@LONG_NAME@", &long_name())
}

/// A host name whose header is longer than a command of beanstalkd may be.
fn long_name() -> String {
    let label = "a".repeat(60);
    format!("{label}.{label}.{label}.{}.example", "a".repeat(55))
}

/// Whether the browser has sent what it was to send, and was told nothing.
fn check_attacks(tried: &[String]) -> Outcome {
    for attack in ATTACKS.iter().chain(&["/v1/queues", "/done", "/top-level"]) {
        if !tried.iter().any(|path| path.starts_with(attack)) {
            let tried = tried.join("\n    ");
            return Err(format!("the browser never sent {attack}; it sent\n    {tried}"));
        }
    }
    let stolen = tried.iter().find_map(|path| path.strip_prefix("/done ")).unwrap_or_default();
    if stolen.contains(BODY) || stolen.contains("/000000000000/q") {
        return Err(format!("the page was given\n{stolen}"));
    }
    Ok(())
}

/// Whether the queue is as it was, and no other was made.
fn check_queue(server: &Server) -> Outcome {
    let places = server.addresses();
    let ask = "Action=GetQueueAttributes&QueueUrl=q&AttributeName.1=All";
    let shown = query(&places.sqs, ask)?;
    for (name, count) in
        [("ApproximateNumberOfMessages", 1), ("ApproximateNumberOfMessagesNotVisible", 0)]
    {
        if !shown.contains(&format!("<Name>{name}</Name><Value>{count}</Value>")) {
            return Err(format!("{name} is not {count} any more: {shown}"));
        }
    }
    let received = query(&places.sqs, "Action=ReceiveMessage&QueueUrl=q")?;
    if !received.contains(BODY) {
        return Err(format!("the message is not there any more: {received}"));
    }
    let tubes = exchange(&places.beanstalkd, "list-tubes\r\nquit\r\n")?;
    if tubes.contains("evil") || !tubes.contains("default") {
        return Err(format!("beanstalkd has the tubes {tubes}"));
    }
    Ok(())
}

/// Asks the SQS port as a program does.
fn query(address: &str, form: &str) -> Outcome<String> {
    let request = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    exchange(address, &request)
}

fn exchange(address: &str, request: &str) -> Outcome<String> {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().map_err(|error: std::io::Error| format!("{address}: {error}"))
}

fn chromium(profile: &Path) -> Outcome<Command> {
    let mut browser = process::limited(LIMIT_SECONDS, "chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]);
    browser.args(["--no-first-run", "--disable-sync", "--disable-background-networking"]);
    browser.args(["--disable-component-update", "--enable-logging=stderr"]);
    browser.arg("--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable");
    let names = [PAGE_NAME, PUBLIC_NAME, &long_name()].map(|name| format!("MAP {name} 127.0.0.1"));
    browser.arg(format!(
        "--host-resolver-rules={}, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
        names.join(", ")
    ));
    browser.arg(format!("--user-data-dir={}", profile.display()));
    Ok(browser)
}

fn firefox(profile: &Path) -> Outcome<Command> {
    let names = [PAGE_NAME, PUBLIC_NAME, &long_name()].join(",");
    let preferences = [
        // These names are this machine's, and a proxy that is not there gets all others.
        ("network.dns.localDomains", format!("\"{names}\"")),
        ("dom.security.https_first", "false".to_owned()),
        ("dom.security.https_first_schemeless", "false".to_owned()),
        ("network.captive-portal-service.enabled", "false".to_owned()),
        ("network.connectivity-service.enabled", "false".to_owned()),
        ("app.normandy.enabled", "false".to_owned()),
        ("datareporting.policy.dataSubmissionEnabled", "false".to_owned()),
        ("browser.safebrowsing.update.enabled", "false".to_owned()),
        ("services.settings.server", "\"data:,\"".to_owned()),
        ("browser.aboutwelcome.enabled", "false".to_owned()),
    ];
    let lines = preferences.map(|(name, value)| format!("user_pref(\"{name}\", {value});\n"));
    let failed = |error| format!("{}: {error}", profile.display());
    std::fs::create_dir_all(profile).map_err(failed)?;
    std::fs::write(profile.join("user.js"), lines.concat()).map_err(failed)?;
    let mut browser = process::limited(LIMIT_SECONDS, "firefox-esr");
    browser.args(["--headless", "--no-remote", "--profile"]).arg(profile);
    Ok(browser)
}

/// A browser, ended with its children when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // `timeout` passes the signal on to all it has started.
        let kill = format!("kill -TERM {}", self.0.id());
        process::succeeds(Command::new("sh").arg("-c").arg(kill));
        // There is nothing to do about a browser that does not end.
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_or_was_told_is_found() {
        let mut tried: Vec<String> = ATTACKS.iter().map(|attack| (*attack).to_owned()).collect();
        tried.extend(["/v1/queues", "/done nothing", "/top-level"].map(str::to_owned));
        assert_eq!(check_attacks(&tried), Ok(()));
        let told = [tried.clone(), vec![format!("/done {BODY}")]].concat();
        let told: Vec<String> = told.into_iter().filter(|path| path != "/done nothing").collect();
        assert!(check_attacks(&told).unwrap_err().contains(BODY));
        tried.remove(0);
        assert!(check_attacks(&tried).unwrap_err().contains("/image-"));
    }

    #[test]
    fn the_long_name_is_a_name_and_too_long_for_a_command() {
        assert!((217..=253).contains(&long_name().len()));
        let page = page([1, 22, 333]);
        assert!(page.contains("SQS = \"1\"") && page.contains("ADMIN = \"333\""), "{page}");
    }
}
