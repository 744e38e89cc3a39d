//! Configuration: which layer wins, what is shown, what is refused.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use binary::Folder;
use serde_json::Value;

fn shown(folder: &Folder, key: &str, arguments: &[&str], env: &[(&str, &str)]) -> (String, String) {
    let arguments = [&["config", "--json"], arguments].concat();
    let output = folder.command(&arguments).envs(env.iter().copied()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    let settings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&settings[key]["value"]), text(&settings[key]["source"]))
}

fn pair(value: &str, source: &str) -> (String, String) {
    (value.to_owned(), source.to_owned())
}

#[test]
fn a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() {
    let folder = Folder::new();
    let default = shown(&folder, "sqs", &[], &[]);
    assert_eq!(default, pair("127.0.0.1:9324", "default"));
    folder.write("slipring.toml", "sqs = \"127.0.0.1:1001\"\n");
    let file = shown(&folder, "sqs", &[], &[]);
    assert_eq!(file, pair("127.0.0.1:1001", "file slipring.toml"));
    let env = [("SLIPRING_SQS", "127.0.0.1:1002")];
    let environment = shown(&folder, "sqs", &[], &env);
    assert_eq!(environment, pair("127.0.0.1:1002", "environment SLIPRING_SQS"));
    let flag = shown(&folder, "sqs", &["--sqs", "off"], &env);
    assert_eq!(flag, pair("off", "flag --sqs"));
}

#[test]
fn the_defaults_are_those_of_the_manual() {
    let folder = Folder::new();
    for (key, value) in [
        ("store", "sqlite:slipring.db"),
        ("sqs", "127.0.0.1:9324"),
        ("beanstalkd", "127.0.0.1:11300"),
        ("admin", "127.0.0.1:9325"),
        ("account", "000000000000"),
        ("region", "us-east-1"),
        ("insecure", "false"),
        ("allow_host", "(none)"),
        ("public_url", "(none)"),
        ("trusted_proxy", "(none)"),
        ("sqs_minute_rules", "true"),
        ("head_seconds_max", "10"),
        ("admin_token", "(none)"),
        ("audit_file", "(none)"),
    ] {
        assert_eq!(shown(&folder, key, &[], &[]), pair(value, "default"), "{key}");
    }
}

#[test]
fn every_key_can_be_set_in_a_file_that_is_named() {
    let folder = Folder::new();
    let text = "store = \"memory:\"\nsqs = \"off\"\nbeanstalkd = \"unix:/tmp/b\"\n\
                admin = \"off\"\naccount = \"123456789012\"\nregion = \"eu-1\"\n\
                admin_token = \"secret-of-16-characters\"\ninsecure = true\n\
                allow_host = \"a.example\"\n\
                public_url = \"https://b.example\"\njob_bytes_max = 7\n\
                trusted_proxy = \"10.0.0.1,fd00::/8\"\n\
                connections_max = 8\nsqs_minute_rules = false\nlog = \"warn\"\n\
                log_format = \"json\"\naudit_file = \"acts\"\n[limits]\n\
                peer_share_percent = 1\narriving_bytes_max = 2\nleaving_bytes_max = 3\n\
                idle_seconds_max = 4\nbeanstalkd_idle_seconds_max = 5\n\
                head_seconds_max = 6\nrequest_seconds_max = 7\n\
                stalled_seconds_max = 8\nrate_bytes_min = 9\nwatched_tubes_max = 10\n\
                tubes_max = 11\n";
    folder.write("other.toml", text);
    let all = folder.run(&["config", "--config", "other.toml", "--json"]).json();
    for (key, setting) in all.as_object().unwrap() {
        assert_eq!(setting["source"], "file other.toml", "{key}");
    }
    let keys = text.lines().filter(|line| line.contains('=')).count();
    assert_eq!(all.as_object().unwrap().len(), keys);
    let table = folder.run(&["config", "--config", "other.toml"]).ok();
    assert!(table.contains("unix:/tmp/b") && !table.contains("secret"), "{table}");
}

#[test]
fn a_yes_or_no_takes_the_words_and_numbers_that_environments_have() {
    let folder = Folder::new();
    for (text, value) in [("1", "true"), ("0", "false"), ("yes", "true"), ("off", "false")] {
        let (key, env) = ("insecure", [("SLIPRING_INSECURE", text)]);
        assert_eq!(shown(&folder, key, &[], &env).0, value, "{text}");
        let flag = format!("--insecure={text}");
        assert_eq!(shown(&folder, key, &[&flag], &[]).0, value, "{text}");
        let rules = ["--sqs-minute-rules", text];
        assert_eq!(shown(&folder, "sqs_minute_rules", &rules, &[]).0, value, "{text}");
    }
    let wrong = folder.run(&["config", "--sqs-minute-rules", "2"]);
    assert_eq!(wrong.code(), 2);
    assert!(wrong.stderr().contains("--sqs-minute-rules"), "{}", wrong.stderr());
}

#[test]
fn proxies_are_named_by_one_flag_or_several() {
    let folder = Folder::new();
    let once = ["--trusted-proxy", "10.0.0.1, 10.1.0.0/16"];
    let source = "flag --trusted-proxy";
    let shown_once = shown(&folder, "trusted_proxy", &once, &[]);
    assert_eq!(shown_once, pair("10.0.0.1,10.1.0.0/16", source));
    let twice = ["--trusted-proxy", "10.0.0.1", "--trusted-proxy", "10.1.0.0/16"];
    assert_eq!(shown(&folder, "trusted_proxy", &twice, &[]), shown_once);
    let env = [("SLIPRING_TRUSTED_PROXY", "::1")];
    let from_env = pair("::1", "environment SLIPRING_TRUSTED_PROXY");
    assert_eq!(shown(&folder, "trusted_proxy", &[], &env), from_env);
    let wrong = folder.run(&["config", "--trusted-proxy", "10.0.0.0/33"]);
    assert_eq!(wrong.code(), 2);
    assert!(wrong.stderr().contains("10.0.0.0/33"), "{}", wrong.stderr());
}

#[test]
fn what_is_wrong_in_a_configuration_is_named() {
    let folder = Folder::new();
    for (text, names) in [
        ("sqss = \"off\"\n", "sqss"),
        ("sqs = \"nowhere\"\n", "nowhere"),
        ("sqs = 9324\n", "sqs"),
        ("store = \"postgres:x\"\n", "postgres:"),
        ("admin_token = \"fifteen letters\"\n", "at least 16"),
        ("account = \"12\"\n", "12 digits"),
        ("region = \"a b\"\n", "a b"),
        ("allow_host = \"a:80\"\n", "a:80"),
        ("public_url = \"b.example\"\n", "https://"),
        ("trusted_proxy = \"proxy.example\"\n", "proxy.example"),
        ("log_format = \"xml\"\n", "xml"),
        ("connections_max = -1\n", "connections_max"),
        ("[limits]\nidle_seconds_max = 0\n", "idle_seconds_max"),
        ("[limits]\nidle = 1\n", "unknown field `idle`"),
        ("[sqs", "slipring.toml"),
    ] {
        folder.write("slipring.toml", text);
        for verb in ["config", "serve"] {
            let done = folder.run(&[verb]);
            assert_eq!((done.code(), done.stdout().as_str()), (2, ""), "{text}");
            assert!(done.stderr().contains(names), "{text}: {}", done.stderr());
        }
    }
    let missing = folder.run(&["serve", "--config", "not/there.toml"]);
    assert_eq!(missing.code(), 2);
    assert!(missing.stderr().contains("not/there.toml"), "{}", missing.stderr());
}

#[test]
fn no_answer_repeats_a_password_or_a_token() {
    // S16.3
    let folder = Folder::new();
    let address = "postgres://me:SECRET@db/q";
    folder.write("secret.toml", "sqs = \"postgres://me:SECRET@db:5432\"\n");
    for arguments in [
        &["serve", address][..],
        &["serve", "--sqs", address],
        &["serve", "--store", "postgress://me:SECRET@db/q"],
        &["serve", "--store", "password=SECRET"],
        &["serve", "--store", "sqlite:postgres://me:SECRET@db/q"],
        &["serve", "--store", "postgres://me:SECRET/q"],
        &["serve", "--stor=postgres://me:SECRET@db/q"],
        &["serve", "--admin-token", "SECRET"],
        &["serve", "--sqs", "postgres://me:SECRET@db:5432"],
        &["serve", "--sqs", "me:SECRET@db:5432"],
        &["serve", "--sqs", "postgres://me:a,SECRET@db:5432"],
        &["serve", "--sqs", "postgres://me:ab'SECRET@db:5432"],
        &["serve", "--sqs=postgres://me:a`b SECRET@db:5432"],
        &["serve", "postgres://me:a\"b SECRET@db/q"],
        &["queue", "ls", "--admin", address],
        &["queue", "ls", "--admin", "me:SECRET@db:5432"],
        &["queue", "ls", "--config", "secret.toml"],
        &["serve", "--config", "secret.toml"],
    ] {
        let done = folder.run(arguments);
        assert_eq!(done.code(), 2, "{arguments:?}");
        let said = format!("{}{}", done.stdout(), done.stderr());
        assert!(!said.contains("SECRET") && !said.is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = Folder::new();
    for arguments in [
        &["serve", "--no-such-flag"][..],
        &["nothing"],
        &["queue"],
        &["serve", "--store", "mysql:x"],
        &["serve", "--sqs", "9324"],
        &["serve", "--log", "a=b=c"],
        &["serve", "--sqs", "off", "--beanstalkd", "off", "--admin", "off"],
        &["queue", "ls", "--store", "memory:"],
        &["queue", "set", "q"],
        &["queue", "create", "q", "--max-attempts", "many"],
    ] {
        let done = folder.run(arguments);
        assert_eq!((done.code(), done.stdout().as_str()), (2, ""), "{arguments:?}");
        assert!(!done.stderr().is_empty(), "{arguments:?}");
    }
}

#[test]
fn no_error_repeats_a_password_or_a_token() {
    let folder = Folder::new();
    for (text, why) in [
        ("stor = \"postgres://me:SECRETPW@db/q\"\n", "line 1, column 1: unknown field `stor`"),
        ("account = \"1\"\nstore = \"postgres://me:SECRETPW@db/q\n", "line 2, column "),
        ("admin_tokens = \"SECRETTOKEN\"\n", "unknown field `admin_tokens`"),
        ("admin_token = 5377005377\n", "in `admin_token`: it is of type integer"),
        ("store = [\"postgres://me:SECRETPW@db/q\"]\n", "in `store`: it is of type array"),
        ("store = \"postgres://me:SEC?RETPW@db/q\"\n", "must be written %3F"),
        ("store = \"postgres://me@db/q?user=me&Password=SECRETPW\"\n", "`Password`"),
    ] {
        folder.write("slipring.toml", text);
        for verb in ["config", "serve"] {
            let done = folder.run(&[verb]);
            let error = done.stderr();
            assert_eq!((done.code(), done.stdout().as_str()), (2, ""), "{text}");
            assert!(error.contains("slipring.toml") && error.contains(why), "{text}: {error}");
            for secret in ["SEC", "RET", "5377"] {
                assert!(!error.contains(secret), "{error}");
            }
        }
    }
}

#[test]
fn a_misspelt_log_level_is_refused_and_the_levels_are_named() {
    let folder = Folder::new();
    let refused = |arguments: &[&str], word: &str| {
        let done = folder.run(arguments);
        let error = done.stderr();
        assert_eq!((done.code(), done.stdout().as_str()), (2, ""), "{error}");
        let why = format!("{word:?} is no level; use off, error, warn, info, debug or trace");
        assert!(error.contains(&why), "{error}");
    };
    refused(&["serve", "--log", "inof"], "inof");
    refused(&["config", "--log", "info,slipring_server"], "slipring_server");
    for level in ["off", "ERROR", "Warn,slipring_server=debug", "info,[span]"] {
        assert_eq!(shown(&folder, "log", &["--log", level], &[]).0, level);
    }
    folder.write("slipring.toml", "log = \"warning\"\n");
    refused(&["serve"], "warning");
}

#[test]
fn a_check_prints_nothing_and_its_exit_code_says_whether_the_configuration_holds() {
    let folder = Folder::new();
    folder.write("slipring.toml", "sqs = \"off\"\n");
    assert_eq!(folder.run(&["config", "--check"]).ok(), "");
    folder.write("slipring.toml", "sqs = \"nowhere\"\n");
    let refused = folder.run(&["config", "--check"]);
    assert_eq!((refused.code(), refused.stdout().as_str()), (2, ""));
    assert!(refused.stderr().contains("slipring.toml: line 1"), "{}", refused.stderr());
    // What `serve` would refuse without opening anything.
    for (text, why) in [
        ("sqs = \"0.0.0.0:9324\"\n", "--sqs 0.0.0.0:9324: other machines could reach"),
        ("beanstalkd = \"[::]:11300\"\n", "--beanstalkd [::]:11300: other machines"),
        ("admin = \"192.0.2.1:9325\"\n", "--admin-token"),
        ("sqs = \"unix:/x\"\n", "--sqs unix:/x: this listener speaks HTTP over TCP only"),
        ("admin = \"unix:/x\"\n", "--admin unix:/x: this listener speaks HTTP over TCP only"),
        ("sqs = \"off\"\nbeanstalkd = \"off\"\nadmin = \"off\"\n", "every listener is off"),
        ("connections_max = 0\n", "connections_max (file slipring.toml) is 0"),
    ] {
        folder.write("slipring.toml", text);
        for verb in [&["config", "--check"][..], &["serve"]] {
            let refused = folder.run(verb);
            assert_eq!((refused.code(), refused.stdout().as_str()), (2, ""), "{text}");
            assert!(refused.stderr().contains(why), "{verb:?} {text}: {}", refused.stderr());
        }
    }
    let open = "sqs = \"0.0.0.0:9324\"\ninsecure = true\nbeanstalkd = \"unix:/x\"\n";
    folder.write("slipring.toml", open);
    assert_eq!(folder.run(&["config", "--check"]).ok(), "");
}

#[test]
fn a_token_that_no_client_can_send_is_refused_and_not_repeated() {
    // S16.3
    let folder = Folder::new();
    for token in ["sécret-of-16-characters", " secret-of-16-characters", "secret-of-16-chars\t"] {
        for verb in ["config", "serve"] {
            let refused = folder.run(&[verb, "--admin-token", token]);
            assert_eq!((refused.code(), refused.stdout().as_str()), (2, ""), "{token:?}");
            let error = refused.stderr();
            assert!(error.contains("admin_token (flag --admin-token)"), "{error}");
            assert!(error.contains("visible ASCII") && !error.contains("cret-of"), "{error}");
        }
    }
    let blank = "secret of 16 characters, with blanks";
    let listen = ["--store", "memory:", "--admin-token", blank];
    let server = folder.serve(&listen);
    folder.run(&["queue", "ls", "--admin", &server.admin(), "--admin-token", blank]).ok();
    server.stop();
}
