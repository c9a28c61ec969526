//! `--llm-cache`: replies kept from one run for equal requests of another.

use std::{path::Path, sync::Arc};

use kgen_llm::{
    Access, Budget, BudgetCaps, CacheAccess, Call, Client, CommandAccess, CommandOutput, Error,
    HttpAccess, Pricer, ProviderConfig, ReplyRecord, preset,
};
use kgen_record::Caps;
use kgen_settings::LlmCache;
use kgen_store::ReplyCacheFolder;
use serde_json::json;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use crate::llm::{Log, call};

const KEY: &str = "sk-cache-0123456789";

async fn server() -> MockServer {
    let server = MockServer::start().await;
    let response = ResponseTemplate::new(200).insert_header("x-request-id", "r-1").set_body_json(json!({
        "id": "c-1", "model": "m-1", "choices": [{"message": {"content": "code"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 7, "cost": 0.25},
    }));
    Mock::given(method("POST")).respond_with(response).mount(&server).await;
    server
}

fn client(url: &str, dir: &Path, mode: LlmCache, seed: Option<u64>) -> Client {
    let mut access = HttpAccess::new(preset("openrouter").unwrap(), Some(KEY.into()));
    access.base_url = format!("{url}/v1");
    access.retry.max_tries = 1;
    let replies = Arc::new(ReplyCacheFolder::new(dir.to_owned()));
    let config = ProviderConfig {
        cache: Some(CacheAccess { mode, replies, seed }),
        ..ProviderConfig::new("test", "m", 4, Access::Http(Box::new(access)))
    };
    Client::new(config, Budget::default()).unwrap()
}

async fn ask(client: &Client, call: &Call) -> (Result<ReplyRecord, Error>, Log) {
    let log = Log::default();
    (client.complete(call, &log).await, log)
}

#[tokio::test]
async fn kept_replies_answer_equal_requests_without_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let server = server().await;
    let url = server.uri();
    for mode in [LlmCache::Record, LlmCache::Record, LlmCache::Auto] {
        let (reply, _) = ask(&client(&url, dir.path(), mode, None), &call()).await;
        assert_eq!(reply.unwrap().cached.is_some(), mode == LlmCache::Auto);
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 2, "record asks every time");
    drop(server);

    for mode in [LlmCache::Auto, LlmCache::Only] {
        let (reply, log) = ask(&client(&url, dir.path(), mode, None), &call()).await;
        let reply = reply.unwrap();
        assert_eq!((reply.text.as_str(), reply.seconds), ("code", 0.0));
        assert_eq!((reply.usage.output, reply.usage.cost_usd), (Some(7), Some(0.25)));
        assert!(reply.cached.unwrap().seconds > 0.0);
        assert_eq!(log.kinds(), ["request", "reply"]);
        let record = log.replies.lock().unwrap()[0].clone();
        assert_eq!(record.spend, kgen_record::Spend::default(), "it costs nothing now");
        let response = record.response.unwrap();
        assert_eq!(response.headers["x-request-id"], "r-1");
        assert!(String::from_utf8(response.body).unwrap().contains("\"completion_tokens\":7"));
        assert!(log.requests.lock().unwrap()[0].body.contains("Write relu."));
    }
}

#[tokio::test]
async fn samples_and_seeds_have_replies_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let server = server().await;
    let url = server.uri();
    let second = Call { sample: 2, ..call() };
    let warmer = Call { temperature: Some(0.5), ..call() };
    for (seed, call) in
        [(None, call()), (None, second.clone()), (Some(1), call()), (None, warmer), (None, second)]
    {
        ask(&client(&url, dir.path(), LlmCache::Auto, seed), &call).await.0.unwrap();
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 4);
}

#[tokio::test]
async fn only_says_what_is_different_and_opens_no_socket() {
    let dir = tempfile::tempdir().unwrap();
    let server = server().await;
    let url = server.uri();
    let only = |seed| client(&url, dir.path(), LlmCache::Only, seed);
    let (reply, log) = ask(&only(None), &call()).await;
    let error = reply.unwrap_err().to_string();
    assert!(error.ends_with(&format!("nothing is kept in {}", dir.path().display())), "{error}");
    assert!(log.kinds().is_empty(), "nothing is on record for a call that is not made");

    ask(&client(&url, dir.path(), LlmCache::Record, None), &call()).await.0.unwrap();
    for (seed, call, expected) in [
        (None, Call { sample: 3, ..call() }, "sample (1 there, 3 here)"),
        (Some(7), call(), "seed (none there, 7 here)"),
        (None, Call { max_tokens: 5, ..call() }, "`/max_tokens` (1000 there, 5 here)"),
        (
            None,
            Call { prompt: "Write\ngelu.".to_owned(), ..call() },
            "`/messages/1/content` line 1 (`Write relu.` there, `Write` here)",
        ),
    ] {
        let (reply, _) = ask(&only(seed), &call).await;
        let error = reply.unwrap_err();
        assert!(matches!(error, Error::NotCached { .. }));
        let expected = format!(
            "no reply is kept for relu_attempt_1.call_1, and `--llm-cache only` sends nothing: the \
             nearest one that is differs in {expected}"
        );
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(dir).unwrap().flatten();
    folders
        .flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten())
        .map(|file| file.path())
        .collect()
}

#[tokio::test]
async fn a_kept_reply_holds_no_key_and_a_damaged_one_is_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let server = server().await;
    let url = server.uri().replace("http://", &format!("http://user:{KEY}@"));
    ask(&client(&url, dir.path(), LlmCache::Auto, None), &call()).await.0.unwrap();
    let file = files(dir.path()).remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(KEY), "{text}");

    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    let (reply, _) = ask(&client(&url, dir.path(), LlmCache::Only, None), &call()).await;
    assert!(matches!(reply.unwrap_err(), Error::Read { .. }));
    ask(&client(&url, dir.path(), LlmCache::Auto, None), &call()).await.0.unwrap();
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
    let again = std::fs::read_to_string(&file).unwrap();
    assert!(
        serde_json::from_str::<serde_json::Value>(&again).is_ok(),
        "it is whole again: {again}"
    );
}

#[tokio::test]
async fn a_reply_that_cannot_be_used_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let server = MockServer::start().await;
    let empty = ResponseTemplate::new(200).set_body_json(json!({
        "choices": [{"message": {"content": "", "refusal": "no"}, "finish_reason": "content_filter"}],
    }));
    Mock::given(method("POST")).respond_with(empty).mount(&server).await;
    for _ in 0..2 {
        let client = client(&server.uri(), dir.path(), LlmCache::Auto, None);
        assert!(ask(&client, &call()).await.0.is_err());
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 2, "it is asked for again");
}

#[tokio::test]
async fn a_cap_on_time_holds_for_kept_replies_too() {
    let dir = tempfile::tempdir().unwrap();
    let server = server().await;
    ask(&client(&server.uri(), dir.path(), LlmCache::Record, None), &call()).await.0.unwrap();
    let replies = Arc::new(ReplyCacheFolder::new(dir.path().to_owned()));
    let mut access = HttpAccess::new(preset("openrouter").unwrap(), Some(KEY.into()));
    access.base_url = format!("{}/v1", server.uri());
    let config = ProviderConfig {
        cache: Some(CacheAccess { mode: LlmCache::Only, replies, seed: None }),
        ..ProviderConfig::new("test", "m", 4, Access::Http(Box::new(access)))
    };
    let run = Caps { seconds: Some(60.0), ..Caps::default() };
    let caps = BudgetCaps { run, ..BudgetCaps::default() };
    let budget = Budget::new(caps, Pricer::free(), Some(1000)).unwrap();
    let client = Client::new(config, budget.clone()).unwrap();
    assert!(ask(&client, &call()).await.0.unwrap().cached.is_some());
    budget.charge_seconds(60.0);
    assert!(matches!(ask(&client, &call()).await.0, Err(Error::Budget { .. })));
}

#[tokio::test]
async fn a_kept_reply_takes_nothing_from_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let server = server().await;
    ask(&client(&server.uri(), dir.path(), LlmCache::Record, None), &call()).await.0.unwrap();
    let replies = Arc::new(ReplyCacheFolder::new(dir.path().to_owned()));
    let mut access = HttpAccess::new(preset("openrouter").unwrap(), Some(KEY.into()));
    access.base_url = format!("{}/v1", server.uri());
    let config = ProviderConfig {
        cache: Some(CacheAccess { mode: LlmCache::Auto, replies, seed: None }),
        ..ProviderConfig::new("test", "m", 4, Access::Http(Box::new(access)))
    };
    let caps =
        BudgetCaps { run: Caps { calls: Some(1), ..Caps::default() }, ..BudgetCaps::default() };
    let budget = Budget::new(caps, Pricer::free(), Some(1000)).unwrap();
    let client = Client::new(config, budget).unwrap();
    for _ in 0..3 {
        assert!(ask(&client, &call()).await.0.unwrap().cached.is_some());
    }
    let other = Call { sample: 9, ..call() };
    assert!(ask(&client, &other).await.0.unwrap().cached.is_none());
    assert!(matches!(
        ask(&client, &Call { sample: 8, ..call() }).await.0,
        Err(Error::Budget { .. })
    ));
}

#[tokio::test]
async fn replies_of_commands_are_kept_by_what_they_were_given() {
    let dir = tempfile::tempdir().unwrap();
    let client = |script: &str, mode| {
        let access = CommandAccess {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            effort: None,
            output: CommandOutput::default(),
            key: None,
            deadline: std::time::Duration::from_secs(20),
        };
        let replies = Arc::new(ReplyCacheFolder::new(dir.path().to_owned()));
        let config = ProviderConfig {
            cache: Some(CacheAccess { mode, replies, seed: None }),
            ..ProviderConfig::new("test", "m", 4, Access::Command(access))
        };
        Client::new(config, Budget::default()).unwrap()
    };
    let first = ask(&client("cat; date +%N", LlmCache::Auto), &call()).await.0.unwrap();
    let (again, log) = ask(&client("cat; date +%N", LlmCache::Only), &call()).await;
    assert_eq!((first.cached, first.text), (None, again.unwrap().text));
    assert_eq!(log.requests.lock().unwrap()[0].command, ["sh", "-c", "cat; date +%N"]);
    let (other, _) = ask(&client("cat", LlmCache::Only), &call()).await;
    let error = other.unwrap_err().to_string();
    assert!(error.contains("`/argv/2` line 1 (`cat; date +%N` there, `cat` here)"), "{error}");
}
