//! Some thousand random programs, the same in every run.

use crate::program::{Program, check, survive};

/// The next number of a sequence (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Checks `n` programs; gives how many ended without a finding.
fn check_many(seed: u64, n: u32) -> u32 {
    let mut state = seed;
    let mut clean = 0;
    for _ in 0..n {
        let length = 16 + next(&mut state) as usize % 200;
        let bytes: Vec<u8> = (0..length).map(|_| next(&mut state) as u8).collect();
        clean += u32::from(check(&Program::new(&bytes)));
    }
    clean
}

/// Runs `n` programs in which some words were exchanged: whatever comes of it comes as a value.
fn damage_many(seed: u64, n: u32) {
    let mut state = seed;
    for _ in 0..n {
        let bytes: Vec<u8> = (0..100).map(|_| next(&mut state) as u8).collect();
        let program = Program::new(&bytes);
        let mut words: Vec<&str> = program.text.split_inclusive([' ', ',', '.', ';']).collect();
        for _ in 0..=next(&mut state) % 3 {
            let n = words.len();
            let (to, from) = (next(&mut state) as usize % n, next(&mut state) as usize % n);
            words[to] = words[from];
        }
        survive(&Program { text: words.concat(), ..program });
    }
}

#[test]
fn random_programs_end_and_checks_do_not_change_them() {
    let clean = check_many(1, 2000);
    // Enough of both kinds.
    assert!((300..1700).contains(&clean), "{clean} programs are clean");
}

#[test]
fn damaged_programs_do_no_harm() {
    damage_many(1, 500);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_programs() {
    for seed in 2..40 {
        check_many(seed, 5000);
        damage_many(seed, 5000);
    }
}
