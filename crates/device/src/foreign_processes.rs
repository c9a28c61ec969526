//! Who else computes on a GPU.

/// Counts the processes among those that the driver lists that are not kgen's; `None` where the
/// list is not usable.
///
/// `own` are the numbers of kgen's processes that have the GPU open. In a container the driver's
/// numbers may be those of the host: then none of them is known here, and they can only be counted.
pub(super) fn n_foreign(listed: &[u32], own: &[u32]) -> Option<u32> {
    let mut listed = listed.to_vec();
    listed.sort_unstable();
    listed.dedup();
    // This process is one of them: an empty list means that the driver may not list any.
    if listed.is_empty() {
        return None;
    }
    let n_unknown = listed.iter().filter(|pid| !own.contains(pid)).count();
    let n_foreign =
        if n_unknown < listed.len() { n_unknown } else { listed.len().saturating_sub(own.len()) };
    u32::try_from(n_foreign).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_processes_do_not_count() {
        let (worker, python, other) = (71, 72, 4000);
        assert_eq!(n_foreign(&[worker], &[worker]), Some(0));
        assert_eq!(n_foreign(&[worker, python], &[worker, python]), Some(0));
        // A fresh worker, while the Python process has not opened the GPU yet.
        assert_eq!(n_foreign(&[other, worker], &[worker, python]), Some(1));
        // One that is not listed as kgen's is somebody else's.
        assert_eq!(n_foreign(&[worker, python], &[worker]), Some(1));
    }

    #[test]
    fn a_process_that_is_listed_twice_is_one() {
        assert_eq!(n_foreign(&[8, 9, 9], &[8]), Some(1));
    }

    #[test]
    fn numbers_of_another_namespace_are_counted() {
        assert_eq!(n_foreign(&[90_001, 90_002], &[7, 8]), Some(0));
        assert_eq!(n_foreign(&[90_001, 90_002, 90_003], &[7, 8]), Some(1));
        assert_eq!(n_foreign(&[90_001], &[7, 8]), Some(0));
    }

    #[test]
    fn an_empty_list_tells_nothing() {
        assert_eq!(n_foreign(&[], &[7]), None);
    }
}
