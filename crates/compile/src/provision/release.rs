//! The pinned wheels.

/// A wheel with its checksums.
pub(super) struct Wheel {
    /// Package and version.
    pub(super) requirement: &'static str,
    /// SHA-256 of the wheels for `x86_64` and aarch64; one where a wheel serves both.
    pub(super) sha256: &'static [&'static str],
}

/// Wheels that are installed together.
pub(super) struct Release {
    /// Their name in messages.
    pub(super) name: &'static str,
    /// Their folder in the cache.
    pub(super) folder: &'static str,
    pub(super) wheels: &'static [Wheel],
    /// The folder in the wheels that is kept; empty keeps all.
    pub(super) part: &'static str,
    /// Bytes of the wheels and of their content, roughly.
    pub(super) bytes: u64,
}

/// For drivers from 580 on, and where there is no GPU.
pub(super) const CUDA_13: Release = Release {
    name: "NVRTC",
    folder: "nvrtc-13.0",
    wheels: &[
        Wheel {
            requirement: "nvidia-cuda-nvrtc==13.0.88",
            sha256: &[
                "ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575",
                "d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-runtime==13.0.96",
            sha256: &[
                "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
                "ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-crt==13.0.88",
            sha256: &[
                "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
                "ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-cccl==13.0.85",
            sha256: &[
                "e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649",
                "6f0203e29fed809ee2b7fe9b1344df66ecab990c37d6a2e0e189b26d6c97ed7c",
            ],
        },
    ],
    part: "",
    bytes: 350 << 20,
};

/// For drivers older than 580.
pub(super) const CUDA_12: Release = Release {
    name: "NVRTC",
    folder: "nvrtc-12.8",
    wheels: &[
        Wheel {
            requirement: "nvidia-cuda-nvrtc-cu12==12.8.93",
            sha256: &[
                "a7756528852ef889772a84c6cd89d41dfa74667e24cca16bb31f8f061e3e9994",
                "fc1fec1e1637854b4c0a65fb9a8346b51dd9ee69e61ebaccc82058441f15bce8",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-runtime-cu12==12.8.90",
            sha256: &[
                "adade8dcbd0edf427b7204d480d6066d33902cab2a4707dcfc48a2d0fd44ab90",
                "52bf7bbee900262ffefe5e9d5a2a69a30d97e2bc5bb6cc866688caa976966e3d",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-cccl-cu12==12.8.90",
            sha256: &[
                "575bc5cfb0fe4a1956c539215c0f1e6718821b95a68ef6b7abf226aa87e3a5ad",
                "1e4b0d0ea7577cc0ccef6ebf9639380d3d30869f0f774b020380d288a49273c2",
            ],
        },
        // Before CUDA 13 the headers below `crt/` come with the compiler.
        Wheel {
            requirement: "nvidia-cuda-nvcc-cu12==12.8.93",
            sha256: &[
                "2d6dc36fb7cb5ac9c0b8825bc13d193c35487a315664007287d0126531238011",
                "2b35ada240938d19398119ca596faaf626ba5e729511be9715842a29d112926d",
            ],
        },
    ],
    part: "",
    bytes: 470 << 20,
};

/// The headers of CUTLASS and `CuTe`; the Python around them is left out.
pub(super) const CUTLASS: Release = Release {
    name: "CUTLASS",
    folder: "cutlass-4.2.0.0",
    wheels: &[Wheel {
        requirement: "nvidia-cutlass==4.2.0.0",
        sha256: &["f9599ada45c7bcb6bf53f7d3f0a7d154183e53451c01bfa59eecd37dd4a693f6"],
    }],
    part: "cutlass_library/source/include",
    bytes: 45 << 20,
};

impl Release {
    /// Chooses the NVRTC that a driver can run.
    pub(super) fn nvrtc_for_driver(version: Option<u32>) -> &'static Self {
        if version.is_some_and(|version| version < 13_000) { &CUDA_12 } else { &CUDA_13 }
    }

    /// Returns a requirements file that accepts only the pinned wheels.
    pub(super) fn requirements(&self) -> String {
        let hash = |sha256: &&str| format!(" --hash=sha256:{sha256}");
        let line = |wheel: &Wheel| {
            let hashes: String = wheel.sha256.iter().map(hash).collect();
            format!("{}{hashes}\n", wheel.requirement)
        };
        self.wheels.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wheel_is_pinned_by_version_and_checksum() {
        for (release, platforms) in [(&CUDA_12, 2), (&CUDA_13, 2), (&CUTLASS, 1)] {
            for line in release.requirements().lines() {
                let hashes: Vec<&str> =
                    line.split("--hash=sha256:").skip(1).map(str::trim).collect();
                assert!(line.contains("=="), "{line}");
                assert_eq!(hashes.len(), platforms, "{line}");
                for hash in hashes {
                    assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
                }
            }
        }
    }

    #[test]
    fn old_drivers_get_the_old_release() {
        assert_eq!(Release::nvrtc_for_driver(Some(12_080)).folder, "nvrtc-12.8");
        assert_eq!(Release::nvrtc_for_driver(Some(13_000)).folder, "nvrtc-13.0");
        assert_eq!(Release::nvrtc_for_driver(None).folder, "nvrtc-13.0");
    }
}
