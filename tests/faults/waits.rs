//! Providers that ask to wait.

use crate::{
    bench::{Bench, right, strs},
    server::{Answer, Server, response},
};

/// Returns an HTTP date that many seconds from now.
fn date(seconds: u64) -> String {
    let at = jiff::Timestamp::now() + std::time::Duration::from_secs(seconds);
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[test]
fn a_wait_that_is_too_long_is_a_stop_that_can_be_resumed() {
    for status in [429, 503, 529] {
        for wait in ["86400".to_owned(), "601".to_owned(), date(86_400)] {
            let asked = wait.clone();
            let server = Server::start(move |_, _| {
                Answer::Bytes(response(status, &[("retry-after", &asked)], b"{}"))
            });
            let bench = Bench::new();
            let ended = bench.kgen(&strs(&Bench::generate(&server, "twice")));
            let said = ended.said();
            assert_eq!((ended.code, server.n_requests()), (Some(4), 1), "{status} {wait}: {said}");
            assert!(ended.out.contains("\ntwice "), "{status} {wait}: {said}");
            for part in [
                &format!("status {status}"),
                "asks to wait until 2",
                "llm.max_wait_s",
                "kgen resume r",
            ] {
                assert!(ended.err.contains(part), "{part}: {said}");
            }
            bench.is_solved_by_one_request(&wait);
        }
    }
}

#[test]
fn a_short_wait_and_one_that_cannot_be_read_are_waited_for() {
    for wait in ["0", "1", "0.5", "soon", "-7", "1e400", "", "Sun, 06 Nov 1994 08:49:37 GMT"] {
        let server = Server::start(move |number, prompt| match number {
            0 => Answer::Bytes(response(429, &[("retry-after", wait)], b"{}")),
            _ => Answer::Bytes(right(prompt)),
        });
        let ended = Bench::new().kgen(&strs(&Bench::generate(&server, "twice")));
        assert_eq!((ended.code, server.n_requests()), (Some(0), 2), "{wait}: {}", ended.said());
    }
}
