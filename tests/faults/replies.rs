//! Replies that are none, and servers that are away.

use std::{
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    bench::{Bench, reply, right, strs},
    server::{Answer, Server, chat, response},
};

/// Responses that hold no reply.
fn unusable() -> Vec<(&'static str, Answer)> {
    let json = [("content-type", "application/json")];
    let events = [("content-type", "text/event-stream")];
    let ok = |body: &[u8]| Answer::Bytes(response(200, &json, body));
    let whole = chat(&reply(2));
    let cut = |share: usize| Answer::Bytes(whole[..whole.len() * share / 8].to_vec());
    let stream = |body: &str| Answer::Bytes(response(200, &events, body.as_bytes()));
    let page = b"<html><body>Sign in</body></html>";
    vec![
        ("a page", Answer::Bytes(response(200, &[("content-type", "text/html")], page))),
        ("a page as JSON", ok(page)),
        ("nothing", ok(b"")),
        ("a space", ok(b" ")),
        ("no JSON", ok(b"It works!")),
        ("half of JSON", ok(br#"{"choices": [{"mess"#)),
        ("a list", ok(b"[]")),
        ("null", ok(b"null")),
        ("a number", ok(b"7")),
        ("no choices", ok(br#"{"choices": []}"#)),
        ("choices of another kind", ok(br#"{"choices": 7}"#)),
        ("bytes that are no text", ok(b"\xff\xfe\x00{")),
        ("an error inside", ok(br#"{"error": {"message": "overloaded", "code": 503}}"#)),
        (
            "a stream without an end",
            stream("data: {\"choices\": [{\"delta\": {\"content\": \"a\"}}]}\n\n"),
        ),
        ("a stream of no JSON", stream("data: <html>\n\n")),
        ("a stream of nothing", stream("")),
        ("a stream of bytes", Answer::Bytes(response(200, &events, b"data: \xff\xfe\n\n"))),
        ("an end after 1/8", cut(1)),
        ("an end after 4/8", cut(4)),
        ("an end after 7/8", cut(7)),
        ("an end at once", Answer::Bytes(Vec::new())),
        ("no HTTP", Answer::Bytes(b"220 mail.example ESMTP\r\n".to_vec())),
        (
            "a gzip that is none",
            Answer::Bytes(response(200, &[("content-encoding", "gzip")], b"abc")),
        ),
        ("status 500", Answer::Bytes(response(500, &[], b"oops"))),
        ("status 503", Answer::Bytes(response(503, &json, br#"{"error": {"message": "busy"}}"#))),
    ]
}

#[test]
fn one_op_without_a_reply_leaves_the_other_to_be_solved() {
    // An answer without a text is an answer: the attempt has no code.
    for (what, answer) in unusable().into_iter().filter(|(what, _)| !what.contains("choices")) {
        let server = Server::start(move |_, prompt| match prompt.contains("thrice") {
            true => answer.clone(),
            false => Answer::Bytes(right(prompt)),
        });
        let bench = Bench::new().env("KGEN_LLM_RETRIES", "1").env("KGEN_LLM_MAX_WAIT_S", "1");
        let ended = bench.kgen(&strs(&Bench::generate(&server, "twice,thrice")));
        let said = ended.said();
        assert_eq!(ended.code, Some(1), "{what}: {said}");
        assert!(ended.out.contains("twice   passed"), "{what}: {said}");
        assert!(ended.err.contains("thrice is left unfinished"), "{what}: {said}");
        // The other op is taken up again, and no stored reply is asked for.
        let n_requests = server.n_requests();
        bench.is_solved_by_one_request(what);
        assert!(n_requests >= 2, "{what}");
    }
}

#[test]
fn one_unusable_reply_is_asked_for_again() {
    for (what, answer) in unusable() {
        let server = Server::start(move |number, prompt| match number {
            0 => answer.clone(),
            _ => Answer::Bytes(right(prompt)),
        });
        let bench = Bench::new();
        let ended = bench.kgen(&strs(&Bench::generate(&server, "twice")));
        assert_eq!((ended.code, server.n_requests()), (Some(0), 2), "{what}: {}", ended.said());
    }
}

#[test]
fn token_counts_that_cannot_be_are_no_reason_to_stop() {
    let server = Server::start(|_, _| {
        let body = json!({
            "choices": [{"message": {"content": reply(2)}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX},
        });
        let json = [("content-type", "application/json")];
        Answer::Bytes(response(200, &json, body.to_string().as_bytes()))
    });
    let bench = Bench::new();
    let ended = bench.kgen(&strs(&Bench::generate(&server, "twice")));
    assert_eq!((ended.code, server.n_requests()), (Some(0), 1), "{}", ended.said());
    for command in ["report", "compare"] {
        let read = bench.kgen(&[command, "r", "--format", "json"]);
        assert!(read.out.contains("18446744073709551615"), "{command}: {}", read.said());
    }
}

#[test]
fn a_stream_without_end_is_given_up() {
    let server = Server::start(|_, _| {
        let event = json!({ "choices": [{ "delta": { "content": "x".repeat(8000) } }] });
        let body = format!("data: {event}\n\n").repeat(9000);
        let events = [("content-type", "text/event-stream")];
        Answer::Bytes(response(200, &events, body.as_bytes()))
    });
    let bench = Bench::new().env("KGEN_LLM_RETRIES", "0");
    let ended = bench.kgen(&strs(&Bench::generate(&server, "twice")));
    assert!(ended.err.contains("a reply without end"), "{}", ended.said());
    assert_eq!(server.n_requests(), 1);
}

#[test]
fn one_line_of_many_megabytes_takes_seconds() {
    let server = Server::start(|_, prompt| {
        let event = json!({ "choices": [{
            "delta": { "content": if prompt.contains("twice") { reply(2) } else { reply(3) } },
            "finish_reason": "stop",
        }] });
        let mut body = b": ".to_vec();
        body.resize(20 << 20, b'x');
        body.extend_from_slice(format!("\n\ndata: {event}\n\ndata: [DONE]\n\n").as_bytes());
        Answer::Bytes(response(200, &[("content-type", "text/event-stream")], &body))
    });
    let (bench, began) = (Bench::new(), Instant::now());
    let ended = bench.kgen(&strs(&Bench::generate(&server, "twice")));
    assert_eq!((ended.code, server.n_requests()), (Some(0), 1), "{}", ended.said());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn a_server_that_is_away_is_waited_for() {
    for seconds in [1, 3] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let back = thread::spawn(move || {
            thread::sleep(Duration::from_secs(seconds));
            Server::on(TcpListener::bind(address).unwrap(), |_, prompt| {
                Answer::Bytes(right(prompt))
            })
        });
        let bench = Bench::new().env("KGEN_LLM_RETRIES", "0");
        let url = format!("http://{address}/v1");
        let ended = bench.kgen(&strs(&Bench::generate_at(&url, "twice")));
        assert_eq!(ended.code, Some(0), "{seconds} s: {}", ended.said());
        assert_eq!(back.join().unwrap().n_requests(), 1);
    }
}
