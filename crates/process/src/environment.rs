//! The part of kgen's environment that a child process sees.
//!
//! An allow-list, not a block-list: API keys and whatever else lies around never pass. A pattern is
//! a name, or a prefix that ends in `*`.

use std::ffi::{OsStr, OsString};

/// Variables that every program needs.
pub const SYSTEM_ENV: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TZ",
    "LANG",
    "LC_*",
    "LD_LIBRARY_PATH",
    "RUST_BACKTRACE",
    "KGEN_LOG",
];

/// Variables of GPU programs and launchers such as `srun`, `ssh` and `docker`.
pub const DEVICE_ENV: &[&str] = &[
    "CUDA_*",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "SLURM_*",
    "SSH_AUTH_SOCK",
    "DOCKER_HOST",
    "XDG_RUNTIME_DIR",
    // Where Python packages are that hold NVIDIA's libraries.
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
];

/// Further variables of commands that start programs on other machines.
pub const LAUNCH_ENV: &[&str] = &[
    "DOCKER_*",
    "KRB5CCNAME",
    "KUBECONFIG",
    "KUBERNETES_*",
    "PBS_*",
    "PMIX_*",
    "SGE_*",
    "SRUN_*",
    "SSH_*",
    "XDG_CONFIG_HOME",
];

/// Variables of programs that download something.
pub const NETWORK_ENV: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "PIP_*",
    "VIRTUAL_ENV",
    "XDG_*",
];

/// Variables of Python programs, without those that change the precision of PyTorch behind its back
/// (`NVIDIA_TF32_OVERRIDE` and the like).
pub const PYTHON_ENV: &[&str] = &[
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CC",
    "CXX",
    "CPATH",
    "LIBRARY_PATH",
    "TRITON_*",
    "XDG_CACHE_HOME",
];

/// Returns the variables of this process that one of `patterns` names.
pub(super) fn inherited(patterns: &[&[&str]]) -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_allowed(name, patterns)).collect()
}

fn is_allowed(name: &OsStr, patterns: &[&[&str]]) -> bool {
    let Some(name) = name.to_str() else { return false };
    patterns.iter().copied().flatten().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == *pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_pass() {
        let lists = [SYSTEM_ENV, DEVICE_ENV];
        for (name, passes) in [
            ("PATH", true),
            ("LC_ALL", true),
            ("CUDA_VISIBLE_DEVICES", true),
            ("PATHS", false),
            ("ANTHROPIC_API_KEY", false),
            ("OPENAI_API_KEY", false),
            ("PIP_INDEX_URL", false),
            ("XPATH", false),
        ] {
            assert_eq!(is_allowed(OsStr::new(name), &lists), passes, "{name}");
        }
    }
}
