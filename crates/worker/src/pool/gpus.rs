//! The GPUs of a pool.

use futures_util::future::join_all;
use kgen_process::sandbox::Report;
use kgen_record::{Session, Target};
use kgen_settings::DeviceChoice;

use super::{config::PoolConfig, link::Worker, slots::Slots};
use crate::{
    Error,
    protocol::{Hello, Role},
};

/// A GPU in use.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpu {
    /// Its index among the visible ones.
    pub index: u32,
    /// Its facts, where its worker reported them.
    pub target: Option<Target>,
    /// Measurements by its worker at its start.
    pub session: Option<Box<Session>>,
    /// The walls of its worker; `None` is none.
    pub sandbox: Option<Report>,
}

/// Starts a worker on each of the GPUs asked for; `None` without any.
///
/// Those that do not start are left out, and so are those for which a kernel would be compiled or
/// planned otherwise than for the first: an evaluation must mean the same wherever it runs.
///
/// # Errors
///
/// Why the first does not start, where none does.
pub(super) async fn start(config: &PoolConfig) -> Result<Option<(Slots, Vec<Gpu>)>, Error> {
    // One try each: whether there is a GPU at all is not a matter of patience.
    let start = |index| async move {
        let launch = config.gpu_launch(index);
        let worker = Worker::start(&launch).await;
        (index, launch, worker)
    };
    let started = join_all(indices(config.device)?.into_iter().map(start)).await;
    let mut refusals = Vec::new();
    let mut gpus: Vec<Gpu> = Vec::new();
    let mut places = Vec::new();
    for (index, launch, worker) in started {
        let worker = match worker {
            Ok(worker) => worker,
            Err(error) => {
                refusals.push((index, error));
                continue;
            }
        };
        let Hello { target, session, sandbox, .. } = worker.hello().clone();
        let gpu = Gpu { index, target, session, sandbox };
        match gpus.first().and_then(|first| difference(first, &gpu)) {
            Some(difference) => {
                config.notices.warn(format!("cuda:{index} is left out: {difference}"));
                if let Err(error) = worker.shut_down().await {
                    tracing::warn!(%error, "a worker did not end");
                }
            }
            None => {
                gpus.push(gpu);
                // The first worker has measured the GPU for all of them; they start when they are needed.
                let mut further = launch.clone();
                further.setup.calibrate = false;
                places.push((launch, Some(worker)));
                places.extend((1..config.workers_per_gpu).map(|_| (further.clone(), None)));
            }
        }
    }
    if gpus.is_empty() {
        return refusals.into_iter().next().map_or(Ok(None), |(_, error)| Err(error));
    }
    for (index, error) in refusals {
        config.notices.warn(format!("cuda:{index} is left out: {error}"));
    }
    Ok(Some((Slots::new(places, config.notices.clone()), gpus)))
}

/// Returns the target that requests are made for; `None` without a GPU whose facts are known.
///
/// `is_alone`: whether it can be no other GPU than the first.
pub(super) fn target(gpus: &[Gpu], is_alone: bool) -> Option<Target> {
    let first = gpus.first()?.target.clone()?;
    let uuid = first.uuid.filter(|_| is_alone);
    Some(Target { uuid, ..first })
}

/// Returns the indices of the GPUs asked for among those that a worker sees.
pub(super) fn indices(choice: DeviceChoice) -> Result<Vec<u32>, Error> {
    match choice {
        DeviceChoice::Emu => Ok(Vec::new()),
        DeviceChoice::Auto => Ok(vec![0]),
        DeviceChoice::Cuda(index) => Ok(vec![index]),
        DeviceChoice::Gpus(set) => Ok(set.indices().collect()),
        DeviceChoice::AllGpus => kgen_device::choose(choice)
            .map_err(|error| Error::Start { role: Role::Gpu, reason: error.to_string() }),
    }
}

/// Says why a GPU cannot take the evaluations of another one; `None` where it can.
pub(super) fn difference(first: &Gpu, other: &Gpu) -> Option<String> {
    let (a, b) = (first.target.as_ref()?, other.target.as_ref()?);
    let facts = |target: &Target| {
        let Target { name, arch, sm_count, .. } = target;
        format!("{name}, {arch}, {sm_count} SMs")
    };
    // Of two that take the same kernels, the one may be faster.
    (!a.is_alike(b) || a.name != b.name).then(|| {
        format!(
            "kernels are planned for cuda:{} ({}), and it is another GPU ({}); a run of its own can \
             use it",
            first.index,
            facts(a),
            facts(b)
        )
    })
}
