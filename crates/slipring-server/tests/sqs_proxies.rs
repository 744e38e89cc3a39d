//! The SQS port behind proxies: whose `X-Forwarded-*` is believed, and what follows from it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use serde_json::json;
use slipring_server::sqs::Settings;
use sqs_client::{Client, Reply, TestServer};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// A server that names these proxies and may be called by two names.
fn behind(proxies: &str, settings: Settings) -> TestServer {
    let names = "queue.example,other.example".parse().unwrap();
    TestServer::start_with(Settings { names, proxies: proxies.parse().unwrap(), ..settings })
}

/// A request with further headers.
fn ask(client: &mut Client, forwarded: &str, form: &str) -> Reply {
    client.ask("POST", "/", &format!("{FORM}{forwarded}"), form.as_bytes());
    client.reply()
}

const FROM_A_PROXY: &str = "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n\
                            X-Forwarded-Host: queue.example:8443\r\n";

#[test]
fn queue_urls_begin_with_what_the_client_called_the_proxy() {
    // S16.4
    for (proxies, begin) in [
        ("127.0.0.1", "https://queue.example:8443/"),
        ("10.0.0.1,127.0.0.0/8", "https://queue.example:8443/"),
        ("10.0.0.1", "http://127.0.0.1:"),
        ("", "http://127.0.0.1:"),
    ] {
        let server = behind(proxies, Settings::default());
        let mut client = server.connect();
        let text = ask(&mut client, FROM_A_PROXY, "Action=CreateQueue&QueueName=q").text();
        assert!(text.contains(&format!("<QueueUrl>{begin}")), "{proxies:?}: {text}");
    }
}

#[test]
fn a_public_url_stands_above_what_a_proxy_says() {
    let public_url = Some("https://other.example/sqs".parse().unwrap());
    let server = behind("127.0.0.1", Settings { public_url, ..Settings::default() });
    let mut client = server.connect();
    let text = ask(&mut client, FROM_A_PROXY, "Action=CreateQueue&QueueName=q").text();
    assert!(text.contains("<QueueUrl>https://other.example/sqs/000000000000/q<"), "{text}");
}

#[test]
fn what_was_called_is_checked_as_the_host_header_is() {
    // S16.1 S16.4
    let server = behind("127.0.0.1", Settings::default());
    let mut client = server.connect();
    let evil = "X-Forwarded-Host: evil.example\r\n";
    let refused = ask(&mut client, evil, "Action=ListQueues");
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("evil.example"), "{}", refused.text());
    // A page whose name points here writes the header, but not the name in `Host`.
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: evil.example\r\n{FORM}X-Forwarded-Host: queue.example\r\n\
         Content-Length: 17\r\n\r\nAction=ListQueues"
    ));
    assert_eq!(client.reply().status, 403);
    // Where nobody is believed, nothing is made of the header.
    let server = behind("", Settings::default());
    assert_eq!(ask(&mut server.connect(), evil, "Action=ListQueues").status, 200);
}

#[test]
fn each_client_of_a_proxy_has_its_share_and_the_proxy_has_none() {
    // S12.5 S16.4
    let settings = Settings { connections_max: 6, peer_share_percent: 34, ..Settings::default() };
    let server = behind("127.0.0.1", settings);
    let mut proxy = server.connect();
    let url = proxy.create("q", json!({}));
    let from = |client: &str| format!("X-Forwarded-For: 127.0.0.1, {client}\r\n");
    let wait = format!("Action=ReceiveMessage&WaitTimeSeconds=20&QueueUrl={url}");
    let mut waiting: Vec<Client> = (0..2).map(|_| server.connect()).collect();
    for client in &mut waiting {
        let headers = format!("{FORM}{}", from("203.0.113.9"));
        client.ask("POST", "/", &headers, wait.as_bytes());
    }
    server.wait_for_waiting("q", 2);
    let list = "Action=ListQueues";
    let third = ask(&mut proxy, &from("203.0.113.9"), list);
    assert_eq!((third.status, third.code().as_str()), (503, "ServiceUnavailable"));
    // The connection goes on: other clients use it, and those who have no proxy.
    assert_eq!(ask(&mut proxy, &from("203.0.113.10"), list).status, 200);
    assert_eq!(ask(&mut proxy, "", list).status, 200);
    proxy.put(&url, "one");
    sqs_client::until(|| ask(&mut proxy, &from("203.0.113.9"), list).status == 200);
}
