//! Many random schedules: no cap is ever exceeded, nothing counts twice, nobody waits for ever.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use kgen_record::{Cap, CapKind, CapScope, Caps, OpKey, Spend};
use kgen_settings::PriceSettings;
use tokio::{task::JoinSet, time};

use super::{
    Budget, BudgetCaps, BudgetError, Worst, amount,
    ledger::{Account, Amount, Ledger},
};
use crate::{Error, Usage, price::Pricer};

/// A small generator whose numbers are the same everywhere (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// One of two times in three, so that many caps are combined with none.
    fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(3) > 0).then(|| value(self))
    }
}

/// 1 dollar per million input tokens, 5 per million output tokens.
fn pricer() -> Pricer {
    Pricer::set(PriceSettings { input: 1.0, output: 5.0, cache_read: None, cache_write: None })
}

fn op(number: u64) -> OpKey {
    OpKey(format!("op{number}"))
}

fn budget(run: Caps, op: Caps) -> Budget {
    Budget::new(BudgetCaps { run, op }, pricer(), Some(0)).unwrap()
}

fn caps(random: &mut Random, calls: u64) -> Caps {
    Caps {
        usd: random.maybe(|random| random.below(calls * 40) as f64 / 1e4 + 1e-4),
        tokens: random.maybe(|random| random.below(calls * 2000) + 1),
        calls: random.maybe(|random| u32::try_from(random.below(calls) + 1).unwrap()),
        seconds: None,
    }
}

fn exceeds(caps: &Caps, amount: Amount) -> Option<CapKind> {
    amount.exceeds(Amount::limits(caps))
}

/// A waiting or open call of the model that the ledger is compared with.
#[derive(Clone)]
struct Asked {
    number: u64,
    ticket: u64,
    op: OpKey,
    worst: Amount,
}

struct Model {
    ledger: Ledger<u64>,
    caps: BudgetCaps,
    waiting: VecDeque<Asked>,
    open: Vec<Asked>,
    settled: BTreeMap<OpKey, Amount>,
}

impl Model {
    fn new(caps: BudgetCaps) -> Self {
        let ledger = Ledger::new(caps);
        Self { ledger, caps, waiting: VecDeque::new(), open: Vec::new(), settled: BTreeMap::new() }
    }

    fn step(&mut self, random: &mut Random, number: u64) {
        match random.below(5) {
            0..=1 => {
                let worst = Amount {
                    nano_usd: random.below(4_000_000) + 1,
                    tokens: random.below(2000) + 1,
                    calls: 1,
                };
                let op = op(random.below(4));
                let ticket = self.ledger.ask(op.clone(), worst, number);
                self.waiting.push_back(Asked { number, ticket, op, worst });
            }
            2 if !self.waiting.is_empty() => {
                let index = usize::try_from(random.below(self.waiting.len() as u64)).unwrap();
                let gone = self.waiting.remove(index).unwrap();
                self.ledger.leave(gone.ticket);
            }
            _ if !self.open.is_empty() => {
                let index = usize::try_from(random.below(self.open.len() as u64)).unwrap();
                let done = self.open.swap_remove(index);
                let worst = done.worst;
                let part = |random: &mut Random, whole: u64| random.below(whole + 1);
                let actual = match random.below(4) {
                    0 => worst,
                    1 => Amount::default(),
                    _ => Amount {
                        nano_usd: part(random, worst.nano_usd),
                        tokens: part(random, worst.tokens),
                        calls: 1,
                    },
                };
                self.ledger.charge_reserved(&done.op, worst, actual);
                let settled = self.settled.entry(done.op).or_default();
                *settled = settled.plus(actual);
            }
            _ => {}
        }
        self.answers();
        self.check();
    }

    fn answers(&mut self) {
        for answer in self.ledger.pump() {
            let index = self.waiting.iter().position(|asked| asked.number == answer.whom);
            let asked = self.waiting.remove(index.expect("nobody is answered twice")).unwrap();
            let earlier = self.waiting.iter().take(index.unwrap());
            match answer.outcome {
                Ok(()) => {
                    let overtaken = earlier.filter(|earlier| earlier.op == asked.op);
                    assert_eq!(overtaken.count(), 0, "an op's calls keep their order");
                    self.open.push(asked);
                }
                Err(cap) => {
                    let settled = match cap.scope {
                        CapScope::Run => self.all_settled(),
                        CapScope::Op => self.settled.get(&asked.op).copied().unwrap_or_default(),
                    };
                    let caps = self.caps_of(cap.scope);
                    assert_eq!(exceeds(caps, settled.plus(asked.worst)), Some(cap.kind));
                }
            }
        }
    }

    fn caps_of(&self, scope: CapScope) -> &Caps {
        match scope {
            CapScope::Run => &self.caps.run,
            CapScope::Op => &self.caps.op,
        }
    }

    fn all_settled(&self) -> Amount {
        self.settled.values().fold(Amount::default(), |sum, amount| sum.plus(*amount))
    }

    fn check(&self) {
        let reserved = |of: Option<&OpKey>| {
            let open = self.open.iter().filter(|open| of.is_none_or(|op| open.op == *op));
            open.fold(Amount::default(), |sum, open| sum.plus(open.worst))
        };
        let run = Account { settled: self.all_settled(), reserved: reserved(None) };
        assert_eq!(*self.ledger.run(), run);
        assert_eq!(exceeds(&self.caps.run, run.settled.plus(run.reserved)), None);
        for number in 0..4 {
            let op = op(number);
            let settled = self.settled.get(&op).copied().unwrap_or_default();
            let account = Account { settled, reserved: reserved(Some(&op)) };
            assert_eq!(self.ledger.op(&op), account);
            assert_eq!(exceeds(&self.caps.op, account.settled.plus(account.reserved)), None);
        }
        if self.open.is_empty() {
            assert!(self.waiting.is_empty(), "a call waits and nothing is open");
        }
    }
}

#[test]
fn the_ledger_agrees_with_a_plain_model_under_any_order_of_events() {
    let mut n_refused = 0;
    for seed in 0..300 {
        let mut random = Random(seed);
        let run = caps(&mut random, 60);
        let op = caps(&mut random, 20);
        let mut model = Model::new(BudgetCaps { run, op });
        for number in 0..150 {
            model.step(&mut random, number);
        }
        let is_full =
            exceeds(&run, model.all_settled().plus(Amount { calls: 1, ..Amount::default() }));
        n_refused += u32::from(is_full.is_some());
    }
    assert!(0 < n_refused, "some of the schedules reach a cap");
}

struct Schedule {
    budget: Budget,
    caps: BudgetCaps,
    told: Mutex<Vec<(OpKey, Spend)>>,
    n_refused: AtomicU64,
}

fn nanos(spend: &Spend) -> Amount {
    super::amount(spend)
}

async fn one_call(schedule: Arc<Schedule>, seed: u64) {
    let mut random = Random(seed);
    let op = op(random.below(5));
    let worst =
        Worst { input_tokens: random.below(1000) + 1, output_tokens: random.below(1000) + 1 };
    time::sleep(Duration::from_millis(random.below(40))).await;
    let reserve = schedule.budget.reserve(&op, worst);
    // Some give up waiting.
    let reserve = time::timeout(Duration::from_millis(random.below(400) + 1), reserve).await;
    let reservation = match reserve {
        Err(_) => return,
        Ok(Ok(reservation)) => reservation,
        Ok(Err(Error::Budget { cap })) => {
            refused(&schedule, &op, worst, cap);
            return;
        }
        Ok(Err(other)) => panic!("{other}"),
    };
    time::sleep(Duration::from_millis(random.below(60))).await;
    let spend = match random.below(6) {
        0 => reservation.lose(0.0),
        1 => reservation.refuse(0.0),
        2 => {
            reservation.release();
            return;
        }
        3 => {
            let spend = reservation.worst_spend();
            drop(reservation);
            spend
        }
        _ => {
            let usage = Usage {
                input: random.maybe(|random| random.below(worst.input_tokens + 1)),
                output: random.maybe(|random| random.below(worst.output_tokens + 1)),
                ..Usage::default()
            };
            reservation.charge(&usage, 0.0).spend
        }
    };
    schedule.told.lock().unwrap().push((op, spend));
}

/// A cap is reached only where the charge leaves no room.
fn refused(schedule: &Schedule, op: &OpKey, worst: Worst, cap: Cap) {
    schedule.n_refused.fetch_add(1, Ordering::Relaxed);
    let ledger = schedule.budget.ledger();
    let (settled, caps) = match cap.scope {
        CapScope::Run => (ledger.run().settled, &schedule.caps.run),
        CapScope::Op => (ledger.op(op).settled, &schedule.caps.op),
    };
    drop(ledger);
    let with = settled.plus(amount(&schedule.budget.worst_spend(worst)));
    assert!(exceeds(caps, with).is_some(), "{cap} leaves room");
}

async fn run_schedule(seed: u64, n_calls: u64) -> u64 {
    let mut random = Random(seed);
    let caps =
        BudgetCaps { run: caps(&mut random, n_calls), op: caps(&mut random, n_calls / 4 + 1) };
    let budget = budget(caps.run, caps.op);
    let (told, n_refused) = (Mutex::default(), AtomicU64::new(0));
    let schedule = Arc::new(Schedule { budget, caps, told, n_refused });
    let mut tasks = JoinSet::new();
    for number in 0..n_calls {
        tasks.spawn(one_call(Arc::clone(&schedule), seed * 1000 + number));
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
        let ledger = schedule.budget.ledger();
        let with_open = |account: Account| account.settled.plus(account.reserved);
        assert_eq!(exceeds(&caps.run, with_open(*ledger.run())), None);
        for number in 0..5 {
            assert_eq!(exceeds(&caps.op, with_open(ledger.op(&op(number)))), None);
        }
    }
    let told = schedule.told.lock().unwrap();
    let ledger = schedule.budget.ledger();
    for number in 0..5 {
        let op = op(number);
        let of_op = told.iter().filter(|(of, _)| *of == op);
        let sum = of_op.fold(Amount::default(), |sum, (_, spend)| sum.plus(nanos(spend)));
        assert_eq!(ledger.op(&op), Account { settled: sum, reserved: Amount::default() });
    }
    let sum = told.iter().fold(Amount::default(), |sum, (_, spend)| sum.plus(nanos(spend)));
    assert_eq!(*ledger.run(), Account { settled: sum, reserved: Amount::default() });
    schedule.n_refused.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn no_interleaving_of_calls_exceeds_a_cap_or_counts_a_call_twice() {
    let mut n_refused = 0;
    for seed in 0..120 {
        n_refused += run_schedule(seed, 40).await;
    }
    assert!(100 < n_refused, "the schedules reach their caps: {n_refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_holds_between_threads() {
    let mut schedules = JoinSet::new();
    for seed in 500..520 {
        schedules.spawn(run_schedule(seed, 40));
    }
    while let Some(done) = schedules.join_next().await {
        done.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_open_ones_and_goes_when_they_took_less() {
    let calls = Caps { usd: Some(0.01), ..Caps::default() };
    let budget = budget(calls, Caps::default());
    let worst = Worst { input_tokens: 0, output_tokens: 1200 };
    let first = budget.reserve(&op(1), worst).await.unwrap();
    let second = tokio::spawn({
        let budget = budget.clone();
        async move { budget.reserve(&op(2), worst).await.map(|open| open.refuse(0.0)) }
    });
    time::sleep(Duration::from_secs(1)).await;
    assert!(!second.is_finished(), "two worst cases are $0.012");
    let usage = Usage { input: Some(0), output: Some(100), ..Usage::default() };
    let settled = first.charge(&usage, 0.0);
    assert_eq!((settled.cost, settled.price_source.as_deref()), (Some(0.0005), Some("config")));
    assert!(second.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_large_call_is_not_starved_by_small_ones() {
    let run = Caps { tokens: Some(1000), ..Caps::default() };
    let budget = budget(run, Caps::default());
    let tokens = |n| Worst { input_tokens: 0, output_tokens: n };
    let small = budget.reserve(&op(1), tokens(400)).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for (number, size) in [(2, 900), (3, 100), (4, 100)] {
        let (budget, order) = (budget.clone(), Arc::clone(&order));
        tasks.spawn(async move {
            let open = budget.reserve(&op(number), tokens(size)).await.unwrap();
            order.lock().unwrap().push(number);
            time::sleep(Duration::from_secs(1)).await;
            let _turned_down = open.refuse(0.0);
        });
        tokio::task::yield_now().await;
    }
    time::sleep(Duration::from_secs(5)).await;
    assert!(order.lock().unwrap().is_empty(), "the small ones wait behind the large one");
    let _turned_down = small.refuse(0.0);
    tasks.join_all().await;
    assert_eq!(order.lock().unwrap()[0], 2);
}

#[tokio::test(start_paused = true)]
async fn a_full_op_does_not_hold_up_the_others() {
    let of_op = Caps { calls: Some(2), tokens: Some(1500), ..Caps::default() };
    let budget = budget(Caps::default(), of_op);
    let worst = Worst { input_tokens: 0, output_tokens: 1000 };
    let open = budget.reserve(&op(1), worst).await.unwrap();
    let waits = tokio::spawn({
        let budget = budget.clone();
        async move { budget.reserve(&op(1), worst).await.map(|open| open.refuse(0.0)) }
    });
    time::sleep(Duration::from_secs(1)).await;
    assert!(budget.reserve(&op(2), worst).await.is_ok());
    assert!(!waits.is_finished());
    drop(open);
    let error = waits.await.unwrap().unwrap_err();
    let Error::Budget { cap } = error else { panic!("{error}") };
    assert_eq!(cap, Cap { scope: CapScope::Op, kind: CapKind::Tokens, limit: 1500.0 });
}

#[tokio::test(start_paused = true)]
async fn wall_time_counts_what_earlier_processes_took_and_wakes_those_who_wait() {
    let run = Caps { seconds: Some(100.0), calls: Some(1), ..Caps::default() };
    let of_op = Caps { seconds: Some(50.0), ..Caps::default() };
    let budget = budget(run, of_op);
    budget.charge_seconds(30.0);
    budget.charge_op_seconds(&op(1), 20.0);
    let cap = |result: Result<(), Error>| match result {
        Err(Error::Budget { cap }) => Some((cap.scope, cap.kind)),
        Err(other) => panic!("{other}"),
        Ok(()) => None,
    };
    assert_eq!(cap(budget.check(&op(1))), None);
    assert_eq!(budget.time_left(&op(1)), Some((Duration::from_secs(30), CapScope::Op)));
    time::sleep(Duration::from_secs(31)).await;
    assert_eq!(cap(budget.check(&op(1))), Some((CapScope::Op, CapKind::Seconds)));
    // The clock of an op starts with the first question about it.
    assert_eq!(cap(budget.check(&op(2))), None);
    let _open = budget.reserve(&op(2), Worst::default()).await.unwrap();
    let waits = budget.reserve(&op(3), Worst::default()).await.map(|open| open.refuse(0.0));
    assert_eq!(cap(waits.map(|_| ())), Some((CapScope::Run, CapKind::Seconds)));
    assert!((budget.charged().seconds - 100.0).abs() < 0.01);
}

#[test]
fn what_was_spent_before_leaves_less() {
    let run = Caps { usd: Some(1.0), ..Caps::default() };
    let budget = budget(run, Caps::default());
    let lost = Spend { calls: 1, assumed_usd: 0.25, assumed_tokens: 50_000, ..Spend::default() };
    budget.charge(&op(1), &lost);
    // A call that had no price when it was made has one now.
    let unpriced = Spend { calls: 1, unpriced: 1, output_tokens: 100_000, ..Spend::default() };
    budget.charge(&op(1), &unpriced);
    let charged = budget.charged_to(&op(1));
    assert_eq!((charged.usd, charged.tokens, charged.calls), (0.75, 150_000, 2));
}

#[test]
fn a_cap_that_cannot_work_is_found_before_anything_begins() {
    let new = |run: Caps, pricer: Pricer| {
        Budget::new(BudgetCaps { run, op: Caps::default() }, pricer, Some(16_000))
    };
    let usd = |usd| Caps { usd: Some(usd), ..Caps::default() };
    let unknown = || Pricer::unknown("local", "qwen");
    assert!(matches!(new(usd(5.0), unknown()), Err(BudgetError::Unpriced { .. })));
    assert!(new(Caps { calls: Some(5), ..Caps::default() }, unknown()).is_ok());
    assert!(new(usd(5.0), Pricer::free()).is_ok());
    let error = new(usd(0.05), pricer()).unwrap_err().to_string();
    assert!(error.contains("$0.05 per run") && error.contains("up to $0.0800"), "{error}");
    let tokens = Caps { tokens: Some(16_000), ..Caps::default() };
    let error = new(tokens, unknown()).unwrap_err().to_string();
    assert!(error.contains("16000 tokens per run leaves no room"), "{error}");
    assert!(new(usd(0.08), pricer()).is_ok());
    let endless = |run: Caps| Budget::new(BudgetCaps { run, op: Caps::default() }, pricer(), None);
    assert!(matches!(endless(tokens), Err(BudgetError::Unlimited { .. })));
    assert!(endless(Caps { calls: Some(5), ..Caps::default() }).is_ok());
}
