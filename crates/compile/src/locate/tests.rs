use std::fs;

use super::*;

/// Makes a folder with a toolchain's files, all empty.
fn install(root: &Path, files: &[&str]) {
    for file in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
}

const WHEELS_13: [&str; 5] = [
    "nvidia/cu13/lib/libnvrtc.so.13",
    "nvidia/cu13/lib/libnvrtc-builtins.so.13.0",
    "nvidia/cu13/include/cuda_fp16.h",
    "nvidia/cu13/include/crt/mma.h",
    "nvidia/cu13/include/cccl/cuda/std/type_traits",
];

const WHEELS_12: [&str; 5] = [
    "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
    "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8",
    "nvidia/cuda_runtime/include/cuda_fp16.h",
    "nvidia/cuda_nvcc/include/crt/mma.h",
    "nvidia/cuda_cccl/include/cuda/std/type_traits",
];

fn asked(path: PathBuf, driver_version: Option<u32>) -> Result<Toolchain, Error> {
    locate(&LocateOptions { asked: Some(path), driver_version, ..LocateOptions::default() })
}

#[test]
fn wheels_and_toolkits_are_understood() {
    let toolkit = [
        "lib64/libnvrtc.so.12.8.93",
        "lib64/libnvrtc-builtins.so.12.8",
        "include/cuda_fp16.h",
        "include/crt/mma.h",
        "include/cuda/std/type_traits",
    ];
    for (files, version, n_include_dirs) in
        [(WHEELS_13, (13, 0), 2), (WHEELS_12, (12, 8), 3), (toolkit, (12, 8), 1)]
    {
        let root = tempfile::tempdir().unwrap();
        install(root.path(), &files);
        let found = asked(root.path().to_owned(), None).unwrap();
        assert_eq!(found.version, version);
        assert!(found.complete, "{found:?}");
        assert_eq!(found.include_dirs.len(), n_include_dirs, "{found:?}");
        let by_file = asked(root.path().join(files[0]), None).unwrap();
        assert_eq!((by_file.nvrtc, by_file.version), (found.nvrtc, version));
    }
}

#[test]
fn a_wrong_place_is_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    let error = asked(root.path().to_owned(), None).unwrap_err().to_string();
    assert!(error.contains(root.path().to_str().unwrap()), "{error}");
    install(root.path(), &WHEELS_13);
    let error = asked(root.path().to_owned(), Some(12_080)).unwrap_err();
    assert!(matches!(error, Error::TooNew { major: 13, driver: 12, .. }), "{error}");
}

#[test]
fn a_complete_toolchain_is_preferred_and_the_cache_comes_last() {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| root.path().join(name);
    install(&place("env/lib/python3.11/site-packages"), &WHEELS_12[..2]);
    install(&place("cache/nvrtc-13.0"), &WHEELS_13);
    let mut options = LocateOptions {
        python_prefixes: vec![place("env")],
        cache: Some(place("cache")),
        ..LocateOptions::default()
    };
    let found = locate(&options).unwrap();
    assert_eq!((found.version.0, found.complete), (13, true));
    options.driver_version = Some(12_040);
    let found = locate(&options).unwrap();
    assert_eq!((found.version.0, found.complete), (12, false));
    install(&place("home"), &["lib64/libnvrtc.so.12", "include/cuda_fp16.h"]);
    install(&place("home"), &["include/cuda/std/type_traits", "include/crt/mma.h"]);
    options.cuda_homes = vec![place("home")];
    assert_eq!(locate(&options).unwrap().found_by, "CUDA_HOME");
}

#[test]
fn cublaslt_is_found_beside_nvrtc_unless_the_driver_is_older() {
    let root = tempfile::tempdir().unwrap();
    let site = "venv/lib/python3.12/site-packages/nvidia";
    install(root.path(), &[&format!("{site}/cublas/lib/libcublasLt.so.12")]);
    install(root.path(), &[&format!("{site}/cu13/lib/libcublasLt.so.13")]);
    let found = |driver| {
        let python_prefixes = vec![root.path().join("venv")];
        let driver_version = Some(driver);
        let options = LocateOptions { python_prefixes, driver_version, ..LocateOptions::default() };
        locate_cublaslt(&options).map(|path| path.strip_prefix(root.path()).unwrap().to_owned())
    };
    assert_eq!(found(13_000).unwrap(), Path::new(site).join("cu13/lib/libcublasLt.so.13"));
    assert_eq!(found(12_080).unwrap(), Path::new(site).join("cublas/lib/libcublasLt.so.12"));
}

#[test]
fn cudnn_is_found_in_its_own_folder_and_in_its_ninth_version_alone() {
    let root = tempfile::tempdir().unwrap();
    let folder = "lib/python3.12/site-packages/nvidia/cudnn/lib";
    let found = || {
        let python_prefixes = vec![root.path().to_owned()];
        locate_cudnn(&LocateOptions { python_prefixes, ..LocateOptions::default() })
            .filter(|path| path.starts_with(root.path()))
    };
    install(
        root.path(),
        &[&format!("{folder}/libcudnn.so.8"), &format!("{folder}/libcudnn_ops.so.9")],
    );
    assert_eq!(found(), None);
    install(root.path(), &[&format!("{folder}/libcudnn.so.9")]);
    assert_eq!(found(), Some(root.path().join(folder).join("libcudnn.so.9")));
}
