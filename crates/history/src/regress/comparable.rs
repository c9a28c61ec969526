//! Whether two entries were measured alike.

use kgen_measure::{Fingerprint, Mode};

use crate::Entry;

/// Watts that two readings of one power limit may differ by.
const SAME_WATTS: f64 = 0.5;

/// Why the times of two entries cannot be compared, in words. A fact that is not known of one of them is no
/// difference.
pub(super) fn entries_differ(old: &Entry, new: &Entry) -> Option<String> {
    let (Some(a), Some(b)) = (&old.fingerprint, &new.fingerprint) else {
        return Some("the GPU is not on record".to_owned());
    };
    let found = [
        gpus_differ((old, a), (new, b)),
        differ("driver", a.driver.as_ref(), b.driver.as_ref(), |driver| driver.to_string()),
        differ("clocks", a.clocks_locked, b.clocks_locked, |is_locked| {
            if is_locked { "locked" } else { "not locked" }.to_owned()
        }),
        watts_differ(a, b),
    ];
    let whys: Vec<String> = found.into_iter().flatten().collect();
    (!whys.is_empty()).then(|| whys.join("; "))
}

pub(super) fn modes_differ(old: Mode, new: Mode) -> Option<String> {
    differ("timing mode", Some(old), Some(new), |mode| mode.name().to_owned())
}

/// Two of one product differ by some per cent: the UUID decides where both have one.
fn gpus_differ(
    (old, a): (&Entry, &Fingerprint),
    (new, b): (&Entry, &Fingerprint),
) -> Option<String> {
    let name = |entry: &Entry, fingerprint: &Fingerprint| {
        fingerprint.name.clone().unwrap_or_else(|| entry.device.clone())
    };
    differ("GPU", Some(name(old, a)), Some(name(new, b)), |name| name).or_else(|| {
        differ("GPU", a.gpu_uuid.as_ref(), b.gpu_uuid.as_ref(), |uuid| uuid.to_string())
    })
}

fn watts_differ(a: &Fingerprint, b: &Fingerprint) -> Option<String> {
    let (old, new) = a.power_limit_w.zip(b.power_limit_w)?;
    let shown = |watts: f64| format!("{watts:.0} W");
    (SAME_WATTS < (old - new).abs()).then(|| words("power limit", &shown(old), &shown(new)))
}

fn differ<T: PartialEq>(
    name: &str,
    old: Option<T>,
    new: Option<T>,
    show: impl Fn(T) -> String,
) -> Option<String> {
    let (old, new) = old.zip(new)?;
    (old != new).then(|| words(name, &show(old), &show(new)))
}

fn words(name: &str, old: &str, new: &str) -> String {
    format!("{name} {old}, now {new}")
}
