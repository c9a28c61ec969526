//! The models that a provider has, asked for only to help with a name that it does not know.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::Http;

/// A help that is not there at once is no help.
const PATIENCE: Duration = Duration::from_secs(5);

impl Http {
    /// Returns the names of the provider's models; `None` where it does not say.
    pub(super) async fn models(&self) -> Option<Vec<String>> {
        let url = self.url(self.access.wire.models_path());
        let request = self.client.get(url).headers(self.headers.clone());
        let body = timeout(PATIENCE, async { request.send().await?.bytes().await }).await;
        names(&serde_json::from_slice(&body.ok()?.ok()?).ok()?)
    }
}

fn names(list: &Value) -> Option<Vec<String>> {
    let models = list.get("data").or_else(|| list.get("models"))?.as_array()?;
    let name = |model: &Value| {
        let name = model.get("id").or_else(|| model.get("name"))?;
        name.as_str().map(str::to_owned)
    };
    let mut names: Vec<_> = models.iter().filter_map(name).collect();
    names.sort_unstable();
    Some(names)
}
