//! Prices of calls: by the provider's own word, by the user's prices, or by a bundled table.

use std::{collections::BTreeMap, net::IpAddr, time::SystemTime};

use genai_prices::{Calculator, ErrorKind, PriceRequest, UsageKey};
use kgen_record::Spend;
use kgen_settings::{ModelSettings, PriceSettings};

use super::{Access, BudgetError, ProviderConfig, Usage, Worst};

/// The bundled table with its version, as it is recorded beside a cost.
pub const PRICE_TABLE: &str = "genai-prices 0.2.1";

/// Source on record of a cost that the provider reported itself.
const BY_PROVIDER: &str = "provider";

/// Source on record of a cost by prices of the config file.
const BY_CONFIG: &str = "config";

/// Knows the cost of the calls of one provider and model.
#[derive(Debug, Clone)]
pub struct Pricer {
    provider: String,
    model: String,
    rates: Rates,
}

#[derive(Debug, Clone)]
enum Rates {
    /// Nothing is sent, so nothing is paid.
    Free,
    Set(PriceSettings),
    /// Those of the bundled table for the API at this URL.
    Table {
        url: String,
        service_tier: Option<String>,
    },
    Unknown,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Priced {
    pub(super) usd: f64,
    /// Where the price is from.
    pub(super) source: String,
}

impl Pricer {
    /// Returns the pricer of calls that are not sent anywhere.
    #[must_use]
    pub fn free() -> Self {
        Self { provider: String::new(), model: String::new(), rates: Rates::Free }
    }

    #[cfg(test)]
    pub(super) fn set(price: PriceSettings) -> Self {
        Self { rates: Rates::Set(price), ..Self::unknown("test", "model") }
    }

    #[cfg(test)]
    pub(super) fn unknown(provider: &str, model: &str) -> Self {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        Self { provider, model, rates: Rates::Unknown }
    }

    /// Finds out the cost of the calls of a provider: by the user's table of models, else by the
    /// bundled one, which is asked for the API at the provider's base URL. Servers of one's own are
    /// in no table.
    ///
    /// # Errors
    ///
    /// [`BudgetError::BadPrice`].
    pub fn new(
        config: &ProviderConfig,
        models: &BTreeMap<String, ModelSettings>,
    ) -> Result<Self, BudgetError> {
        let (provider, model) = (config.name.clone(), config.model.clone());
        let set = models.get(&model).and_then(|settings| settings.price);
        let rates = match (&config.access, set) {
            (Access::Mailbox(_) | Access::Replay(_), _) => Rates::Free,
            (Access::Http(_) | Access::Command(_), Some(price)) => {
                check(&model, &price)?;
                Rates::Set(price)
            }
            (Access::Command(_), None) => Rates::Unknown,
            // The table takes a while to read.
            (Access::Http(http), None) if is_local(&http.base_url) => Rates::Unknown,
            (Access::Http(http), None) => {
                let tier = http.extra_body.get("service_tier").and_then(|tier| tier.as_str());
                let service_tier = tier.filter(|tier| *tier != "auto").map(str::to_owned);
                Rates::Table { url: http.base_url.clone(), service_tier }
            }
        };
        let pricer = Self { provider, model, rates };
        if pricer.worst(Worst { input_tokens: 1, output_tokens: 1 }).is_none() {
            return Ok(Self { rates: Rates::Unknown, ..pricer });
        }
        Ok(pricer)
    }

    /// Returns whether calls may cost something.
    #[must_use]
    pub const fn may_cost(&self) -> bool {
        !matches!(self.rates, Rates::Free)
    }

    /// Returns whether calls can be priced before they are made.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        !matches!(self.rates, Rates::Unknown)
    }

    /// Returns the names of the model and the provider.
    pub(super) fn names(&self) -> (&str, &str) {
        (&self.model, &self.provider)
    }

    /// Returns the cost of a call at most, in US dollars; `None` where nobody knows.
    pub(super) fn worst(&self, worst: Worst) -> Option<f64> {
        let Worst { input_tokens, output_tokens } = worst;
        let plain =
            Usage { input: Some(input_tokens), output: Some(output_tokens), ..Usage::default() };
        // Writing into a cache costs more than not having one.
        let cached = Usage { cache_write: Some(input_tokens), ..plain };
        Some(self.rate(&plain)?.max(self.rate(&cached)?))
    }

    /// Returns the cost of a call; `None` where its tokens or their price are unknown.
    pub(super) fn cost(&self, usage: &Usage) -> Option<Priced> {
        if let Some(usd) = usage.cost_usd.filter(|usd| usd.is_finite() && 0.0 <= *usd) {
            return Some(Priced { usd, source: BY_PROVIDER.to_owned() });
        }
        usage.input.zip(usage.output)?;
        Some(Priced { usd: self.rate(usage)?, source: self.source().to_owned() })
    }

    /// Returns the cost of a call at most, its worst case standing for unreported numbers.
    pub(super) fn cost_at_most(&self, usage: &Usage, worst: Worst) -> Option<f64> {
        let complete = Usage {
            input: usage.input.or(Some(worst.input_tokens)),
            output: usage.output.or(Some(worst.output_tokens)),
            ..*usage
        };
        self.rate(&complete)
    }

    /// Returns the cost of calls that had no price when they were made.
    pub(super) fn reprice(&self, spend: &Spend) -> Option<f64> {
        let usage = Usage {
            input: Some(spend.input_tokens),
            cache_read: Some(spend.cache_read_tokens),
            cache_write: Some(spend.cache_write_tokens),
            // Of a worst case only the sum is known: output is the dearer part.
            output: Some(spend.output_tokens.saturating_add(spend.assumed_tokens)),
            ..Usage::default()
        };
        self.rate(&usage)
    }

    fn source(&self) -> &str {
        match self.rates {
            Rates::Free | Rates::Unknown => "",
            Rates::Set(_) => BY_CONFIG,
            Rates::Table { .. } => PRICE_TABLE,
        }
    }

    fn rate(&self, usage: &Usage) -> Option<f64> {
        match &self.rates {
            Rates::Free => Some(0.0),
            Rates::Set(price) => Some(by_price(price, usage)),
            Rates::Table { url, service_tier } => {
                by_table(url, &self.model, service_tier.as_deref(), usage)
            }
            Rates::Unknown => None,
        }
    }
}

/// Returns whether a server runs on this machine.
fn is_local(url: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    match url.as_ref().and_then(reqwest::Url::host_str) {
        Some("localhost") => true,
        Some(host) => {
            host.trim_matches(['[', ']']).parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
        None => false,
    }
}

fn check(model: &str, price: &PriceSettings) -> Result<(), BudgetError> {
    let fields = [
        ("input", Some(price.input)),
        ("output", Some(price.output)),
        ("cache_read", price.cache_read),
        ("cache_write", price.cache_write),
    ];
    for (name, value) in fields {
        if let Some(value) = value.filter(|value| !value.is_finite() || *value < 0.0) {
            return Err(BudgetError::BadPrice { model: model.to_owned(), name, value });
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "no call has 2^52 tokens")]
fn by_price(price: &PriceSettings, usage: &Usage) -> f64 {
    let tokens = |count: Option<u64>| count.unwrap_or(0);
    let (read, write) = (tokens(usage.cache_read), tokens(usage.cache_write));
    let plain = tokens(usage.input).saturating_sub(read).saturating_sub(write);
    let parts = [
        (plain, price.input),
        (read, price.cache_read.unwrap_or(price.input)),
        (write, price.cache_write.unwrap_or(price.input)),
        (tokens(usage.output), price.output),
    ];
    parts.iter().map(|(tokens, price)| *tokens as f64 * price / 1e6).sum()
}

#[expect(clippy::cast_precision_loss, reason = "no call has 2^52 tokens")]
fn by_table(url: &str, model: &str, tier: Option<&str>, usage: &Usage) -> Option<f64> {
    let counts = [
        (UsageKey::INPUT_TOKENS, usage.input),
        (UsageKey::CACHE_READ_TOKENS, usage.cache_read),
        (UsageKey::CACHE_WRITE_TOKENS, usage.cache_write),
        (UsageKey::OUTPUT_TOKENS, usage.output),
        (UsageKey::OUTPUT_REASONING_TOKENS, usage.reasoning),
    ];
    let calculate = |counts: &[(UsageKey, Option<u64>)]| {
        let count = |(key, count): &(UsageKey, Option<u64>)| Some((key.clone(), (*count)? as f64));
        let usage: genai_prices::Usage = counts.iter().filter_map(count).collect();
        let request = PriceRequest::new(model, &usage)
            .with_provider_api_url(url)
            .with_timestamp(SystemTime::now());
        let request = match tier {
            Some(tier) => request.with_price_context("service_tier", tier),
            None => request,
        };
        Calculator::bundled().calculate(&request)
    };
    let price = match calculate(&counts) {
        // Some servers report parts that are larger than the whole: that alone is charged.
        Err(error) if error.kind() == ErrorKind::InvalidUsage => {
            let whole = [counts[0].clone(), counts[3].clone()];
            calculate(&whole).ok()?
        }
        priced => priced.ok()?,
    };
    Some(price.total_price)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use super::{PRICE_TABLE, Pricer};
    use crate::{
        Access, BudgetError, CommandAccess, CommandOutput, HttpAccess, MailboxAccess,
        ProviderConfig, Usage, Worst, preset,
    };
    use kgen_settings::{ModelSettings, PriceSettings};

    fn config(access: Access, model: &str) -> ProviderConfig {
        ProviderConfig::new("p", model, 1, access)
    }

    fn http(name: &str, model: &str) -> ProviderConfig {
        let access = HttpAccess::new(preset(name).unwrap(), None);
        config(Access::Http(Box::new(access)), model)
    }

    fn pricer(name: &str, model: &str) -> Pricer {
        Pricer::new(&http(name, model), &BTreeMap::new()).unwrap()
    }

    /// As the wire formats report it: cached tokens are part of the input.
    fn usage(input: u64, read: u64, write: u64, output: u64) -> Usage {
        Usage {
            input: Some(input),
            cache_read: Some(read),
            cache_write: Some(write),
            output: Some(output),
            ..Usage::default()
        }
    }

    fn check(pricer: &Pricer, usage: &Usage, expected: f64) {
        let priced = pricer.cost(usage).expect("it has a price");
        assert!((priced.usd - expected).abs() < 1e-9, "{} and not {expected}", priced.usd);
        assert_eq!(priced.source, PRICE_TABLE);
    }

    #[test]
    fn every_provider_s_tokens_are_priced_by_kind() {
        // 2 per million, cache reads 0.1, writes 2.5, output 10.
        let sonnet = pricer("anthropic", "claude-sonnet-5-5");
        check(&sonnet, &usage(10_000, 0, 0, 1_000), 0.02 + 0.01);
        check(&sonnet, &usage(10_000, 6_000, 3_000, 1_000), 0.002 + 0.0006 + 0.0075 + 0.01);
        // 1.25 per million, cache reads 0.125, output 10; reasoning is part of the output.
        let gpt = pricer("openai", "gpt-5");
        let reasoned = Usage { reasoning: Some(900), ..usage(10_000, 8_000, 0, 1_000) };
        check(&gpt, &reasoned, 0.0025 + 0.001 + 0.01);
        check(&pricer("openai-responses", "gpt-5"), &reasoned, 0.0025 + 0.001 + 0.01);
    }

    #[test]
    fn the_provider_s_own_word_goes_before_every_table() {
        let router = pricer("openrouter", "no/such-model");
        assert!(!router.is_known());
        let reported = Usage { cost_usd: Some(0.0123), ..usage(1, 0, 0, 1) };
        let priced = router.cost(&reported).unwrap();
        assert_eq!((priced.usd, priced.source.as_str()), (0.0123, "provider"));
        let nonsense = Usage { cost_usd: Some(f64::NAN), ..usage(1, 0, 0, 1) };
        assert_eq!(router.cost(&nonsense), None);
    }

    #[test]
    fn the_user_s_prices_go_before_the_table_and_local_servers_have_none() {
        let price =
            PriceSettings { input: 2.0, output: 8.0, cache_read: Some(0.5), cache_write: None };
        let models = |price| {
            let settings = ModelSettings { price: Some(price), ..ModelSettings::default() };
            BTreeMap::from([("qwen".to_owned(), settings)])
        };
        for name in ["ollama", "vllm", "sglang", "llamacpp"] {
            let local = pricer(name, "qwen");
            assert!(local.may_cost() && !local.is_known(), "{name}");
            assert_eq!(local.cost(&usage(1, 0, 0, 1)), None);
        }
        let set = Pricer::new(&http("ollama", "qwen"), &models(price)).unwrap();
        let priced = set.cost(&usage(1_000_000, 400_000, 100_000, 500_000)).unwrap();
        assert_eq!((priced.usd, priced.source.as_str()), (1.0 + 0.2 + 0.2 + 4.0, "config"));
        let wrong = PriceSettings { output: -1.0, ..price };
        let error = Pricer::new(&http("ollama", "qwen"), &models(wrong)).unwrap_err();
        assert!(matches!(error, BudgetError::BadPrice { name: "output", .. }), "{error}");
    }

    #[test]
    fn what_is_sent_to_nobody_costs_nothing_and_a_command_is_unpriced() {
        let mailbox = config(Access::Mailbox(MailboxAccess::default()), "");
        let pricer = Pricer::new(&mailbox, &BTreeMap::new()).unwrap();
        assert!(!pricer.may_cost() && pricer.is_known());
        let command = CommandAccess {
            argv: vec!["llm".to_owned()],
            effort: None,
            output: CommandOutput::default(),
            key: None,
            deadline: Duration::from_secs(1),
        };
        let pricer = Pricer::new(&config(Access::Command(command), "m"), &BTreeMap::new()).unwrap();
        assert!(pricer.may_cost() && !pricer.is_known());
    }

    #[test]
    fn a_worst_case_is_never_cheaper_than_what_comes_of_it() {
        let worst = Worst { input_tokens: 300_000, output_tokens: 4_000 };
        for (provider, model) in [("anthropic", "claude-opus-5-5"), ("openai", "gpt-6-sol")] {
            let pricer = pricer(provider, model);
            let most = pricer.worst(worst).unwrap();
            for read in [0, 100_000, 300_000] {
                for write in [0, 300_000 - read] {
                    let cost = pricer.cost(&usage(300_000, read, write, 4_000)).unwrap();
                    assert!(cost.usd <= most + 1e-9, "{model}: {} > {most}", cost.usd);
                }
            }
        }
    }

    #[test]
    fn tokens_that_contradict_each_other_are_charged_as_a_whole() {
        let gpt = pricer("openai", "gpt-5");
        check(&gpt, &usage(1_000, 2_000, 0, 1_000), 0.00125 + 0.01);
    }

    #[test]
    fn the_service_tier_that_is_asked_for_is_the_one_that_is_paid() {
        let mut access = HttpAccess::new(preset("openai").unwrap(), None);
        access.extra_body.insert("service_tier".to_owned(), "flex".into());
        let config = config(Access::Http(Box::new(access)), "gpt-6-sol");
        let flex = Pricer::new(&config, &BTreeMap::new()).unwrap();
        let standard = pricer("openai", "gpt-6-sol");
        let cost = |pricer: &Pricer| pricer.cost(&usage(1_000, 0, 0, 1_000)).unwrap().usd;
        assert!(cost(&flex) < cost(&standard));
    }

    #[test]
    fn the_table_s_version_is_the_one_that_is_built_in() {
        let lock = include_str!("../../../Cargo.lock");
        let (name, version) = PRICE_TABLE.split_once(' ').unwrap();
        assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"")));
    }
}
