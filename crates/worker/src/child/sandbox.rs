//! The walls that a worker puts around itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use kgen_compile::Disassembler;
use kgen_device::GpuLock;
use kgen_process::sandbox::{Places, Policy, Report, Wall, user_namespace};
use kgen_settings::env;

use crate::protocol::{Role, Setup, Walls};

/// A part of the sandbox that cpu workers have.
const NAMESPACES: &str = "user, network and IPC namespaces";

/// A worker that is behind its walls, or has none.
pub(super) struct Entered {
    pub(super) report: Option<Report>,
    pub(super) disassembler: Disassembler,
}

/// Puts this process behind the walls that the parent asks for.
pub(super) fn enter(setup: &Setup) -> Entered {
    let Some(walls) = &setup.sandbox else {
        return Entered { report: None, disassembler: Disassembler::here() };
    };
    if setup.role == Role::Gpu && walls.profilers {
        // Nsight Compute and compute-sanitizer do not work behind a wall.
        let missing = vec!["every part (profilers may run)".to_owned()];
        let report = Some(Report { missing, ..Report::default() });
        return Entered { report, disassembler: Disassembler::Nowhere };
    }
    let places = places(setup, walls);
    let (policy, disassembler) = match setup.role {
        Role::Cpu => {
            let scratch = Places { write: own_folder().into_iter().collect(), ..Places::default() };
            (Policy::cpu_worker(&places, walls.python), Disassembler::served(&scratch))
        }
        Role::Gpu => (Policy::gpu_worker(&places), Disassembler::Nowhere),
    };
    let mut report = Wall::new(&policy).enter();
    if setup.role == Role::Cpu {
        match (&walls.outer_namespace, user_namespace()) {
            (Some(outer), Some(inner)) if *outer != inner => {
                report.held.push(NAMESPACES.to_owned());
            }
            (Some(_), _) => report.missing.push(format!("{NAMESPACES} (the system forbids them)")),
            (None, _) => {
                report.missing.push(format!("{NAMESPACES} (another program starts the worker)"));
            }
        }
    }
    Entered { report: Some(report), disassembler }
}

/// Returns the worker's scratch folder: the parent started it there.
fn own_folder() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

fn places(setup: &Setup, walls: &Walls) -> Places {
    let toolchain = &setup.toolchain;
    let named = toolchain.include_dirs.iter().chain(&toolchain.cutlass).cloned();
    let mut read: Vec<PathBuf> = named.chain(folder_of(&toolchain.nvrtc)).collect();
    read.extend(env::LD_LIBRARY_PATH.paths());
    let mut write: Vec<PathBuf> = own_folder().into_iter().collect();
    // A rule is about a folder that is there.
    let cache = setup.cache_dir.as_deref().filter(|cache| fs::create_dir_all(cache).is_ok());
    match setup.role {
        Role::Cpu => write.extend(cache.map(Path::to_owned)),
        Role::Gpu => {
            // Where cuBLASLt and cuDNN may be.
            let homes = [env::CUDA_HOME, env::CUDA_PATH, env::VIRTUAL_ENV, env::CONDA_PREFIX];
            read.extend(homes.iter().filter_map(env::Var::path));
            read.extend(cache.and_then(Path::parent).map(Path::to_owned));
            // Kgens that measure on the same GPU wait for each other.
            write.push(GpuLock::folder().to_owned());
        }
    }
    Places { read, write, socket_folders: walls.place.iter().cloned().collect() }
}

/// Returns the folders of a library: that of its name, and that of the file that a link leads to.
fn folder_of(library: &Path) -> impl Iterator<Item = PathBuf> {
    let real = library.canonicalize().ok();
    let paths = [Some(library.to_owned()), real].into_iter().flatten();
    paths.filter_map(|path| Some(path.parent()?.to_owned()))
}
