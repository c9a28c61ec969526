//! That the files say what the passes need, and that the passes fit together.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_model_names_a_source_at_a_commit() {
    let mut names = BTreeSet::new();
    for (file, text) in FILES {
        let models: Models = toml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        for origin in models.origins() {
            assert!(names.insert(origin.name.clone()), "{file}: {} is there twice", origin.name);
            for source in origin.source.split("; ") {
                let commit = source.split_once('@').map_or("", |(_, rest)| rest);
                let commit = commit.split(' ').next().unwrap_or("");
                let is_commit = commit.len() == 40 && commit.bytes().all(|c| c.is_ascii_hexdigit());
                assert!(is_commit, "{file}: {}: {source}", origin.name);
            }
        }
    }
    assert!(names.len() >= 40, "{}", names.len());
}

#[test]
fn the_numbers_of_a_transformer_fit_together() {
    for (file, models) in models() {
        for model in &models.transformer {
            let name = &model.origin.name;
            assert!(model.heads % model.kv_heads == 0, "{file}: {name}");
            assert!(model.rope_dim <= model.head_dim && model.rope_dim % 2 == 0, "{name}");
            if let Some(mla) = model.mla {
                assert_eq!(model.head_dim, mla.nope + mla.rope, "{name}");
            }
        }
    }
}

#[test]
fn a_pass_of_llama_makes_the_calls_of_its_layers() {
    let models = models().next().expect("the decoders come first").1;
    let (_, calls) = models
        .passes(&REAL)
        .into_iter()
        .find(|(name, _)| name == "llama-3.1-8b")
        .expect("it is among the decoders");
    let text: Vec<String> = calls.iter().map(ToString::to_string).collect();
    for wanted in [
        "aten.embedding.default cnt: 1, ((T([128256, 4096], bf16), T([1, 2048], i64, gen=index(128256))), {})",
        "aten.linear.default cnt: 32, ((T([1, 2048, 4096], bf16), T([1024, 4096], bf16)), {})",
        "aten.rope.default cnt: 32, ((T([1, 32, 2048, 128], bf16), T([2048, 64], bf16), T([2048, 64], bf16)), {})",
        "aten.scaled_dot_product_attention.default cnt: 32, ((T([1, 32, 2048, 128], bf16), T([1, 8, 2048, 128], bf16), T([1, 8, 2048, 128], bf16)), {'is_causal': True, 'enable_gqa': True})",
        "aten.scaled_dot_product_attention.default cnt: 32, ((T([64, 32, 1, 128], bf16), T([64, 8, 2048, 128], bf16), T([64, 8, 2048, 128], bf16)), {'enable_gqa': True})",
        "aten.cat.default cnt: 32, (([T([64, 8, 2047, 128], bf16), T([64, 8, 1, 128], bf16)], 2), {})",
        "aten.mm.default cnt: 32, ((T([2048, 4096], bf16), T([4096, 28672], bf16, stride=(1, 4096))), {})",
        "aten.silu_and_mul.default cnt: 32, ((T([2048, 28672], bf16),), {})",
        "aten.mm.default cnt: 1, ((T([64, 4096], bf16), T([4096, 128256], bf16, stride=(1, 4096))), {})",
    ] {
        assert!(text.iter().any(|line| line == wanted), "{wanted}\n{}", text.join("\n"));
    }
}

#[test]
fn the_suite_has_real_and_small_calls_of_every_op_and_none_twice() {
    let calls = calls();
    let text: BTreeSet<String> =
        calls.iter().map(|call| Call { count: 1, ..call.call.clone() }.to_string()).collect();
    assert_eq!(text.len(), calls.len());
    let names = |real| {
        let of = calls.iter().filter(move |call| call.real == real);
        of.map(|call| call.call.name()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names(true), names(false));
    assert!(names(true).len() >= 30, "{:?}", names(true));
    for call in calls.iter().filter(|call| !call.real) {
        let elements = call.call.args.iter().map(|value| match value {
            Value::Tensor(tensor) => tensor.shape.iter().product(),
            _ => 0,
        });
        assert!(elements.sum::<usize>() < 100_000, "{}", call.call);
    }
}

#[test]
fn what_is_derived_is_a_log_that_parses() {
    let calls: Vec<Call> = calls().into_iter().map(|call| call.call).collect();
    let log = crate::log::parse(&crate::log::write_log(&calls));
    assert_eq!(log.errors, []);
    assert_eq!(log.calls.len(), calls.len());
}

#[test]
fn sound_becomes_as_many_positions_as_its_model_has() {
    for (name, positions) in [("whisper-large", "16, 1500, 1280"), ("wav2vec2-base", "16, 49, 768")]
    {
        let passes = models().flat_map(|(_, models)| models.passes(&REAL));
        let calls = passes.into_iter().find(|(model, _)| model == name).expect("it is a model").1;
        let norm = format!("aten.layer_norm.default cnt: 1, ((T([{positions}], bf16)");
        assert!(calls.iter().any(|call| call.to_string().starts_with(&norm)), "{name}");
    }
}

#[test]
fn a_language_model_brings_its_vocabulary_and_both_passes() {
    let calls: Vec<String> = calls()
        .into_iter()
        .filter(|call| call.model == "llama-3.1-8b" && call.real)
        .map(|call| call.call.to_string())
        .collect();
    for wanted in
        ["T([4096, 128256]", "T([2048, 28672]", "T([64, 28672]", "is_causal", "2047, 128]"]
    {
        assert!(calls.iter().any(|call| call.contains(wanted)), "{wanted}\n{}", calls.join("\n"));
    }
}
