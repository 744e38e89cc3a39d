//! Web pages that reach the SQS port, as raw requests: images, forms, calls by script, and names
//! that a page's owner made point here.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use serde_json::json;
use slipring_server::sqs::Settings;
use sqs_client::{Client, Reply, TestServer};

const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";
/// What Chromium sends with an image of a page to a public name without TLS: no origin, no site.
const IMAGE: &str = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\n\
                     Accept: image/avif,image/webp,*/*;q=0.8\r\n\
                     Accept-Language: en-US,en;q=0.9\r\n";

/// A request with a host of its own.
fn ask(client: &mut Client, line: &str, host: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\n{headers}");
    client.send(format!("{head}Content-Length: {length}\r\n\r\n{body}"));
    client.reply()
}

fn refused(reply: &Reply) {
    assert_eq!(reply.status, 403, "{}", reply.text());
    let text = reply.text();
    assert!(text.contains("AccessDenied"), "{text}");
    assert!(!text.contains("precious"), "{text}");
}

/// A server with one message in queue `q`.
fn with_a_message(settings: Settings) -> (TestServer, String) {
    let server = TestServer::start_with(settings);
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.put(&url, "precious");
    (server, url)
}

#[test]
fn no_page_purges_deletes_or_receives() {
    // S16.1
    let (server, url) = with_a_message(Settings::default());
    let mut client = server.connect();
    for action in ["PurgeQueue", "DeleteQueue", "ReceiveMessage", "SendMessage"] {
        let form = format!("Action={action}&QueueUrl={url}&MessageBody=evil");
        let get = format!("GET /?{form}");
        for host in ["localhost", "127.0.0.1:9324", "rebound.example:9324"] {
            refused(&ask(&mut client, &get, host, IMAGE, ""));
            let typed = format!("{IMAGE}Sec-Fetch-Site: none\r\nUpgrade-Insecure-Requests: 1\r\n");
            refused(&ask(&mut client, &get, host, &typed, ""));
            let own =
                format!("{IMAGE}{FORM}Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n");
            refused(&ask(&mut client, "POST /", host, &own, &form));
            let foreign = format!("{FORM}Origin: http://evil.example\r\n");
            refused(&ask(&mut client, "POST /", host, &foreign, &form));
            refused(&ask(&mut client, "OPTIONS /", host, &foreign, ""));
            let target = format!("{IMAGE}X-Amz-Target: AmazonSQS.{action}\r\n");
            let body = json!({ "QueueUrl": url, "MessageBody": "evil" }).to_string();
            refused(&ask(&mut client, "POST /", host, &target, &body));
        }
    }
    // A page whose owner made its name point here, and that leaves out what gives it away.
    refused(&ask(&mut client, "POST /", "rebound.example", FORM, "Action=ListQueues"));
    assert_eq!(client.bodies(&url), ["precious"]);
}

#[test]
fn what_only_reads_may_be_typed_into_a_browser() {
    let (server, _) = with_a_message(Settings::default());
    let mut client = server.connect();
    let typed = format!("{IMAGE}Sec-Fetch-Site: none\r\n");
    for action in ["ListQueues", "GetQueueUrl&QueueName=q"] {
        let get = format!("GET /?Action={action}");
        assert_eq!(ask(&mut client, &get, "localhost", &typed, "").status, 200);
        let other_site = format!("{IMAGE}Sec-Fetch-Site: cross-site\r\n");
        refused(&ask(&mut client, &get, "localhost", &other_site, ""));
        refused(&ask(&mut client, &get, "rebound.example", IMAGE, ""));
    }
}

#[test]
fn a_host_that_is_named_may_be_called_by_programs_and_its_own_pages() {
    let names = "queue.example.com".parse().unwrap();
    let public_url = Some("https://queue.example.com/sqs".parse().unwrap());
    let settings = Settings { names, public_url, ..Settings::default() };
    let (server, url) = with_a_message(settings);
    assert_eq!(url, "https://queue.example.com/sqs/000000000000/q");
    let mut client = server.connect();
    let host = "queue.example.com";
    let form = format!("Action=PurgeQueue&QueueUrl={url}");
    let image = ask(&mut client, &format!("GET /?{form}"), host, IMAGE, "");
    refused(&image);
    let foreign = format!("{IMAGE}{FORM}Origin: http://evil.example\r\n");
    refused(&ask(&mut client, "POST /", host, &foreign, &form));
    assert_eq!(ask(&mut client, "POST /", host, FORM, "Action=ListQueues").status, 200);
    let own = format!("{IMAGE}{FORM}Origin: https://{host}\r\nSec-Fetch-Site: same-origin\r\n");
    assert_eq!(ask(&mut client, "POST /", host, &own, &form).status, 200);
    assert_eq!(client.bodies(&url), Vec::<String>::new());
}
