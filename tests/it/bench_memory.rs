//! `kgen bench memory` where there is no GPU, and its flags.

use super::cli::{fails, folder, kgen};

#[test]
fn memory_is_measured_on_a_gpu_alone() {
    let folder = folder();
    let says = ["memory is measured on a GPU", "kgen doctor"];
    fails(folder.path(), &["bench", "memory", "--device", "emu"], 5, &says);
    let mut hidden = kgen(folder.path());
    hidden.args(["bench", "memory", "--only", "read"]).env("CUDA_VISIBLE_DEVICES", "");
    hidden.assert().code(5);
}

#[test]
fn wrong_flags_of_memory_are_usage_errors() {
    let folder = folder();
    for (flags, says) in [
        (["--only", "h2d", "--max", "1GiB"], "there are h2d_pageable, d2h_pageable"),
        (["--min", "some", "--max", "1GiB"], "a number of bytes such as 64MiB"),
        (["--min", "2GiB", "--max", "1GiB"], "the smallest size, 2GiB, is above the largest, 1GiB"),
        (["--min", "100", "--max", "1GiB"], "a multiple of 128 bytes"),
    ] {
        let args = [&["bench", "memory"], flags.as_slice()].concat();
        fails(folder.path(), &args, 2, &[says]);
    }
}
