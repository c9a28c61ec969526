//! A stored run as data for a comparison, with as few files read as can be: per op its derived state,
//! its folder's names, and the description of its best attempt.

use std::collections::{BTreeMap, BTreeSet};

use kgen_compare::{self as data, html::MOST_BYTES};
use kgen_record::{AttemptId, Level, LibraryUse, OpKey, Speedup, Verdict};
use kgen_store::{
    AttemptRecord, CallsSpend, Confirmation, OpMetadata, Run, RunStatus, StageFile, best,
    effective_verdict,
};
use serde_json::Value;

use super::arms::flatten;

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Numbers,
    /// Sources and feedback too: of the best attempts, of those that they came from, and of others as far
    /// as a page may show them.
    Texts,
}

/// Reads a run.
///
/// # Errors
///
/// When the run cannot be read.
pub fn load(run: &Run, detail: Detail) -> Result<data::Run, kgen_store::Error> {
    let info = run.info();
    let mut found: BTreeMap<String, data::Op> = BTreeMap::new();
    let mut begun: BTreeMap<OpKey, data::Spend> = BTreeMap::new();
    for key in run.ops()? {
        let unfinished = together(&run.unfinished_spend(&key)?);
        match load_op(run, &key, detail)? {
            Some(op) => {
                found.insert(op.name.clone(), data::Op { unfinished, ..op });
            }
            None => {
                begun.insert(key, unfinished);
            }
        }
    }
    if detail == Detail::Texts {
        add_others(run, &mut found)?;
    }
    let unreached = |name: &String| data::Op {
        name: name.clone(),
        unfinished: begun.get(&folder(name)).copied().unwrap_or_default(),
        ..data::Op::default()
    };
    let mut names = BTreeSet::new();
    let asked = info.ops.iter().filter(|name| names.insert(name.as_str()));
    let ops = asked.map(|name| found.remove(name).unwrap_or_else(|| unreached(name)));
    let ops: Vec<data::Op> = ops.collect();
    let emulated = info.device.name == "emu";
    let attempts = || ops.iter().flat_map(|op| &op.attempts);
    let mut facts = vec![("made".to_owned(), info.created_at.clone())];
    facts.extend(info.seed.map(|seed| ("seed".to_owned(), seed.to_string())));
    facts.push(("kgen".to_owned(), info.kgen_version.clone()));
    facts.extend(caps(&info.settings).map(|caps| ("caps".to_owned(), caps)));
    facts.push(("folder".to_owned(), run.dir().display().to_string()));
    Ok(data::Run {
        id: info.run_id.to_string(),
        facts,
        device: info.device.target.name.clone(),
        emulated,
        replayed: info.replay_of.is_some(),
        reused_evaluations: attempts().any(|attempt| attempt.reused_evaluation),
        finished: info.status == RunStatus::Finished,
        baselines: if emulated { Vec::new() } else { baselines(run, &ops) },
        ops,
    })
}

/// The caps of a run's budget, for example `usd 2.0, op.attempts 3`; `None` where it has none. They are no
/// setting that distinguishes arms: the same run goes on under others.
fn caps(settings: &Value) -> Option<String> {
    let mut found = BTreeMap::new();
    flatten("", settings.get("budget")?, &mut found);
    let caps: Vec<String> = found.iter().map(|(name, cap)| format!("{name} {cap}")).collect();
    (!caps.is_empty()).then(|| caps.join(", "))
}

/// The folder of an op in a run.
pub(in crate::report) fn folder(op: &str) -> OpKey {
    OpKey(op.replace('.', "__"))
}

/// Reads the texts of the other attempts, up to as much as a page shows.
fn add_others(run: &Run, ops: &mut BTreeMap<String, data::Op>) -> Result<(), kgen_store::Error> {
    let bytes = |attempt: &data::Attempt| {
        let texts = [&attempt.source, &attempt.feedback];
        texts.into_iter().flatten().map(String::len).sum::<usize>()
    };
    let read: usize = ops.values().flat_map(|op| &op.attempts).map(bytes).sum();
    let mut left = MOST_BYTES.saturating_sub(read);
    for (name, op) in ops {
        let key = folder(name);
        for attempt in op.attempts.iter_mut().filter(|attempt| bytes(attempt) == 0) {
            let id = AttemptId { op: key.clone(), number: attempt.number };
            if left == 0 {
                attempt.texts_left_out = run.source_file(&id).is_some();
                continue;
            }
            attempt.source = run.source(&id)?.map(|(_, text)| text);
            attempt.feedback = run.feedback(&id)?;
            left = left.saturating_sub(bytes(attempt));
        }
    }
    Ok(())
}

/// The baselines of a run: as its settings ask for them, then others that its ops were timed
/// against, as those of an earlier kgen do not say. None where it was not to be timed.
fn baselines(run: &Run, ops: &[data::Op]) -> Vec<String> {
    let timing = &run.info().settings["timing"];
    if timing["enabled"] == false {
        return Vec::new();
    }
    let asked = timing["baselines"].as_array().into_iter().flatten();
    // A folder of kernels in Python is named `triton=DIR`.
    let name = |name: &str| name.split_once('=').map_or(name, |(name, _)| name).to_owned();
    let asked = asked.filter_map(|asked| asked.as_str()).map(name);
    let found = ops.iter().flat_map(|op| &op.speedups).map(|speedup| speedup.baseline.clone());
    let mut names: Vec<String> = Vec::new();
    for name in asked.chain(found) {
        if name != "auto" && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn load_op(run: &Run, key: &OpKey, detail: Detail) -> Result<Option<data::Op>, kgen_store::Error> {
    let stages = run.stages(key)?;
    let of = |stage: StageFile| -> BTreeSet<u32> {
        stages.iter().filter(|(_, found)| *found == stage).map(|(number, _)| *number).collect()
    };
    let finished = of(StageFile::Record);
    let metadata = run.metadata(key)?;
    let known: Option<BTreeSet<u32>> =
        metadata.as_ref().map(|known| known.attempts.iter().map(|record| record.attempt).collect());
    // The derived state is as good as the records where it knows them all.
    let records = match &metadata {
        Some(metadata) if known.as_ref() == Some(&finished) => metadata.attempts.clone(),
        Some(_) | None => run.attempts(key)?,
    };
    let mut confirmations: BTreeMap<u32, Confirmation> = BTreeMap::new();
    for number in of(StageFile::Confirm) {
        let short = run.short_confirmation(&AttemptId { op: key.clone(), number })?;
        confirmations.extend(short.map(|confirmation| (number, confirmation)));
    }
    let judged = OpLoader { run, key, metadata, confirmations };
    judged.op(records, detail)
}

/// An op's state while it is put together.
struct OpLoader<'a> {
    run: &'a Run,
    key: &'a OpKey,
    metadata: Option<OpMetadata>,
    confirmations: BTreeMap<u32, Confirmation>,
}

impl OpLoader<'_> {
    fn id(&self, number: u32) -> AttemptId {
        AttemptId { op: self.key.clone(), number }
    }

    fn verdict(&self, record: &AttemptRecord) -> Verdict {
        effective_verdict(record, self.confirmations.get(&record.attempt))
    }

    fn op(
        &self,
        mut records: Vec<AttemptRecord>,
        detail: Detail,
    ) -> Result<Option<data::Op>, kgen_store::Error> {
        records.sort_by_key(|record| record.attempt);
        let pairs = records.iter().map(|r| (r, self.confirmations.get(&r.attempt)));
        let Some(chosen) = best(pairs) else { return Ok(None) };
        let solved = self.verdict(chosen).is_pass();
        let confirmation = self.confirmations.get(&chosen.attempt);
        let evaluation = self.run.short_evaluation(&self.id(chosen.attempt))?;
        let reported = if solved { self.reported(chosen, confirmation)? } else { Vec::new() };
        let of_attempt = evaluation.as_ref().map_or_else(Vec::new, |e| e.speedups.clone());
        let ran_on_gpu = matches!(chosen.level, Level::Cuda | Level::EmuCuda);
        let again = confirmation.filter(|c| c.passed).and_then(Confirmation::target);
        let target = again.or(evaluation.as_ref().map(|evaluation| &evaluation.target));
        let mut op = data::Op {
            name: chosen.op.clone(),
            best: Some(chosen.attempt),
            solved,
            confirmed: confirmation.is_some_and(|confirmation| confirmation.passed),
            gpu: target.filter(|_| ran_on_gpu).map(|target| target.name.clone()),
            speedups: if reported.is_empty() && solved { &of_attempt } else { &reported }
                .iter()
                .map(|one| speedup(one, chosen.library_use))
                .collect(),
            attempts: records.iter().map(|record| self.attempt(record)).collect(),
            unfinished: data::Spend::default(),
            timed: Vec::new(),
        };
        if let Some(best) = op.attempts.iter_mut().find(|attempt| attempt.number == chosen.attempt)
            && !of_attempt.is_empty()
        {
            best.speedups = of_attempt.iter().map(|one| speedup(one, chosen.library_use)).collect();
        }
        if detail == Detail::Texts {
            self.add_texts(&mut op)?;
        }
        Ok(Some(op))
    }

    /// The speedups of a winner that was measured again; none where it was not.
    fn reported(
        &self,
        chosen: &AttemptRecord,
        confirmation: Option<&Confirmation>,
    ) -> Result<Vec<Speedup>, kgen_store::Error> {
        let Some(short) = confirmation.filter(|confirmation| confirmation.passed) else {
            return Ok(Vec::new());
        };
        let derived = self.metadata.as_ref().filter(|m| m.best_attempt == chosen.attempt);
        match derived {
            Some(metadata) if !metadata.speedups.is_empty() => Ok(metadata.speedups.clone()),
            // Nothing was timed: the samples, which are large, would say no more.
            _ if short.seeds.iter().all(|seed| seed.speedups.is_empty()) => Ok(Vec::new()),
            // The run is of an earlier kgen, which derived the first one only.
            _ => {
                let whole = self.run.confirmation(&self.id(chosen.attempt))?;
                Ok(whole.map_or_else(Vec::new, |confirmation| confirmation.speedups()))
            }
        }
    }

    fn attempt(&self, record: &AttemptRecord) -> data::Attempt {
        let verdict = self.verdict(record);
        data::Attempt {
            number: record.attempt,
            parents: record.parents.clone(),
            branch: record.branch,
            round: record.round,
            purpose: name_of(&record.purpose),
            change: record.change.clone(),
            verdict: verdict.name().to_owned(),
            passed: verdict.is_pass(),
            duplicate_of: record.duplicate_of,
            replayed: record.replayed,
            cached: record.cached,
            reused_evaluation: record.reused_evaluation,
            speedups: record.speedup.iter().map(|one| speedup(one, record.library_use)).collect(),
            spend: spend(record),
            seconds_judging: record.seconds_judging,
            time: time(record),
            source: None,
            feedback: None,
            texts_left_out: false,
        }
    }

    /// Reads the texts that the page shows first: the best attempt and all that it came from.
    fn add_texts(&self, op: &mut data::Op) -> Result<(), kgen_store::Error> {
        let mut wanted: Vec<u32> = op.best.into_iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(number) = wanted.pop() {
            if !seen.insert(number) {
                continue;
            }
            let Some(attempt) = op.attempts.iter_mut().find(|a| a.number == number) else {
                continue;
            };
            wanted.extend(&attempt.parents);
            wanted.extend(attempt.duplicate_of);
            let id = self.id(number);
            attempt.source = self.run.source(&id)?.map(|(_, text)| text);
            attempt.feedback = self.run.feedback(&id)?;
        }
        Ok(())
    }
}

/// Returns a speedup; that of a plan that calls libraries is over a baseline by another name, so that it is
/// never averaged with those of other plans.
fn speedup(speedup: &Speedup, library_use: Option<LibraryUse>) -> data::Speedup {
    let baseline = match library_use {
        Some(kind @ LibraryUse::WithLibrary) => format!("{} ({})", speedup.baseline, kind.name()),
        Some(LibraryUse::DeviceOnly) | None => speedup.baseline.clone(),
    };
    data::Speedup {
        baseline,
        long: speedup.is_headline().then_some(speedup.geomean),
        all: speedup.geomean_all.unwrap_or(speedup.geomean),
        n_long: speedup.n,
        n_overhead: speedup.n_overhead,
        interval: speedup.interval,
    }
}

/// When an attempt began and ended, in seconds since 1970; `None` where that is not a time.
fn time(record: &AttemptRecord) -> Option<[f64; 2]> {
    let seconds = |text: &str| {
        let time: jiff::Timestamp = text.parse().ok()?;
        Some(time.as_duration().as_secs_f64())
    };
    Some([seconds(&record.started_at)?, seconds(&record.finished_at)?])
}

/// The cost of an attempt's calls: the amount paid now, and the amount that replies of another run
/// took then. Attempts of a kgen that did not count tokens have calls all the same: their cost is
/// not known.
fn spend(record: &AttemptRecord) -> data::Spend {
    let known = record.spend.calls + record.recorded_spend.map_or(0, |recorded| recorded.calls);
    let uncounted = if known == 0 { record.calls } else { 0 };
    let mut spend = together(&CallsSpend { now: record.spend, recorded: record.recorded_spend });
    // A replayed call counts in both parts, one whose reply was kept in neither of this run.
    spend.calls = u64::from(record.calls.max(record.spend.calls));
    if record.spend.calls == 0 {
        spend.lost_calls = spend.lost_calls.max(u64::from(record.lost_calls));
    }
    spend.unreported += u64::from(uncounted);
    spend.unpriced += u64::from(uncounted);
    spend
}

/// Both parts of the cost of calls. A reply of another run took nothing now, so that its tokens and its
/// price are in one of them.
fn together(calls: &CallsSpend) -> data::Spend {
    let mut sum = calls.now;
    sum += calls.recorded.unwrap_or_default();
    data::Spend {
        calls: u64::from(calls.now.calls.max(calls.recorded.map_or(0, |recorded| recorded.calls))),
        lost_calls: u64::from(sum.lost_calls),
        input_tokens: sum.input_tokens,
        cache_read_tokens: sum.cache_read_tokens,
        cache_write_tokens: sum.cache_write_tokens,
        output_tokens: sum.output_tokens,
        reasoning_tokens: sum.reasoning_tokens,
        unreported: u64::from(sum.unreported),
        usd: sum.usd,
        assumed_tokens: sum.assumed_tokens,
        assumed_usd: sum.assumed_usd,
        unpriced: u64::from(sum.unpriced),
        seconds: sum.seconds,
    }
}

/// The name of a unit variant as it is stored.
fn name_of(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("a name turns into JSON");
    value.as_str().unwrap_or_default().to_owned()
}
