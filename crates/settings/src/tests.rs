//! The layers, their errors, and the agreement of file, table and structs.

use std::{collections::BTreeSet, path::Path};

use kgen_record::{DType, Limits, Target};
use toml::{Table, Value};

use super::{
    DEFAULTS, DeviceChoice, Effort, Error, Overrides, Settings,
    keys::{KEYS, Kind},
    resolve_with,
};

fn none(_: &str) -> Option<String> {
    None
}

fn with_file(text: &str) -> Result<Settings, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kgen.toml");
    std::fs::write(&path, text).unwrap();
    resolve_with(Some(&path), &none, &Overrides::default()).map(|resolved| resolved.settings)
}

fn defaults() -> Settings {
    resolve_with(None, &none, &Overrides::default()).unwrap().settings
}

/// `config.toml` with the settings that have no default switched on.
fn uncommented() -> Table {
    let uncomment = |line: &str| match line.strip_prefix('#') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '[') => {
            rest.to_owned()
        }
        Some(_) | None => line.to_owned(),
    };
    let text: Vec<_> = DEFAULTS.lines().map(uncomment).collect();
    text.join("\n").parse().unwrap()
}

fn collect(prefix: &str, table: &Table, names: &mut BTreeSet<String>) {
    for (name, value) in table {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(inner) => collect(&path, inner, names),
            _ => {
                names.insert(path);
            }
        }
    }
}

#[test]
fn the_file_documents_exactly_the_settings_that_exist() {
    let mut documented = BTreeSet::new();
    collect("", &uncommented(), &mut documented);
    documented.retain(|name| !name.starts_with("providers.") && !name.starts_with("models."));
    let known: BTreeSet<_> = KEYS.iter().map(|key| key.path.to_owned()).collect();
    assert_eq!(documented, known);
    let everything = toml::to_string(&uncommented()).unwrap();
    let settings = with_file(&everything).unwrap();
    assert_eq!(settings.providers.len(), 3);
    assert!(settings.llm.temperature.is_some() && settings.nvrtc.path.is_some());
}

#[test]
fn every_flag_and_odd_variable_is_named_in_the_file() {
    for key in KEYS {
        if let Some(flag) = key.flag {
            assert!(DEFAULTS.contains(&format!("--{flag}")), "--{flag}");
        }
        let derived = format!("KGEN_{}", key.path.replace('.', "_").to_uppercase());
        assert!(key.env == derived || DEFAULTS.contains(key.env), "{}", key.env);
    }
}

#[test]
fn every_default_passes_its_own_check_and_agrees_with_the_records() {
    let table: Table = DEFAULTS.parse().unwrap();
    for key in KEYS {
        let value = key
            .path
            .split('.')
            .try_fold(Value::Table(table.clone()), |value, name| value.get(name).cloned());
        if let Some(value) = value {
            assert!(key.kind.check(value).is_some(), "{}", key.path);
        }
    }
    let settings = defaults();
    assert_eq!(Limits::from(settings.limits), Limits::default());
    assert_eq!(settings.device.emu.target(), Target::h100_class());
}

#[test]
fn a_later_layer_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kgen.toml");
    std::fs::write(&path, "[run]\nmax_attempts = 2\nmax_concurrent_ops = 2\nseed = 2\n").unwrap();
    let variable = |name: &str| match name {
        "KGEN_BUDGET_CALLS" | "KGEN_RUN_SEED" => Some("3".to_owned()),
        "KGEN_SUITE_DTYPES" => Some("f32, bf16".to_owned()),
        "KGEN_OFFLINE" => Some("1".to_owned()),
        _ => None,
    };
    let mut flags = Overrides::default();
    flags.set("run.seed", Some(4));
    flags.set("run.output_dir", None::<String>);
    let settings = resolve_with(Some(&path), &variable, &flags).unwrap().settings;
    assert_eq!(settings.run.max_attempts, 2);
    assert_eq!(settings.budget.calls, Some(3));
    assert_eq!(settings.run.seed, Some(4));
    assert_eq!(settings.suite.dtypes, [DType::F32, DType::BF16]);
    assert!(settings.nvrtc.offline);
    assert_eq!(settings.run.output_dir, Path::new("generated_kernels"));
}

#[test]
fn an_unknown_setting_names_the_nearest_one_and_its_section() {
    for (text, key, advice) in [
        (
            "[run]\nmax_atempts = 1",
            "run.max_atempts",
            "did you mean `max_attempts`? It lives in `[run]`",
        ),
        (
            "[lmm]\nmodel = 'x'",
            "lmm.model",
            "did you mean the section `[llm]`? Its settings are provider, ",
        ),
        (
            "[budgets]\nusd = 1",
            "budgets.usd",
            "did you mean the section `[budget]`? Its settings are usd, ",
        ),
        ("[provider.x]\nkind = 'command'", "provider.x.kind", "the section `[providers.NAME]`?"),
        ("[sute]", "sute", "did you mean the section `[suite]`?"),
        ("[llm]\nmax_attempts = 1", "llm.max_attempts", "`max_attempts` lives in `[run]`"),
        (
            "[llm]\ncommand.argv = ['x']",
            "llm.command.argv",
            "`command` lives in `[providers.NAME]`",
        ),
        ("[run]\nbase_url = 'x'", "run.base_url", "lives in `[llm]` and `[providers.NAME]`"),
        ("[run]\narch = 'x'", "run.arch", "`arch` lives in `[device.emu]`"),
        (
            "[device.emu]\nsm_cont = 1",
            "device.emu.sm_cont",
            "`sm_count`? It lives in `[device.emu]`",
        ),
        (
            "[llm]\nprecison = 'low'",
            "llm.precison",
            "did you mean `precision`? It lives in `[suite]`",
        ),
        ("max_attempts = 1", "max_attempts", "`max_attempts` lives in `[run]`"),
        ("sede = 1", "sede", "did you mean `seed`? It lives in `[run]`"),
        ("run = 3", "run", "`[run]` is a section; its settings are output_dir, "),
        (
            "[run.seed]\nx = 1",
            "run.seed.x",
            "`seed` in `[run]` takes an integer of at least 0, not a table",
        ),
        (
            "[providers.a.b]\n",
            "providers.a.b",
            "the settings of `[providers.NAME]` are kind, base_url, ",
        ),
        (
            "[providers.a]\nargv = []",
            "providers.a.argv",
            "the settings of `[providers.NAME]` are kind, ",
        ),
        (
            "[providers.a]\nurl_base = 'x'",
            "providers.a.url_base",
            "the settings of `[providers.NAME]`",
        ),
        (
            "[models.'m.1']\ncontext = 9",
            "models.m.1.context",
            "`context_tokens`? It lives in `[models.NAME]`",
        ),
        (
            "[models.m]\nprice.inptu = 9",
            "models.m.price.inptu",
            "`input`? It lives in `[models.NAME.price]`",
        ),
        ("[models.m]\nmax_tokens = 9", "models.m.max_tokens", "`max_tokens` lives in `[llm]`"),
        (
            "[budget]\nmax_calls = 3",
            "budget.max_calls",
            "did you mean `calls`? It lives in `[budget]`",
        ),
        ("[llm]\nqqq = 1", "llm.qqq", "the settings of `[llm]` are provider, model, "),
        ("[xyzzy]", "xyzzy", "the sections are [run], [search], "),
    ] {
        let error = with_file(text).unwrap_err();
        let Error::UnknownKey { key: found, .. } = &error else { panic!("{text}: {error}") };
        assert_eq!(found, key);
        let hint = error.hint().unwrap();
        assert!(hint.contains(advice), "{text}: {hint}");
    }
}

#[test]
fn bad_values_name_the_setting_and_what_it_takes() {
    for (text, message) in [
        ("[run]\nmax_attempts = 0", "must be an integer of at least 1, not `0`"),
        ("[run]\nmax_attempts = 'many'", "must be an integer of at least 1, not the text `many`"),
        ("[run]\nmax_attempts = '3'", "must be an integer of at least 1, not the text `3`"),
        ("[run]\nreuse_evals = 1", "must be true or false, not `1`"),
        ("[suite]\nops = 'relu'", "must be a list of names, not the text `relu`"),
        ("[device]\ndevice = 'tpu'", "must be auto, emu, cuda or cuda:N,cuda:M, not `tpu`"),
        ("[suite]\ndtypes = ['f8']", "must be a list of element types such as f32"),
        ("[suite]\nmax_bytes = '64 apples'", "must be a number of bytes such as 64MiB"),
        ("[limits]\ncase_s = 0", "must be a number above 0, not `0`"),
        ("[llm]\ntemperature = nan", "must be a number of at least 0, not `nan`"),
        ("run = 3", "unknown setting `run`"),
        ("[run", "is not valid TOML"),
        ("[run]\nmax_attempts = 99999999999", "do not fit together"),
        ("[providers.x]\nbase_url = 'http://a'", "do not fit together"),
        ("[providers.x]\ncommand = 'x'", "`providers.x.command` (in "),
        ("[providers.x]\ncommand = 'x'", "must be a list of names, not the text `x`"),
        ("[providers]\nx = 'y'", "must be a table, not the text `y`"),
        (
            "[providers.x]\nkind = 'openai-chatt'",
            "must be anthropic, openai-chat, openai-responses or command, not `openai-chatt`",
        ),
        ("[models.m]\nprice = 3", "`models.m.price` (in "),
        ("[models.m]\nprice.input = 'free'", "must be a number of at least 0, not the text `free`"),
    ] {
        let error = with_file(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
    let missing = resolve_with(Some(Path::new("/nowhere/x.toml")), &none, &Overrides::default());
    assert!(missing.unwrap_err().to_string().contains("/nowhere/x.toml"));
}

#[test]
fn an_unknown_type_of_a_list_is_named_and_a_near_one_suggested() {
    for (list, wrong, advice) in [
        ("['f32', 'f99', 'bf16']", "not `f99`", "the element types are f64, f32"),
        ("['bf61']", "not `bf61`", "did you mean `bf16`?"),
        ("['f16', 'torch.float32']", "not `torch.float32`", "did you mean `f32`?"),
    ] {
        let error = with_file(&format!("[suite]\ndtypes = {list}")).unwrap_err();
        assert!(error.to_string().ends_with(wrong), "{error}");
        assert!(error.hint().unwrap().starts_with(advice), "{:?}", error.hint());
    }
    let variable = |name: &str| (name == "KGEN_SUITE_DTYPES").then(|| "f32, u9".to_owned());
    let error = resolve_with(None, &variable, &Overrides::default()).unwrap_err();
    assert!(error.to_string().ends_with("not `u9`"), "{error}");
}

#[test]
fn bad_variables_and_flags_say_where_they_came_from() {
    let variable = |name: &str| (name == "KGEN_DEVICE_JOBS").then(|| "two".to_owned());
    let error = resolve_with(None, &variable, &Overrides::default()).unwrap_err();
    assert!(error.to_string().contains("variable KGEN_DEVICE_JOBS"), "{error}");
    let mut flags = Overrides::default();
    flags.set("device.device", Some("gpu7"));
    let error = resolve_with(None, &none, &flags).unwrap_err();
    assert!(error.to_string().contains("flag --device"), "{error}");
}

#[test]
fn providers_and_relative_paths_come_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kgen.toml");
    let text = "[suite]\nsuite = 'mine.toml'\n[prompts]\ndir = 'p'\n[providers.local]\n\
                kind = 'openai-chat'\nbase_url = 'http://127.0.0.1:1/v1'\n";
    std::fs::write(&path, text).unwrap();
    let settings = resolve_with(Some(&path), &none, &Overrides::default()).unwrap().settings;
    assert_eq!(settings.providers["local"].kind, "openai-chat");
    assert_eq!(settings.prompts.dir.unwrap(), folder.path().join("p"));
    assert_eq!(Path::new(&settings.suite.suite), folder.path().join("mine.toml"));
}

#[test]
fn settings_survive_json_because_every_run_stores_them() {
    let settings = defaults();
    let json = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
}

#[test]
fn flags_change_settings_that_were_stored() {
    let mut flags = Overrides::default();
    flags.set("run.max_attempts", Some(9));
    flags.set("llm.replay", Some("demo"));
    let before = defaults();
    let after = before.with(&flags).unwrap();
    assert_eq!((after.run.max_attempts, after.llm.replay.as_deref()), (9, Some("demo")));
    assert_eq!(after.with(&Overrides::default()).unwrap(), after);
    flags.set("run.max_attempts", Some(0));
    assert!(before.with(&flags).is_err());
}

#[test]
fn devices_are_read_as_they_are_shown() {
    for text in ["auto", "emu", "cuda", "cuda:0", "cuda:12", "cuda:64", "cuda:0,cuda:63"] {
        assert_eq!(text.parse::<DeviceChoice>().unwrap().to_string(), text);
    }
    for (text, shown) in [
        ("cuda:all", "cuda"),
        ("cuda:1, cuda:0,cuda:1", "cuda:0,cuda:1"),
        ("cuda:3,cuda:3", "cuda:3"),
    ] {
        assert_eq!(text.parse::<DeviceChoice>().unwrap().to_string(), shown);
    }
    assert_eq!("cuda:5,cuda:2".parse::<DeviceChoice>().unwrap().first_gpu(), 2);
    for text in [
        "",
        "gpu",
        "cuda:",
        "cuda:x",
        "cuda:-1",
        "CUDA:0",
        "cuda:0,",
        "cuda:0,emu",
        "cuda:0,cuda:64",
    ] {
        assert!(text.parse::<DeviceChoice>().is_err(), "{text}");
    }
    assert_eq!(Kind::Bool.parse("maybe"), None);
}

#[test]
fn stored_settings_are_read_and_unknown_ones_are_not() {
    let run = include_str!("../../../generated_kernels/demo/run.json");
    let run: serde_json::Value = serde_json::from_str(run).unwrap();
    let mut settings = run["settings"].clone();
    let read: Settings = serde_json::from_value(settings.clone()).unwrap();
    assert_eq!(read.timing.baselines, ["builtin"]);
    settings["timing"]["invented"] = 1.into();
    let error = serde_json::from_value::<Settings>(settings).unwrap_err().to_string();
    assert!(error.contains("unknown field `invented`"), "{error}");
}

#[test]
fn a_models_name_may_hold_dots() {
    let text = "[models.\"gpt-5.6\"]\ncontext_tokens = 9\nprice = { input = 1, output = 2.5 }\n\
                [models.other]\nefforts = [\"low\"]\n";
    let settings = with_file(text).unwrap();
    let model = &settings.models["gpt-5.6"];
    assert_eq!(model.context_tokens, Some(9));
    assert_eq!(model.price.map(|price| price.output), Some(2.5));
    assert_eq!(settings.models["other"].efforts, Some(vec![Effort::Low]));
    assert!(with_file("[models.m]\ncontext = 9\n").is_err());
}

#[test]
fn times_feedback_and_thinking_are_read_as_people_write_them() {
    let (seconds, feedback) = (Kind::Seconds, Kind::Feedback);
    for (text, expected) in [("90", 90.0), ("1.5h", 5400.0), ("10m", 600.0), ("2 d", 172_800.0)] {
        assert_eq!(seconds.parse(text), Some(Value::Float(expected)), "{text}");
    }
    for bad in ["0", "-1", "0s", "h", "1 parsec", ""] {
        assert_eq!(seconds.parse(bad), None, "{bad}");
    }
    let names = |text: &str| feedback.parse(text).map(|value| value.as_array().unwrap().len());
    assert_eq!((names("all"), names("none"), names("timing,compile")), (Some(7), Some(0), Some(2)));
    assert_eq!((names("speed"), names("all,timing")), (None, None));
    let thinking = |value: Value| Kind::Thinking.check(value);
    assert_eq!(thinking(Value::Integer(2048)), Some("2048".into()));
    assert_eq!(thinking("adaptive".into()), Some("adaptive".into()));
    assert_eq!((thinking("0".into()), thinking("hard".into())), (None, None));
}
