//! Which LLM provider a command uses.

use std::{path::Path, sync::Arc};

use super::{
    CommandError,
    bundled::{self, UnpackedDemo},
};
use crate::{
    llm::{self, Access, PRESETS, ProviderConfig},
    settings::{Settings, env},
    store::{RecordedRun, Run, find_run},
};

/// A provider with what belongs to it.
#[derive(Debug)]
pub(crate) struct Provider {
    /// The provider, ready to be called.
    pub(crate) config: ProviderConfig,
    /// The recording that is replayed, by its name, and opened.
    pub(crate) recording: Option<(String, Run)>,
    /// Whether a call may wait for its reply beyond the end of this process.
    pub(crate) calls_wait: bool,
    /// Keeps the unpacked files of the bundled session.
    _demo: Option<UnpackedDemo>,
}

/// Replaces `auto` by the provider whose key is there, else by a replay of the bundled session.
///
/// Returns whether it came to the latter.
pub(crate) fn settle(settings: &mut Settings) -> bool {
    if settings.llm.provider != "auto" {
        return false;
    }
    if let Some(name) = llm::auto_provider(&env::secret) {
        name.clone_into(&mut settings.llm.provider);
        return false;
    }
    // A server of one's own may need no key.
    if settings.llm.base_url.is_some() {
        "openai".clone_into(&mut settings.llm.provider);
        return false;
    }
    "replay".clone_into(&mut settings.llm.provider);
    settings.llm.replay = Some(bundled::DEMO.to_owned());
    true
}

/// Opens the provider that the settings name; `auto` must be settled.
pub(crate) fn open(settings: &Settings) -> Result<Provider, CommandError> {
    let name = settings.llm.provider.as_str();
    if name == "replay" {
        return replay(settings);
    }
    let config = llm::from_settings(name, &settings.llm, &settings.providers, &env::secret)?;
    let calls_wait = matches!(config.access, Access::Mailbox(_));
    Ok(Provider { config, recording: None, calls_wait, _demo: None })
}

fn replay(settings: &Settings) -> Result<Provider, CommandError> {
    let Some(name) = &settings.llm.replay else {
        return Err(CommandError::usage("the provider `replay` needs a run to replay").hint(
            format!("--replay RUN names it; `--replay {}` is the bundled one", bundled::DEMO),
        ));
    };
    let (run, demo) = if name == bundled::DEMO {
        let demo = UnpackedDemo::new()?;
        (demo.run()?, Some(demo))
    } else {
        (Run::open(&find_run(&settings.run.output_dir, name)?)?, None)
    };
    let config = ProviderConfig {
        name: "replay".to_owned(),
        model: run.info().model.clone().unwrap_or_default(),
        max_concurrency: settings.llm.concurrency,
        access: Access::Replay(Arc::new(RecordedRun::new(run.clone()))),
    };
    let recording = Some((name.clone(), run));
    Ok(Provider { config, recording, calls_wait: false, _demo: demo })
}

/// Lists the providers there are, with what they are.
pub(crate) fn known(settings: &Settings) -> Vec<(String, String)> {
    let mut known = Vec::new();
    for preset in PRESETS {
        let key = preset.key_variable.map_or_else(
            || "no key needed".to_owned(),
            |variable| {
                let there = if env::secret(variable).is_some() { "set" } else { "not set" };
                format!("{variable} is {there}")
            },
        );
        known.push((
            preset.name.to_owned(),
            format!("{} at {}; {key}", preset.kind.name(), preset.base_url),
        ));
    }
    for (name, what) in LOCAL {
        known.push((name.to_owned(), what.to_owned()));
    }
    for (name, provider) in &settings.providers {
        let url = provider.base_url.as_deref().unwrap_or("-");
        known.push((name.clone(), format!("of the config file; base URL {url}")));
    }
    known
}

const LOCAL: [(&str, &str); 2] = [
    ("mailbox", "a person or another machine writes the reply files"),
    ("replay", "the replies of another run"),
];

/// Tells whether a folder is one of the sessions that come with kgen, and not a user's run.
pub(crate) fn is_demo(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name == bundled::DEMO || name.starts_with("demo-"))
}
