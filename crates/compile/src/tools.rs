//! Programs of a CUDA toolkit: where they are, and the one that disassembles.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use kgen_process::{
    Spec,
    sandbox::{Places, Policy, Server, Wall},
};
use kgen_profile::sass::{self, SassMix};
use kgen_settings::env;

/// Where toolkits are installed by default.
const TOOLKIT: &str = "/usr/local/cuda";

/// Time that disassembling a module may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Memory that it may take: it reads machine code of a candidate.
const MEMORY_BYTES: u64 = 4 << 30;

/// Finds a program of the CUDA toolkit: on `PATH`, in `CUDA_HOME` or `CUDA_PATH`, where toolkits are
/// installed by default, or in the active Python environment's Triton.
#[must_use]
pub fn find_tool(name: &str) -> Option<PathBuf> {
    let homes = [env::CUDA_HOME, env::CUDA_PATH].into_iter().filter_map(|home| home.path());
    let homes = homes.chain([PathBuf::from(TOOLKIT)]).map(|home| home.join("bin"));
    let folders = env::PATH.paths().into_iter().chain(homes).chain(triton_folders());
    find_in(name, folders)
}

fn find_in(name: &str, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.into_iter().map(|folder| folder.join(name)).find(|path| is_program(path))
}

/// Returns whether a path is a file that may be executed.
#[must_use]
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Triton brings a few programs of the toolkit along.
fn triton_folders() -> Vec<PathBuf> {
    let prefixes = [env::VIRTUAL_ENV, env::CONDA_PREFIX].into_iter().filter_map(|var| var.path());
    let libraries = prefixes.filter_map(|prefix| std::fs::read_dir(prefix.join("lib")).ok());
    let pythons = libraries.flatten().filter_map(Result::ok);
    pythons.map(|python| python.path().join("site-packages/triton/backends/nvidia/bin")).collect()
}

/// The way to nvdisasm.
#[derive(Debug)]
pub enum Disassembler {
    /// It is looked for when it is first needed, and started by this process.
    Here(OnceLock<Option<PathBuf>>),
    /// Another process starts it.
    There(Server),
    /// There is none.
    Nowhere,
}

impl Disassembler {
    /// Returns the way for a process that may start others.
    #[must_use]
    pub const fn here() -> Self {
        Self::Here(OnceLock::new())
    }

    /// Returns the way for a process that is about to lose the right to start others, and has one thread:
    /// a server behind a wall of its own.
    #[must_use]
    pub fn served(places: &Places) -> Self {
        let Some(program) = find_tool("nvdisasm") else { return Self::Nowhere };
        // A link may lead into the toolkit, where libraries are.
        let program = program.canonicalize().unwrap_or(program);
        let toolkit = program.ancestors().nth(2).map(Path::to_owned);
        let read = places.read.iter().cloned().chain(toolkit).collect();
        let places = Places { read, ..places.clone() };
        let forked = Server::start(move || {
            let inner = Arc::new(Wall::new(&Policy::program(&places, vec![program.clone()])));
            drop(Wall::new(&Policy::server(&places, vec![program.clone()])).enter());
            move |cubin: Vec<u8>| {
                let counted = disassemble(&program, &cubin, Some(Arc::clone(&inner)));
                serde_json::to_vec(&counted).unwrap_or_default()
            }
        });
        forked.map_or_else(
            |error| {
                tracing::warn!(%error, "machine code is not counted");
                Self::Nowhere
            },
            Self::There,
        )
    }

    /// Counts the machine code of a module; `None` where nothing can.
    pub(super) fn count(&self, cubin: &[u8]) -> Option<Vec<SassMix>> {
        match self {
            Self::Here(program) => {
                let program = program.get_or_init(|| find_tool("nvdisasm"));
                disassemble(program.as_deref()?, cubin, None)
            }
            Self::There(server) => serde_json::from_slice(&server.ask(cubin).ok()?).ok()?,
            Self::Nowhere => None,
        }
    }
}

/// Counts the machine code of a module; `None` where the disassembler does not understand it.
fn disassemble(program: &Path, cubin: &[u8], wall: Option<Arc<Wall>>) -> Option<Vec<SassMix>> {
    let mut file = tempfile::Builder::new().suffix(".cubin").tempfile().ok()?;
    file.write_all(cubin).ok()?;
    let mut spec = Spec::new(program, file.path().parent()?)
        .args(["-json".as_ref(), file.path().as_os_str()])
        .deadline(LIMIT);
    spec.memory_bytes = Some(MEMORY_BYTES);
    spec.wall = wall;
    let output = kgen_process::run(&spec).ok()?;
    if !output.status.is_success() || output.stdout_truncated {
        return None;
    }
    sass::parse(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn script(folder: &Path, text: &str) -> PathBuf {
        kgen_process::testing::program(folder, "tool", text)
    }

    #[test]
    fn a_tool_is_a_file_that_can_be_run() {
        let (empty, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = script(folder.path(), "#!/bin/sh\n");
        fs::create_dir(empty.path().join("tool")).unwrap();
        let folders = || [empty.path().to_owned(), folder.path().to_owned()];
        assert_eq!(find_in("tool", folders()), Some(path.clone()));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(find_in("tool", folders()), None);
    }

    #[test]
    fn what_the_disassembler_prints_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let json = r#"[{},[{"function-name":"k","sass-instructions":[{"opcode":"LDG.E.128"}]}]]"#;
        let program =
            script(folder.path(), &format!("#!/bin/sh\ntest -s \"$2\" && echo '{json}'\n"));
        let mixes = disassemble(&program, b"code", None).unwrap();
        assert_eq!((mixes[0].kernel.as_str(), mixes[0].kinds["global loads"]), ("k", 1));
        assert_eq!(disassemble(&program, b"", None), None, "the program fails on an empty file");
        assert_eq!(
            disassemble(&script(folder.path(), "#!/bin/sh\necho no\n"), b"code", None),
            None
        );
    }
}
