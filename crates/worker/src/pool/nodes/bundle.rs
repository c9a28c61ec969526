//! The files that a node needs: kgen itself, and NVRTC with its headers where a worker compiles there.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use kgen_compile::Toolchain;
use kgen_process::Scratch;
use kgen_record::hex;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

/// The shell script that a node begins with.
const BOOTSTRAP: &str = include_str!("bootstrap.sh");

/// The name of kgen's executable in a bundle; [`BOOTSTRAP`] has it too.
const EXE: &str = "kgen";

/// A file of the bundle.
#[derive(Debug, Clone)]
struct Entry {
    /// Its path in the bundle.
    name: PathBuf,
    /// Its path here.
    path: PathBuf,
}

/// The files that a node needs, and the name of their folder there.
#[derive(Debug)]
pub(super) struct Bundle {
    entries: Vec<Entry>,
    key: String,
    /// The compiler, as it is on a node.
    toolchain: Toolchain,
    archive: OnceCell<Archive>,
}

/// All files in one.
#[derive(Debug)]
struct Archive {
    _scratch: Scratch,
    path: PathBuf,
    len: u64,
}

impl Bundle {
    /// Returns kgen alone, for workers that do not compile.
    ///
    /// # Errors
    ///
    /// When the executable cannot be looked at.
    pub(super) fn of_exe(toolchain: &Toolchain) -> io::Result<Self> {
        let mut bundle = Self {
            entries: Vec::new(),
            key: String::new(),
            toolchain: toolchain.clone(),
            archive: OnceCell::new(),
        };
        // Its own name, since a link into /proc has no size.
        bundle.add(EXE.into(), &std::env::current_exe()?)?;
        bundle.key = bundle.hash()?;
        Ok(bundle)
    }

    /// Returns kgen and its compiler.
    ///
    /// # Errors
    ///
    /// When a file cannot be looked at.
    pub(super) fn with_compiler(toolchain: &Toolchain) -> io::Result<Self> {
        let mut bundle = Self::of_exe(toolchain)?;
        let library = toolchain.nvrtc.canonicalize()?;
        let [folder, name] = [library.parent(), library.file_name().map(Path::new)];
        let missing = || io::Error::new(io::ErrorKind::NotFound, "NVRTC is no file in a folder");
        let (folder, name) = (folder.ok_or_else(missing)?, name.ok_or_else(missing)?);
        // The library loads its builtins from its own folder.
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let file = entry.file_name();
            if file.to_str().is_some_and(|file| file.starts_with("libnvrtc")) {
                bundle.add(Path::new("nvrtc").join(&file), &entry.path())?;
            }
        }
        bundle.toolchain.nvrtc = Path::new("nvrtc").join(name);
        for (index, folder) in toolchain.include_dirs.iter().enumerate() {
            let name = PathBuf::from(format!("include{index}"));
            bundle.add(name.clone(), folder)?;
            bundle.toolchain.include_dirs[index] = name;
        }
        if let Some(folder) = &toolchain.cutlass {
            bundle.add("cutlass".into(), folder)?;
            bundle.toolchain.cutlass = Some("cutlass".into());
        }
        bundle.key = bundle.hash()?;
        Ok(bundle)
    }

    /// Returns the script that looks for the bundle on a node and asks for it if it is not there.
    pub(super) fn bootstrap(&self) -> String {
        BOOTSTRAP.replace("@KEY@", &self.key)
    }

    /// Returns the compiler, with paths relative to the bundle's folder.
    pub(super) const fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// Returns a tar archive of the files and its length; made once, when the first node asks for it.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or the archive not be written.
    pub(super) async fn archive(&self) -> io::Result<(PathBuf, u64)> {
        let made = self.archive.get_or_try_init(|| async {
            let entries = self.entries.clone();
            tokio::task::spawn_blocking(move || pack(&entries)).await?
        });
        let Archive { path, len, .. } = made.await?;
        Ok((path.clone(), *len))
    }

    /// Adds a file, or all files of a folder.
    fn add(&mut self, name: PathBuf, path: &Path) -> io::Result<()> {
        if !path.is_dir() {
            self.entries.push(Entry { name, path: path.to_owned() });
            return Ok(());
        }
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            self.add(name.join(entry.file_name()), &entry.path())?;
        }
        Ok(())
    }

    /// Returns a name that differs where any file does. Contents are hundreds of megabytes and would take
    /// a second at every start, so size and time of change stand for them.
    fn hash(&mut self) -> io::Result<String> {
        self.entries.sort_by(|a, b| a.name.cmp(&b.name));
        let mut hash = Sha256::new_with_prefix(env!("CARGO_PKG_VERSION"));
        for Entry { name, path } in &self.entries {
            let facts = fs::metadata(path)?;
            let changed = facts.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            let line = format!("{}\0{}\0{}\n", name.display(), facts.len(), changed.as_nanos());
            hash.update(line);
        }
        Ok(hex(&hash.finalize()[..12]))
    }
}

fn pack(entries: &[Entry]) -> io::Result<Archive> {
    let scratch = Scratch::new("bundle", None)?;
    let path = scratch.path().join("bundle.tar");
    let mut tar = tar::Builder::new(io::BufWriter::new(File::create(&path)?));
    for Entry { name, path } in entries {
        tar.append_path_with_name(path, name)?;
    }
    let mut file = tar.into_inner()?;
    file.flush()?;
    let len = fs::metadata(&path)?.len();
    Ok(Archive { _scratch: scratch, path, len })
}
