//! Messages of Nsight Compute when it fails.

/// Why there is no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NcuError {
    /// The driver lets only administrators read the counters.
    NotPermitted,
    /// A metric that this GPU or this version does not have.
    Metric(String),
    /// No launch was profiled: the program ended before one, or none has the name asked for.
    NoLaunch,
    /// Another tool holds the counters.
    Busy,
    /// The kernel faults, as it may where its buffers have no guard zones.
    Fault,
    /// Anything else, in the tool's own words.
    Other(String),
}

/// Reads the failure out of the log; `None` where nothing failed.
#[must_use]
pub fn failure(log: &str) -> Option<NcuError> {
    let errors: Vec<&str> = log
        .lines()
        .filter_map(|line| line.trim().strip_prefix("==ERROR=="))
        .map(str::trim)
        .collect();
    let says = |text: &str| log.contains(text);
    if says("ERR_NVGPUCTRPERM") || says("permission to access NVIDIA GPU Performance Counters") {
        return Some(NcuError::NotPermitted);
    }
    if let Some(metric) = errors.iter().find_map(|line| missing_metric(line)) {
        return Some(NcuError::Metric(metric));
    }
    if says("another instance of the Nsight Compute")
        || says("Profiling failed because a driver resource was unavailable")
    {
        return Some(NcuError::Busy);
    }
    if errors.iter().any(|line| line.starts_with("LaunchFailed")) {
        return Some(NcuError::Fault);
    }
    if says("No kernels were profiled") {
        return Some(NcuError::NoLaunch);
    }
    errors.first().map(|line| NcuError::Other((*line).to_owned()))
}

/// Reads `Failed to find metric no__such.sum`, and the list form of some versions.
fn missing_metric(line: &str) -> Option<String> {
    let marker = ["Failed to find metric ", "Failed to find metrics: ", "Unknown metric "];
    let rest = marker.iter().find_map(|marker| line.split_once(marker))?.1;
    let name = rest.split([',', ' ', '\'', '"']).find(|part| !part.is_empty())?;
    Some(name.trim_end_matches('.').to_owned())
}
