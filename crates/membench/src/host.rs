//! Memory that the host has left.

use std::{fs, path::Path};

/// Returns the bytes that can still be allocated here: what the system has available, or what the control
/// group of this process leaves. `None` where the system does not say.
pub(crate) fn available() -> Option<u64> {
    let system = meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
    Some(group(Path::new("/sys/fs/cgroup")).map_or(system, |group| group.min(system)))
}

fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// The bytes that a control group (version 2) leaves; pages of files that it can drop count as left.
fn group(folder: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let (most, used) = (number("memory.max")?, number("memory.current")?);
    let stat = read("memory.stat").unwrap_or_default();
    let files = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let files: u64 = files.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    Some(most.saturating_sub(used.saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_group_leaves_what_it_does_not_use() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("memory.max", "max\n");
        write("memory.current", "500\n");
        assert_eq!(group(folder.path()), None);
        write("memory.max", "1000\n");
        assert_eq!(group(folder.path()), Some(500));
        write("memory.stat", "anon 300\ninactive_file 200\n");
        assert_eq!(group(folder.path()), Some(700));
    }

    #[test]
    fn the_system_tells_in_kib() {
        assert_eq!(meminfo("MemTotal:  9 kB\nMemAvailable:   12 kB\n"), Some(12 << 10));
        assert_eq!(meminfo("MemTotal: 9 kB\n"), None);
    }
}
