//! Clusters, distributed shared memory and barriers of the whole grid.

use crate::harness::{Arg, close, module, random, random_bits, run, run_clusters, run_options};
use ptx_emu::{FindingKind, Launch, LaunchError, Options};

#[test]
fn blocks_count_in_each_others_memory() {
    let x: Vec<i32> = random_bits(3000).iter().map(|b| (b >> 7) as i32).collect();
    let zeros = vec![0_i32; 256];
    let args = vec![Arg::from(&x), Arg::from(&zeros), Arg::from(3000_i32)];
    let ran = run("pass/cluster", "histogram", [8, 1, 1], [96, 1, 1], args).ok();
    let mut want = zeros;
    for v in &x {
        want[(v & 255) as usize] += 1;
    }
    assert_eq!(ran.i32(1), want);
}

#[test]
fn a_block_sums_what_the_others_left() {
    for size in [1_u32, 2, 5, 8, 16] {
        let x = random(size as usize * 3 * 32);
        let args = vec![Arg::from(&x), Arg::Out(3, 4)];
        let grid = [3 * size, 1, 1];
        let ran = run_clusters("pass/cluster", "reduce", grid, [size, 1, 1], [32, 1, 1], args);
        let sums = x.chunks(32 * size as usize).map(|c| c.iter().map(|v| f64::from(*v)).sum());
        close(&ran.ok().f32(1), &sums.collect::<Vec<f64>>(), 1e-5);
    }
}

#[test]
fn positions_are_those_of_the_launch() {
    let args = vec![Arg::Out(6 * 4 * 16, 4)];
    let block = [16, 4, 1];
    let ran = run_clusters("pass/cluster", "positions", [6, 4, 1], [3, 2, 1], block, args);
    // Only the thread with x = 33 writes, and the block has none.
    assert_eq!(ran.ok().n_written(0), 0);
    let args = vec![Arg::Out(6 * 4 * 16, 4)];
    let ran = run_clusters("pass/cluster", "positions", [6, 4, 1], [3, 2, 1], [64, 1, 1], args);
    let got = ran.ok().u32(0);
    for (b, got) in got.chunks(16).enumerate() {
        let (x, y) = (b as u32 % 6, b as u32 / 6);
        let rank = x % 3 + 3 * (y % 2);
        let own = u32::from(rank == 5);
        let want =
            [x % 3, y % 2, rank, 6, 3, 2, 5, rank * 64 + 33, x / 3, y / 2, 2, 2, 1, own, 1, 1];
        assert_eq!(got, want, "block {b}");
    }
}

#[test]
fn arriving_and_waiting_are_two_steps() {
    let x: Vec<i32> = (0..256).collect();
    let args = vec![Arg::from(&x), Arg::Out(256, 4)];
    let ran = run_clusters("pass/cluster", "ring", [8, 1, 1], [4, 1, 1], [32, 1, 1], args).ok();
    let want = |i: usize| {
        let (b, t) = (i / 32, i % 32);
        let before = b / 4 * 4 + (b + 3) % 4;
        (before * 32 + t + 1000 * (b * 32 + 31 - t)) as i32
    };
    assert_eq!(ran.i32(1), (0..256).map(want).collect::<Vec<_>>());
}

#[test]
fn blocks_arrive_at_each_others_mbarriers() {
    let x: Vec<i32> = random_bits(128).iter().map(|b| (b >> 8) as i32).collect();
    let args = vec![Arg::from(&x), Arg::Out(96, 4)];
    let ran = run("pass/cluster", "multicast", [2, 2, 1], [32, 1, 1], args).ok();
    let want = |i: usize| 3 * x[32 + i / 32 * 32 + (i + 1) % 32];
    assert_eq!(ran.i32(1), (0..96).map(want).collect::<Vec<_>>());
}

#[test]
fn a_barrier_of_the_grid_traps_in_a_launch_that_is_not_cooperative() {
    let smooth = |cooperative| {
        let x = Arg::from(&vec![0.0_f32; 64]);
        let args = vec![x, Arg::from(&vec![0.0_f32; 64]), Arg::from(64_i32), Arg::from(1_i32)];
        let launch = Launch {
            kernel: "smooth".to_owned(),
            grid: [2, 1, 1],
            block: [32, 1, 1],
            ..Launch::default()
        };
        let options = Options { cooperative, ..Options::default() };
        run_options(&module("pass/grid"), launch, &options, args)
    };
    smooth(None).ok();
    smooth(Some(true)).ok();
    let ran = smooth(Some(false));
    let [finding] = &ran.findings[..] else { panic!("{:?}", ran.findings) };
    assert_eq!((finding.kind, finding.line), (FindingKind::Trap, Some(9)));
    let hint = finding.hint.as_deref().unwrap_or_default();
    assert!(hint.contains("not cooperative"), "{hint}");
}

#[test]
fn the_whole_grid_meets() {
    let n = 500_usize;
    let x = random(n);
    let args =
        vec![Arg::from(&x), Arg::from(&vec![0.0_f32; n]), Arg::from(n as i32), Arg::from(3_i32)];
    let ran = run("pass/grid", "smooth", [7, 1, 1], [64, 1, 1], args).ok();
    let mut want: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    for _ in 0..3 {
        let t: Vec<f64> = (0..n).map(|i| 0.5 * want[i] + 0.25 * want[(i + 1) % n]).collect();
        want = t.into_iter().rev().collect();
    }
    close(&ran.f32(0), &want, 1e-6);
    let x: Vec<i32> = random_bits(n).iter().map(|b| (*b >> 20) as i32 - 2000).collect();
    let counts = [0, i32::MIN];
    let args = vec![
        Arg::from(&x),
        Arg::from(&vec![0_i32; n]),
        Arg::from(counts.as_slice()),
        Arg::from(n as i32),
    ];
    let ran = run("pass/grid", "compact", [8, 1, 1], [64, 1, 1], args).ok();
    let mut want: Vec<i32> = x.iter().copied().filter(|v| *v > 0).collect();
    want.sort_unstable();
    let mut got = ran.i32(1)[..want.len()].to_vec();
    got.sort_unstable();
    assert_eq!(got, want);
    let most = x.chunks(32).map(|c| c.iter().sum()).max();
    assert_eq!(ran.i32(2), [want.len() as i32, most.expect("there are warps")]);
}

#[test]
fn a_barrier_missed_by_one_block_is_a_deadlock() {
    let args = vec![Arg::Out(32, 4)];
    let ran = run_clusters("fail/cluster", "missed", [2, 1, 1], [2, 1, 1], [32, 1, 1], args);
    let Err(LaunchError::Deadlock { message, line: Some(_), at_barrier: true }) = ran.result else {
        panic!("{:?}", ran.result);
    };
    assert!(
        message.contains(
            "block (0,0,0): warp 0 (32 threads) waiting at the cluster's barrier at line"
        ),
        "{message}"
    );
    assert!(
        message.contains(
            "block (1,0,0): warp 0 (32 threads) waiting for mbarrier `bar`[0] (phase parity 0, 1 of 1"
        ),
        "{message}"
    );
}

#[test]
fn wrong_uses_of_other_blocks_memory_are_found() {
    let x = random(32);
    let cluster = |kernel: &str, args: Vec<Arg>| {
        run_clusters("fail/cluster", kernel, [2, 1, 1], [2, 1, 1], [32, 1, 1], args).fault()
    };
    let finding = cluster("exited", vec![Arg::from(&x), Arg::Out(32, 4)]);
    assert_eq!(finding.kind, FindingKind::Cluster, "{}", finding.message);
    assert!(
        finding.message.contains("of block 1 of the cluster, which has exited"),
        "{}",
        finding.message
    );
    let finding = cluster("overflow", vec![Arg::Out(32, 4)]);
    assert_eq!((finding.kind, finding.element), (FindingKind::OutOfBoundsWrite, Some(32)));
    assert!(
        finding.message.contains("`box`[32] (32 elements) of block 0 of the cluster"),
        "{}",
        finding.message
    );
    let finding = cluster("no_such_block", vec![Arg::Out(32, 4)]);
    assert!(finding.message.starts_with("rank 2 in a cluster of 2 blocks"), "{}", finding.message);
    let finding = cluster("lone_wait", vec![Arg::Out(32, 4)]);
    assert!(finding.message.contains("without an arrival before"), "{}", finding.message);
}

#[test]
fn mbarriers_that_others_use_are_made_known_to_them() {
    let unknown = |how: i32| {
        let args = vec![Arg::Out(64, 4), Arg::from(how)];
        run_clusters("fail/cluster", "unknown", [2, 1, 1], [2, 1, 1], [32, 1, 1], args)
    };
    for how in [1, 2] {
        assert_eq!(unknown(how).ok().findings, [], "{how}");
    }
    let ran = unknown(0);
    let [finding] = &ran.findings[..] else { panic!("{:?}", ran.findings) };
    assert_eq!((finding.kind, finding.line), (FindingKind::Mbarrier, Some(70)));
    let text = "no release orders `mbarrier.init` before this use by another block: `bar`[0]";
    assert!(finding.message.starts_with(text), "{}", finding.message);
}

#[test]
fn impossible_clusters_are_refused() {
    let launch = |kernel: &str, grid: u32, cluster: [u32; 3]| {
        let args = vec![Arg::Out(32, 4), Arg::Out(32, 4)];
        let ran = run_clusters("pass/cluster", kernel, [grid, 1, 1], cluster, [32, 1, 1], args);
        match ran.result {
            Err(LaunchError::Launch { message }) => message,
            other => panic!("expected a refusal, got {other:?}"),
        }
    };
    assert!(launch("reduce", 6, [4, 1, 1]).contains("is not made of clusters"));
    assert!(launch("reduce", 17, [17, 1, 1]).contains("1 to 16 blocks, not 17"));
    assert!(launch("reduce", 4, [0, 1, 1]).contains("1 to 16 blocks, not 0"));
    assert!(launch("multicast", 4, [4, 1, 1]).contains("demands clusters of [2, 2, 1] blocks"));
}
