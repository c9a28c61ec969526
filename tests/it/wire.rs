//! Golden requests and responses of every wire format, through a server on this machine: whole and
//! streamed, in pieces of every size.

use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use kgen_llm::{
    Access, Budget, Call, Client, Error, Finish, HttpAccess, PRESETS, ProviderConfig, ReplyRecord,
    Thinking, WIRES,
};
use kgen_settings::Effort;

use crate::llm::{Log, call};

const KEY: &str = "sk-test-9876543210";

/// Returns the names of all wire formats, sorted; each has a folder of recorded replies.
fn kinds() -> Vec<&'static str> {
    let mut names: Vec<_> = WIRES.iter().map(|wire| wire.name()).collect();
    names.sort_unstable();
    names
}

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/wire").join(kind)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One answer of a server.
struct Answer {
    head: String,
    /// Sent as one chunk each.
    chunks: Vec<Vec<u8>>,
}

impl Answer {
    fn new(file: &Path, piece: usize) -> Self {
        let is_stream = file.extension().is_some_and(|extension| extension == "sse");
        let kind = if is_stream { "text/event-stream; charset=utf-8" } else { "application/json" };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nx-request-id: req_1\r\nset-cookie: a=b\r\n\
             x-ratelimit-remaining-requests: 99\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        Self { head, chunks: read(file).chunks(piece).map(<[u8]>::to_vec).collect() }
    }
}

/// Serves answers in order, one per connection; returns the base URL and the requests.
fn serve(answers: Vec<Answer>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&asked);
    thread::spawn(move || {
        for answer in answers {
            let (mut socket, _) = listener.accept().unwrap();
            socket.set_nodelay(true).unwrap();
            requests.lock().unwrap().push(request(&mut socket));
            socket.write_all(answer.head.as_bytes()).unwrap();
            for chunk in answer.chunks {
                let mut bytes = format!("{:x}\r\n", chunk.len()).into_bytes();
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
                // Whoever has read enough may close the connection.
                if socket.write_all(&bytes).is_err() {
                    break;
                }
            }
            drop(socket.write_all(b"0\r\n\r\n"));
        }
    });
    (url, asked)
}

/// Reads a whole request: its head, and as much body as that says.
fn request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
            });
            if length.unwrap_or(0) <= body.len() {
                return text;
            }
        }
        let n_read = socket.read(&mut buffer).unwrap();
        assert!(n_read > 0, "the request ends early: {text}");
        bytes.extend(&buffer[..n_read]);
    }
}

fn access(kind: &str, base_url: &str) -> HttpAccess {
    let wire = WIRES.into_iter().find(|wire| wire.name() == kind).unwrap();
    let key = Some(KEY.into());
    let mut access = match PRESETS.iter().find(|preset| preset.wire.name() == kind) {
        Some(preset) => HttpAccess::new(preset, key),
        None => HttpAccess::of_wire(wire, key),
    };
    // Some paths have the version themselves.
    let base = match wire.path().starts_with("/v1") {
        true => base_url.trim_end_matches("/v1"),
        false => base_url,
    };
    base.clone_into(&mut access.base_url);
    access.idle_timeout = Duration::from_secs(20);
    access.retry.max_tries = 1;
    access
}

async fn ask(access: HttpAccess, call: &Call) -> (Result<ReplyRecord, Error>, Log) {
    let access = Access::Http(Box::new(access));
    let config = ProviderConfig::new("golden", "m-1", 4, access);
    let client = Client::new(config, Budget::default()).unwrap();
    let log = Log::default();
    let outcome = client.complete(call, &log).await;
    let record = log.replies.lock().unwrap().last().cloned();
    // A reply without a usable text is on record all the same.
    (record.ok_or_else(|| outcome.unwrap_err()), log)
}

fn describe(record: &ReplyRecord) -> String {
    let finish = match &record.finish {
        Finish::Refusal { reason } => format!("refusal ({})", reason.as_deref().unwrap_or("-")),
        other => format!("{other:?}").to_lowercase(),
    };
    let count =
        |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let usage = &record.usage;
    let cost = usage.cost_usd.map_or_else(String::new, |cost| format!(" ${cost}"));
    format!(
        "{finish} {} {} in {} ({} read, {} written) out {} ({} thought){cost}\n  {:?}\n  {:?}",
        record.model,
        record.response_id.as_deref().unwrap_or("-"),
        count(usage.input),
        count(usage.cache_read),
        count(usage.cache_write),
        count(usage.output),
        count(usage.reasoning),
        record.reasoning.as_deref().unwrap_or("-"),
        record.text,
    )
}

#[tokio::test]
async fn responses_of_every_format_are_read_alike_in_pieces_of_every_size() {
    let mut read_as = String::new();
    for kind in kinds() {
        let mut files: Vec<_> = std::fs::read_dir(folder(kind)).unwrap().flatten().collect();
        files.sort_by_key(std::fs::DirEntry::file_name);
        for file in files.iter().map(std::fs::DirEntry::path) {
            let name = file.file_name().unwrap().to_str().unwrap();
            if name.starts_with("request") {
                continue;
            }
            let pieces = [usize::MAX, 1, 2, 7, 64];
            let (url, _) = serve(pieces.map(|piece| Answer::new(&file, piece)).into());
            let mut all = Vec::new();
            for _ in pieces {
                let (record, _) = ask(access(kind, &url), &call()).await;
                let record = record.unwrap_or_else(|error| panic!("{kind}/{name}: {error}"));
                let response = record.response.as_ref().unwrap();
                // Nothing but the end of a stream may be missing, which is not waited for.
                assert!(read(&file).starts_with(&response.body), "{kind}/{name}");
                assert!(read(&file).len() < response.body.len() + 20, "{kind}/{name}");
                assert_eq!(response.status, Some(200));
                let names: Vec<_> = response.headers.keys().map(String::as_str).collect();
                assert_eq!(
                    names,
                    ["content-type", "x-ratelimit-remaining-requests", "x-request-id"]
                );
                assert_eq!(record.request_id.as_deref(), Some("req_1"));
                all.push(describe(&record));
            }
            all.dedup();
            assert_eq!(all.len(), 1, "{kind}/{name}: {all:#?}");
            writeln!(read_as, "{kind}/{name}: {}", all[0]).unwrap();
        }
    }
    insta::assert_snapshot!("replies", read_as);
}

/// Returns the request as a test can compare it: the key masked, differences between machines left
/// out.
fn shown(request: &str) -> String {
    let mut lines: Vec<&str> = request.lines().collect();
    lines.retain(|line| !line.starts_with("host:") && !line.starts_with("accept"));
    lines.join("\n").replace(KEY, "KEY")
}

#[tokio::test]
async fn requests_are_exactly_these() {
    let mut all = String::new();
    for kind in kinds() {
        let file = folder(kind).join("whole.json");
        let (url, asked) = serve(vec![Answer::new(&file, 512), Answer::new(&file, 512)]);
        let plain = access(kind, &url);
        let full = HttpAccess {
            effort: Some(Effort::Low),
            thinking: (kind == "anthropic").then_some(Thinking::Adaptive),
            prompt_cache: true,
            stream: false,
            ..access(kind, &url)
        };
        for access in [plain, full] {
            let (record, log) = ask(access, &call()).await;
            assert!(record.is_ok(), "{kind}");
            let asked = asked.lock().unwrap().last().unwrap().clone();
            let body = asked.split_once("\r\n\r\n").unwrap().1;
            assert_eq!(log.requests.lock().unwrap()[0].body, body, "the exact bytes are on record");
            writeln!(all, "{}\n", shown(&asked)).unwrap();
        }
    }
    insta::assert_snapshot!("requests", all);
}

#[tokio::test]
async fn a_server_that_speaks_another_dialect_is_told_at_once() {
    for asked in kinds() {
        for spoken in kinds().into_iter().filter(|spoken| *spoken != asked) {
            for file in ["whole.json", "stream.sse"] {
                let file = folder(spoken).join(file);
                let (url, requests) = serve(vec![Answer::new(&file, 64)]);
                let (outcome, log) = ask(access(asked, &url), &call()).await;
                let error = outcome.unwrap_err();
                assert!(matches!(error, Error::Garbage { .. }), "{asked} {spoken}: {error}");
                let way_out =
                    format!("speaks `{spoken}`: set kind = \"{spoken}\" in [providers.golden]");
                assert!(error.to_string().contains(&way_out), "{error}");
                assert_eq!(requests.lock().unwrap().len(), 1, "it is not asked again");
                assert_eq!(log.kinds(), ["request", "failure"]);
                // It was paid for: the partial reply is kept.
                let failed = log.failures.lock().unwrap()[0].response.clone().unwrap();
                assert!(!failed.body.is_empty() && read(&file).starts_with(&failed.body));
            }
        }
    }
}

#[tokio::test]
async fn keys_that_a_server_repeats_are_masked_in_what_is_kept() {
    let body =
        format!("{{\"choices\": [{{\"message\": {{\"content\": \"your key is {KEY}\"}}}}]}}");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: {KEY}\r\n\
         connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let (url, _) = serve(vec![Answer { head, chunks: vec![body.into_bytes()] }]);
    let (record, _) = ask(access("openai-chat", &url), &call()).await;
    let record = record.unwrap();
    let response = record.response.clone().unwrap();
    assert!(String::from_utf8_lossy(&response.body).contains("your key is [redacted]"));
    assert!(!format!("{record:?}").contains(KEY), "{record:?}");
    assert!(!String::from_utf8_lossy(&response.body).contains(KEY));
}
