use std::{
    io::{BufRead as _, Write as _},
    os::unix::net::UnixListener,
    path::PathBuf,
    thread,
};

use super::*;
use kgen_record::Adapter;

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(100);

/// A process that answers each line as a function of it says; `None` hangs up.
fn scripted(
    mut answer: impl FnMut(serde_json::Value) -> Option<String> + Send + 'static,
) -> (tempfile::TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    let socket: PathBuf = folder.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            let Some(reply) = answer(serde_json::from_str(&line.unwrap()).unwrap()) else { return };
            // The client may be gone.
            drop(stream.write_all(reply.as_bytes()));
        }
    });
    let client = Client::connect(Sidecar::Adapter(Adapter::Candle), &socket).unwrap();
    (folder, client)
}

fn sampling(samples: u32) -> Sampling {
    Sampling { samples, warm_up: 1, flush: Flush::None }
}

#[test]
fn requests_are_numbered_and_answers_are_read() {
    let (_folder, mut client) = scripted(|line| {
        let ok = match line["do"].as_str().unwrap() {
            "time" => {
                thread::sleep(Duration::from_millis(1));
                assert_eq!(line["handle"], 7);
                assert_eq!(line["flush"]["kind"], "none");
                r#"{"us":[1.5,2.0]}"#
            }
            "run" => r#"{"seconds":0.25}"#,
            "do_bench" => r#"{"median_us":3.0,"mean_us":4.0}"#,
            "drop" => "{}",
            other => panic!("{other}"),
        };
        Some(format!("{{\"id\":{},\"ok\":{ok}}}\n", line["id"]))
    });
    assert_eq!(client.time(7, sampling(2), LONG).unwrap(), [1.5, 2.0]);
    assert_eq!(client.run(7, LONG).unwrap().to_bits(), 0.25_f64.to_bits());
    assert_eq!(client.do_bench(7, LONG).unwrap(), DoBenchTimes { median_us: 3.0, mean_us: 4.0 });
    client.drop_handle(7, LONG).unwrap();
}

#[test]
fn a_refusal_is_told_and_the_process_goes_on() {
    let (_folder, mut client) = scripted(|line| {
        let kind = if line["id"] == 1 { "out_of_memory" } else { "gpu_lost" };
        let error = format!(r#"{{"kind":"{kind}","message":"no","detail":"Traceback"}}"#);
        Some(format!("{{\"id\":{},\"error\":{error}}}\n", line["id"]))
    });
    let refused = client.run(1, LONG).unwrap_err();
    assert!(!refused.is_fatal(), "{refused}");
    let Error::Refused(refusal) = refused else { panic!("{refused}") };
    assert_eq!(refusal.kind, RefusalKind::OutOfMemory);
    assert_eq!(refusal.detail.as_deref(), Some("Traceback"));
    assert!(client.run(1, LONG).unwrap_err().is_fatal());
}

#[test]
fn silence_death_and_nonsense_are_told_apart() {
    let (_folder, mut silent) = scripted(|_| Some(String::new()));
    let error = silent.run(1, SHORT).unwrap_err();
    assert!(matches!(error, Error::Overdue { action: "run", .. }), "{error}");
    // A byte now and then is no answer.
    let (_folder, mut slow) = scripted(|_| Some("{".to_owned()));
    assert!(matches!(slow.run(1, SHORT).unwrap_err(), Error::Overdue { .. }));
    let (_folder, mut dead) = scripted(|_| None);
    let error = dead.run(1, LONG).unwrap_err();
    assert!(matches!(error, Error::Gone { action: "run", .. }), "{error}");
    for nonsense in [
        "hello\n",
        "{\"id\":9,\"ok\":{\"seconds\":1}}\n",
        "{\"id\":1}\n",
        "{\"id\":1,\"ok\":{\"s\":1}}\n",
        "{\"id\":1,\"error\":{\"kind\":\"tired\",\"message\":\"no\"}}\n",
    ] {
        let (_folder, mut client) = scripted(move |_| Some(nonsense.to_owned()));
        let error = client.run(1, LONG).unwrap_err();
        assert!(matches!(error, Error::Garbage { .. }) && error.is_fatal(), "{nonsense}: {error}");
    }
    for us in ["[1.0]", "[1.0,-2.0]"] {
        let reply = format!("{{\"id\":1,\"ok\":{{\"us\":{us}}}}}\n");
        let (_folder, mut client) = scripted(move |_| Some(reply.clone()));
        assert!(matches!(client.time(1, sampling(2), LONG), Err(Error::Garbage { .. })), "{us}");
    }
}

#[test]
fn a_socket_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let error = Client::connect(Sidecar::Python, &folder.path().join("none")).unwrap_err();
    assert!(matches!(error, Error::Connect { .. }) && error.is_fatal());
}

#[test]
fn times_that_are_longer_than_the_request_are_refused() {
    let answers = |ok: &'static str| {
        move |line: serde_json::Value| Some(format!("{{\"id\":{},\"ok\":{ok}}}\n", line["id"]))
    };
    let (_folder, mut client) = scripted(answers(r#"{"us":[1.0,9e9]}"#));
    let error = client.time(1, sampling(2), LONG).unwrap_err();
    assert!(matches!(error, Error::Untrue { action: "time", .. }) && error.is_fatal(), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("kgen-candle answered `time` with times that cannot be true"),
        "{text}"
    );
    for ok in [
        r#"{"calls":5,"seconds":9000.0}"#,
        r#"{"calls":5,"seconds":0.001}"#,
        r#"{"calls":0,"seconds":0.5}"#,
    ] {
        let (_folder, mut client) = scripted(answers(ok));
        let error = client.repeat(1, 0.5, LONG).unwrap_err();
        assert!(matches!(error, Error::Untrue { action: "loop", .. }), "{ok}: {error}");
    }
}
