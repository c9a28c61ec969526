//! Loads libraries from wherever they were found, in a way that cudarc's own loading then finds them.
//!
//! cudarc asks the dynamic linker for `libnvrtc.so` and a few other bare names; it takes no path,
//! and a library path in the environment would have to be there before the process starts. But
//! the linker answers a bare name from the libraries already loaded when their SONAME is equal.
//! So three libraries are loaded by path: the builtins (which NVRTC itself asks for by bare
//! name), NVRTC, and a tiny one made here that is called `libnvrtc.so` and depends on NVRTC.

use std::{
    fs::File,
    io::Write,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::Mutex,
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::Error;

/// The NVRTC of this process; a second one cannot be loaded beside it.
static LOADED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The name that cudarc asks for first.
const ALIAS: &str = "libnvrtc.so";

/// Loads an NVRTC for the rest of the process's life; loading the same one again is free.
///
/// # Errors
///
/// [`Error::Load`] when a file is missing, is no library, or another NVRTC was loaded before.
pub(super) fn load(nvrtc: &Path) -> Result<(), Error> {
    let fail =
        |reason: String| Error::Load { path: nvrtc.to_owned(), reason: reason.trim().to_owned() };
    let path = nvrtc.canonicalize().map_err(|error| fail(error.to_string()))?;
    let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(first) = loaded.as_ref() {
        return if *first == path {
            Ok(())
        } else {
            Err(fail(format!("this process already uses {}", first.display())))
        };
    }
    for builtins in builtins_beside(&path) {
        open(&builtins).map_err(fail)?;
    }
    open(&path).map_err(fail)?;
    open_alias(ALIAS, &path).map_err(fail)?;
    *loaded = Some(path);
    Ok(())
}

/// Loads a library for the rest of the process's life under the bare name by which cudarc asks for
/// it, for example `libcublasLt.so`.
///
/// # Errors
///
/// [`Error::Load`] when it cannot be loaded.
pub fn load_library(library: &Path, name: &str) -> Result<(), Error> {
    let fail =
        |reason: String| Error::Load { path: library.to_owned(), reason: reason.trim().to_owned() };
    let path = library.canonicalize().map_err(|error| fail(error.to_string()))?;
    open(&path).map_err(fail)?;
    open_alias(name, &path).map_err(fail)
}

/// Returns the builtins libraries in NVRTC's folder.
pub(super) fn builtins_beside(nvrtc: &Path) -> Vec<PathBuf> {
    let Some(entries) = nvrtc.parent().and_then(|folder| folder.read_dir().ok()) else {
        return Vec::new();
    };
    let is_builtins =
        |name: &str| name.starts_with("libnvrtc-builtins.so.") || name == "libnvrtc-builtins.so";
    let mut found: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(is_builtins))
        .filter_map(|entry| entry.path().canonicalize().ok())
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Loads a library for good.
fn open(path: &Path) -> Result<(), String> {
    // SAFETY: loading runs the library's initialisers. NVRTC's and its builtins' only set up
    // their own state; the path is one that the user, the system or kgen's cache vouches for.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    std::mem::forget(library.map_err(|error| error.to_string())?);
    Ok(())
}

/// Loads a library that gives another one the name cudarc asks for.
fn open_alias(name: &str, library: &Path) -> Result<(), String> {
    let needed = library.to_str().ok_or("its path is not UTF-8")?;
    let image = alias_image(name, needed);
    let fd = memfd_create(c"kgen-alias", MFdFlags::MFD_CLOEXEC)
        .map_err(|error| format!("memfd_create: {error}"))?;
    let mut file = File::from(fd);
    file.write_all(&image).map_err(|error| error.to_string())?;
    open(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))
}

/// Builds a shared library without code: a name and one dependency.
///
/// Its file is mapped once, read and write, from address 0: the ELF header, two program headers,
/// the dynamic section, an empty symbol table, the strings. Source: System V ABI, chapters 4, 5.
fn alias_image(soname: &str, needed: &str) -> Vec<u8> {
    const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    const EHDR: u64 = 64;
    const PHDR: u64 = 56;
    const DYN: u64 = 16;
    const SYM: u64 = 24;
    const DYNAMIC_AT: u64 = EHDR + 2 * PHDR;
    const SYMBOLS_AT: u64 = DYNAMIC_AT + 7 * DYN;
    const STRINGS_AT: u64 = SYMBOLS_AT + SYM;
    let strings = [b"\0", soname.as_bytes(), b"\0", needed.as_bytes(), b"\0"].concat();
    let strings_len = strings.len() as u64;
    let needed_at = soname.len() as u64 + 2;
    let total = STRINGS_AT + strings_len;

    let mut image = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let mut half = |value: u16| image.extend(value.to_le_bytes());
    half(3); // ET_DYN
    half(MACHINE);
    image.extend(1_u32.to_le_bytes()); // version
    for value in [0, EHDR, 0_u64] {
        image.extend(value.to_le_bytes()); // entry, program headers, section headers
    }
    image.extend(0_u32.to_le_bytes()); // flags
    for value in [64_u16, 56, 2, 0, 0, 0] {
        image.extend(value.to_le_bytes());
    }
    let mut segment = |kind: u32, at: u64, len: u64, align: u64| {
        image.extend(kind.to_le_bytes());
        image.extend(6_u32.to_le_bytes()); // readable and writable: the linker relocates in place
        for value in [at, at, at, len, len, align] {
            image.extend(value.to_le_bytes());
        }
    };
    segment(1, 0, total, 0x10000); // PT_LOAD; 64 KiB pages exist on aarch64
    segment(2, DYNAMIC_AT, 7 * DYN, 8); // PT_DYNAMIC
    let dynamic = [
        (1, needed_at),    // DT_NEEDED
        (14, 1),           // DT_SONAME
        (5, STRINGS_AT),   // DT_STRTAB
        (6, SYMBOLS_AT),   // DT_SYMTAB
        (10, strings_len), // DT_STRSZ
        (11, SYM),         // DT_SYMENT
        (0, 0_u64),        // DT_NULL
    ];
    for (tag, value) in dynamic {
        image.extend(u64::to_le_bytes(tag));
        image.extend(value.to_le_bytes());
    }
    image.extend([0; 24]); // the symbol table: only its empty first entry
    image.extend(strings);
    image
}
