//! Policies as plain data, one per kind of process.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The rights of a process.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Files, and folders with everything below, that it may read.
    pub read: Vec<PathBuf>,
    /// Folders in which it may do anything but run programs.
    pub write: Vec<PathBuf>,
    /// Folders of the sockets that it connects to, where the kernel can tell.
    pub socket_folders: Vec<PathBuf>,
    /// Device files.
    pub devices: Vec<PathBuf>,
    pub processes: Processes,
    pub sockets: Sockets,
    /// Whether it may change modes, owners and times of files, which landlock does not see.
    pub may_change_modes: bool,
    pub capabilities: Capabilities,
    /// Whether it may share memory, messages and semaphores by System V's calls.
    pub may_share: bool,
    /// Whether it may write to its own files in `/proc`: NVIDIA's driver names its threads there, and does not
    /// start where it cannot.
    pub name_threads: bool,
    /// Whether its memory is hidden from others of the same user; a driver may need to be seen.
    pub hide_memory: bool,
    /// Bytes of a file at most.
    pub max_file_bytes: Option<u64>,
    /// Open descriptors at most.
    pub max_files: Option<u64>,
}

/// Which processes it may start.
#[derive(Debug, Clone, Default)]
pub enum Processes {
    #[default]
    None,
    /// It becomes one of these programs, and starts no other process: for the child of [`Self::Of`].
    Become(Vec<PathBuf>),
    /// Processes that become one of these programs.
    Of(Vec<PathBuf>),
    /// Any program that may be read.
    Any,
}

/// Which sockets it may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sockets {
    #[default]
    None,
    /// Those of the machine alone.
    Unix,
}

/// Which capabilities of root it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Capabilities {
    #[default]
    None,
    /// Those about owners and modes of files: packages may belong to another user.
    OfFiles,
}

/// Folders and files of one worker.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// NVRTC, headers, toolkits, libraries.
    pub read: Vec<PathBuf>,
    /// Its scratch folder, the compile cache.
    pub write: Vec<PathBuf>,
    /// The folder of its Python process.
    pub socket_folders: Vec<PathBuf>,
}

/// The loader of programs, which the kernel runs in front of each.
const LOADERS: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
];

/// Where libraries are, and the loader's lists of them.
const LIBRARIES: [&str; 11] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
];

/// Facts of the machine that allocators, thread pools and clocks ask for.
const FACTS: [&str; 12] = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/filesystems",
    "/proc/version",
    "/proc/sys/vm",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/cap_last_cap",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/usr/share/zoneinfo",
];

const PLAIN_DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// Files of NVIDIA's driver beside its devices.
const DRIVER: [&str; 7] = [
    "/proc/driver/nvidia",
    "/proc/devices",
    "/proc/modules",
    "/sys",
    "/etc/nvidia",
    "/usr/share/nvidia",
    "/usr/local/cuda",
];

/// Bytes of a file of a worker: a tensor in a file is no larger than its address space.
const MAX_FILE_BYTES: u64 = 64 << 30;

/// Descriptors of a worker without a GPU.
const MAX_FILES: u64 = 1024;

impl Policy {
    /// Returns the policy of a worker that compiles and emulates; `python` asks for sockets of the machine.
    #[must_use]
    pub fn cpu_worker(places: &Places, python: bool) -> Self {
        Self {
            sockets: if python { Sockets::Unix } else { Sockets::None },
            hide_memory: true,
            max_files: Some(MAX_FILES),
            ..Self::of(places)
        }
    }

    /// Returns the policy of a worker with a GPU.
    #[must_use]
    pub fn gpu_worker(places: &Places) -> Self {
        let mut policy = Self {
            sockets: Sockets::Unix,
            capabilities: Capabilities::OfFiles,
            may_share: true,
            name_threads: true,
            ..Self::of(places)
        };
        policy.read.extend(DRIVER.map(PathBuf::from));
        policy.devices.extend(nvidia_devices(Path::new("/dev")));
        policy
    }

    /// Returns the policy of a process that runs some programs for a worker.
    #[must_use]
    pub fn server(places: &Places, programs: Vec<PathBuf>) -> Self {
        Self { processes: Processes::Of(programs), ..Self::program(places, Vec::new()) }
    }

    /// Returns the policy of a program that such a process starts.
    #[must_use]
    pub fn program(places: &Places, programs: Vec<PathBuf>) -> Self {
        Self {
            processes: Processes::Become(programs),
            max_files: Some(MAX_FILES),
            ..Self::of(places)
        }
    }

    /// Returns the policy of a Python process. PyTorch imports from anywhere and starts compilers.
    #[must_use]
    pub fn python(write: Vec<PathBuf>) -> Self {
        Self {
            read: vec!["/".into()],
            write,
            devices: all_devices(Path::new("/dev")),
            processes: Processes::Any,
            sockets: Sockets::Unix,
            capabilities: Capabilities::OfFiles,
            may_share: true,
            name_threads: true,
            may_change_modes: true,
            ..Self::default()
        }
    }

    fn of(places: &Places) -> Self {
        let read = LIBRARIES.into_iter().chain(FACTS).map(PathBuf::from);
        Self {
            read: read.chain(places.read.iter().cloned()).collect(),
            write: places.write.clone(),
            socket_folders: places.socket_folders.clone(),
            devices: PLAIN_DEVICES.map(PathBuf::from).to_vec(),
            max_file_bytes: Some(MAX_FILE_BYTES),
            ..Self::default()
        }
    }

    /// Returns the programs that it may run, with their loader; `None` is every one.
    pub(super) fn programs(&self) -> Option<Vec<PathBuf>> {
        match &self.processes {
            Processes::None => Some(Vec::new()),
            Processes::Become(programs) | Processes::Of(programs) => {
                Some(programs.iter().cloned().chain(LOADERS.map(PathBuf::from)).collect())
            }
            Processes::Any => None,
        }
    }

    /// Returns the walls that a policy leaves out although its kind of process has them otherwise.
    pub(super) fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if !self.may_share && self.sockets == Sockets::Unix {
            gaps.push("a ban on Unix sockets (the reference is in Python)".to_owned());
        }
        gaps
    }
}

/// Returns the devices of NVIDIA's driver, and that of GPUs in a Windows host.
fn nvidia_devices(folder: &Path) -> Vec<PathBuf> {
    let is_one = |name: &str| name.starts_with("nvidia") || name == "dxg";
    entries(folder, is_one)
}

/// Returns everything in a folder of devices but memory that all processes share.
fn all_devices(folder: &Path) -> Vec<PathBuf> {
    entries(folder, |name| !["shm", "mqueue", "hugepages"].contains(&name))
}

fn entries(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    // Links lead to pipes and terminals that are open already.
    let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    let wanted = entries.filter(|entry| entry.file_name().to_str().is_some_and(&wanted));
    wanted.filter(|entry| !is_link(entry)).map(|entry| entry.path()).collect()
}
