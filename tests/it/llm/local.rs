//! Providers without a server, and how settings name providers.

use super::*;

fn local(access: Access) -> Client {
    Client::new(ProviderConfig::new("local", "m", 1, access), Budget::default()).unwrap()
}

#[tokio::test]
async fn a_mailbox_asks_once_or_waits_for_the_file() {
    let wait = |ms| {
        let (wait, poll) = (Duration::from_millis(ms), Duration::from_millis(5));
        local(Access::Mailbox(MailboxAccess { wait, poll }))
    };
    let log = Log::default();
    let error = complete(&wait(0), &log).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "relu_attempt_1.call_1 awaits its reply in relu_attempt_1.call_1.reply.md"
    );
    assert_eq!((log.kinds(), error.scope()), (vec!["request"], Scope::Op));
    let client = wait(10_000);
    let later = async {
        tokio::time::sleep(Duration::from_millis(15)).await;
        *log.awaited.lock().unwrap() = Some("code".to_owned());
    };
    let (reply, ()) = tokio::join!(complete(&client, &log), later);
    assert_eq!(reply.unwrap().text, "code");
}

struct Tape(BTreeMap<u32, RecordedReply>);

impl Recording for Tape {
    fn reply(&self, attempt: &AttemptId, _turn: Turn) -> Result<Option<RecordedReply>, LogError> {
        Ok(self.0.get(&attempt.number).cloned())
    }
}

#[tokio::test]
async fn a_replay_notes_another_prompt_and_knows_its_end() {
    let (_, log, _) = against(vec![chat("code", "stop")]).await;
    let record = log.replies.lock().unwrap()[0].clone();
    for (prompt_hash, differs) in [(Some(prompt_hash(&call())), false), (None, true)] {
        let recorded = RecordedReply { record: record.clone(), prompt_hash };
        let client = local(Access::Replay(Arc::new(Tape([(1, recorded)].into()))));
        let reply = complete(&client, &Log::default()).await.unwrap();
        assert_eq!(reply.text, "code");
        assert_eq!(reply.replayed.unwrap().prompt_differs, differs);
    }
    let client = local(Access::Replay(Arc::new(Tape(BTreeMap::new()))));
    let log = Log::default();
    let error = complete(&client, &log).await.unwrap_err();
    assert!(matches!(error, Error::EndOfRecording { .. }) && log.kinds().is_empty());
}

fn shell(script: &str, reply_pointer: Option<&str>, deadline_ms: u64) -> Client {
    local(Access::Command(CommandAccess {
        argv: ["sh", "-c", script, "{model}"].map(str::to_owned).to_vec(),
        effort: None,
        output: CommandOutput {
            reply_pointer: reply_pointer.map(str::to_owned),
            ..CommandOutput::default()
        },
        key: Some(("THE_KEY".to_owned(), KEY.into())),
        deadline: Duration::from_millis(deadline_ms),
    }))
}

#[tokio::test]
async fn a_command_gets_the_prompt_and_gives_the_reply() {
    let log = Log::default();
    let reply = complete(&shell("echo $0; cat", None, 5_000), &log).await.unwrap();
    assert_eq!(reply.text, "m\nYou write CUDA kernels.\n\nWrite relu.");
    let json = r#"echo '{"result": "code"}'"#;
    let reply = complete(&shell(json, Some("/result"), 5_000), &log).await.unwrap();
    assert_eq!(reply.text, "code");
    let plain = r#"echo 'printed:'; echo '{"type": "error"}'"#;
    let reply = complete(&shell(plain, None, 5_000), &log).await.unwrap();
    assert_eq!(reply.text, "printed:\n{\"type\": \"error\"}\n", "the output is the reply");
    let error = complete(&shell(plain, Some("/result"), 5_000), &log).await.unwrap_err();
    assert!(error.to_string().contains("it reports an error"), "{error}");
    let leaky = "echo warn >&2; echo bad key $THE_KEY >&2; exit 3";
    let error = complete(&shell(leaky, None, 5_000), &log).await.unwrap_err();
    insta::assert_snapshot!(error, @r#"the command of provider `local` failed: it exited with code 3: warn | bad key [redacted]"#);
    let missing = Access::Command(CommandAccess {
        argv: vec!["/nowhere/at-all".to_owned()],
        effort: None,
        output: CommandOutput::default(),
        key: None,
        deadline: Duration::from_secs(1),
    });
    let error = complete(&local(missing), &log).await.unwrap_err();
    assert!(error.to_string().contains("failed to start `/nowhere/at-all`"), "{error}");
    assert_eq!(error.scope(), Scope::Run);
    let error = complete(&shell("sleep 60", None, 50), &log).await.unwrap_err();
    assert!(error.to_string().contains("no reply within 0.05 s"), "{error}");
}

#[test]
fn settings_resolve_to_providers_or_say_what_is_missing() {
    let defaults = resolve_with(None, &|_| None, &Overrides::default()).unwrap();
    let llm = defaults.settings.llm;
    let own = ProviderSettings {
        kind: "openai-chat".to_owned(),
        base_url: Some("http://127.0.0.1:1/v1".to_owned()),
        key_env: None,
        model: Some("mine".to_owned()),
        version: None,
        command: None,
        reply_pointer: None,
        reply_file: None,
        usage_pointer: None,
        cost_pointer: None,
        extra_body: serde_json::Map::new(),
        drop: Vec::new(),
        stream: None,
    };
    let providers = BTreeMap::from([("own".to_owned(), own)]);
    let resolve = |name: &str, llm: &LlmSettings, key: bool| {
        let lookup = |variable: &str| (key && variable.ends_with("_KEY")).then(|| KEY.into());
        from_settings(name, llm, &providers, &BTreeMap::new(), &lookup)
            .map_err(|error| error.to_string())
    };
    assert_eq!(resolve("own", &llm, false).unwrap().model, "mine");
    assert_eq!(resolve("anthropic", &llm, true).unwrap().model, "claude-opus-5-5");
    assert!(matches!(resolve("mailbox", &llm, false).unwrap().access, Access::Mailbox(_)));
    for (name, expected) in [
        ("anthropic", "needs a key: set the environment variable ANTHROPIC_API_KEY"),
        ("ollama", "no model is named: give one with --llm-model"),
        ("anthropc", "did you mean `anthropic`?"),
        ("nobody-knows", "there is no such provider (known: anthropic, openai,"),
    ] {
        let error = resolve(name, &llm, false).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
