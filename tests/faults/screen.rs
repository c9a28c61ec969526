//! Texts from outside that would act on a terminal.

use crate::{
    bench::{Bench, strs},
    server::{Answer, Server, chat, response},
};

/// Control characters, as they stand in JSON and as they would reach a terminal.
const HOSTILE: &[(&str, &str)] = &[
    ("\\u001b[2J", "\x1b[2J"),
    ("\\u001b]0;title\\u0007", "\x1b]0;title\x07"),
    ("\\u009b31m", "\u{9b}31m"),
    ("a\\rb", "\r"),
    ("a\\bb", "\x08"),
    ("\\u202eabc", "\u{202e}"),
    ("\\u0000", "\0"),
];

#[test]
fn no_control_character_of_others_is_printed() {
    for (json, raw) in HOSTILE {
        for place in ["refusal", "page", "model", "kernel"] {
            let server = Server::start(move |_, _| {
                Answer::Bytes(match place {
                    "refusal" => {
                        let body = format!("{{\"error\": {{\"message\": \"no {json}\"}}}}");
                        response(400, &[], body.as_bytes())
                    }
                    "page" => response(200, &[], format!("<html>{raw}</html>").as_bytes()),
                    "model" => {
                        let body = format!(
                            "{{\"model\": \"m{json}\", \"choices\": [{{\"message\": {{\"content\": \"no\"}}}}]}}"
                        );
                        response(200, &[], body.as_bytes())
                    }
                    _ => chat(&format!("```cuda\n/*@plan\n{raw}launch(\n@*/\n{raw}\n```")),
                })
            });
            let bench = Bench::new().env("KGEN_LLM_RETRIES", "0");
            let args = Bench::generate(&server, "twice");
            let ended = bench.kgen(&strs(&args));
            for text in [ended.said(), bench.kgen(&["report", "r"]).said()] {
                let acts = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
                assert!(!text.contains(acts), "{json} as {place}: {text:?}");
            }
        }
    }
}
