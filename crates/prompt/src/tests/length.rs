//! A prompt stays within its tokens, and parts are left out in a fixed order.

use kgen_llm::size;

use super::*;

/// A long search: many attempts, long sources, a long feedback.
fn situation_of<T>(use_it: impl FnOnce(&Situation<'_>) -> T) -> T {
    let failed = wrong_output();
    let history: Vec<HistoryEntry> = (1..=60)
        .map(|number| HistoryEntry {
            parents: vec![number - 1],
            change: Some(format!("idea {number}: {}", "longer words ".repeat(9))),
            ..HistoryEntry::new(number, &failed)
        })
        .collect();
    let feedback = told(&failed);
    let kernel = format!("HEAD\n{}TAIL\n", "  y[i] = x[i] > 0 ? x[i] : 0;\n".repeat(400));
    let best = format!("BEST\n{kernel}");
    let past = history.last().unwrap();
    use_it(&Situation {
        history: &history,
        parent: Some(LastAttempt { past, kernel: Some(&kernel), feedback: &feedback }),
        best: Some(BestAttempt { number: 7, kernel: &best, speedup: None }),
        ..Situation::first(Turn::Code)
    })
}

fn render(limit: u64) -> Result<Rendered, Error> {
    situation_of(|situation| {
        with_context(|prompts, context| {
            let context = PromptContext { prompt_tokens: limit, ..*context };
            prompts.render(&context, situation)
        })
    })
}

#[test]
fn details_go_in_a_fixed_order_until_it_fits() {
    let full = render(u64::MAX).unwrap();
    assert_eq!(full.tokens, size::of_call(&full.system, &full.user));
    assert_eq!(full.left_out, ["28 oldest rows of the history"]);
    let mut before = full.clone();
    let mut orders = vec![full.left_out.clone()];
    let error = loop {
        let limit = before.tokens - 1;
        let less = match render(limit) {
            Ok(less) => less,
            Err(error) => break error,
        };
        assert!(less.tokens <= limit, "{} of {limit}", less.tokens);
        for always in [
            "# The kernel file",
            "## Plan language",
            "# How it is judged",
            "One failed case fails the kernel.",
        ] {
            assert!(less.system.contains(always), "{always} at {limit}");
        }
        for always in [
            "# Task: `aten.relu.default`",
            "out[i] = self[i] if self[i] > 0, else 0.",
            "| 60 | 59 |",
            "\nHEAD\n",
            "## Verdict: `wrong_output`\n\n7 of 13 cases passed",
            "Send the complete corrected kernel file.",
            "fenced ```cuda block",
        ] {
            assert!(less.user.contains(always), "{always} at {limit}:\n{}", less.user);
        }
        assert!(less.left_out.len() >= before.left_out.len(), "{:?}", less.left_out);
        orders.push(less.left_out.clone());
        before = less;
    };
    let text = orders.iter().map(|left_out| left_out.join("; ")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("what_goes_first", text);
    assert!(!before.user.contains("BEST") && !before.user.contains("TAIL"));
    let is_limit = |limit| limit == before.tokens - 1;
    assert!(matches!(error, Error::TooLong { limit, .. } if is_limit(limit)), "{error}");
    assert!(error.to_string().contains("relu") && error.to_string().contains("are allowed"));
}

#[test]
fn a_short_prompt_lacks_nothing() {
    let first = with_context(|prompts, context| {
        prompts.render(context, &Situation::first(Turn::Code)).unwrap()
    });
    assert!(first.left_out.is_empty() && first.tokens < 8_000, "{}", first.tokens);
}

#[test]
fn the_estimate_errs_on_the_high_side() {
    // Counted with the vocabulary cl100k: 369 and 3949 tokens.
    let relu = kgen_baseline::builtin("relu").unwrap();
    let softmax = include_str!("../../../../generated_kernels/demo-gpu/softmax/softmax.cu");
    for (name, text, counted) in [("relu", relu, 369), ("softmax", softmax, 3949)] {
        let tokens = size::tokens(text);
        assert!(counted * 13 < tokens * 10 && tokens < 2 * counted, "{name}: {tokens}");
    }
    assert_eq!(size::tokens("int x_1 = 12345;\n"), 1 + 1 + 1 + 1 + 1 + 2 + 1 + 1);
    assert_eq!(size::tokens("µs"), 3);
    assert_eq!(size::tokens(""), 0);
}

#[test]
fn every_op_has_a_prompt_within_the_default() {
    let prompts = Prompts::load(None).unwrap();
    let target = Target::h100_class();
    let suite = kgen_ops::suite::load("opinfo").unwrap();
    let mut longest = 0;
    for op in op::all() {
        let cases = suite.public_cases(&op.name).unwrap_or_default();
        let rendered = with_context(|_, context| {
            let context = PromptContext { op, cases: &cases, target: &target, ..*context };
            prompts.render(&context, &Situation::first(Turn::Code)).unwrap()
        });
        assert!(rendered.left_out.is_empty(), "{}: {:?}", op.name, rendered.left_out);
        assert!(!rendered.user.contains("{{") && rendered.user.contains("## Notes on this kind"));
        assert!(rendered.system.contains("passes every check"), "{} has no example", op.name);
        longest = longest.max(rendered.tokens);
    }
    assert!(longest < 16_000, "{longest}");
}
