//! Warp operations and barriers as the manual describes them.

use super::{
    integer,
    lanes::{Case, N},
};

/// The threads of a thread's warp.
fn warp(t: usize) -> std::ops::Range<usize> {
    t / 32 * 32..t / 32 * 32 + 32
}

/// Lanes of the warp for which the test holds.
fn ballot(t: usize, test: impl Fn(usize) -> bool) -> u64 {
    warp(t).filter(|u| test(*u)).fold(0, |m, u| m | 1 << (u % 32))
}

/// The cases of an opcode; none if it is no warp operation or barrier.
pub(super) fn cases(opcode: &str) -> Vec<Case> {
    let name = opcode.split('.').next().unwrap_or("");
    match name {
        "shfl" => [0x1f, 0, 0x0c03, 0x181f, 0x1000, 0x0f05].map(|c| shuffle(opcode, c)).into(),
        "vote" => votes(opcode),
        "match" => matches(opcode),
        "redux" => vec![redux(opcode)],
        "elect" => vec![Case::new(
            opcode,
            format!(
                "{opcode} %w4|%p2, 0xffffffff;\nselp.u32 %w5, 256, 0, %p2;\nor.b32 %w4, %w4, %w5;\ncvt.u64.u32 %l60, %w4;"
            ),
            |_, _, t| if t % 32 == 0 { 256 } else { 0 },
        )],
        "activemask" => vec![Case::new(
            opcode,
            format!("@!%p1 bra $L#;\n{opcode} %w4;\ncvt.u64.u32 %l60, %w4;\n$L#:"),
            |_, b, t| if b[t] & 1 == 1 { ballot(t, |u| b[u] & 1 == 1) } else { 0 },
        )],
        "bar" | "barrier" if !opcode.contains("cluster") => barriers(opcode),
        _ => Vec::new(),
    }
}

fn shuffle(opcode: &str, c: u64) -> Case {
    let body = format!(
        "{opcode} %w4|%p2, %w1, %w2, {c}, 0xffffffff;\nselp.u32 %w5, 1, 0, %p2;\nmov.b64 %l60, {{%w4, %w5}};"
    );
    let mode = opcode.split('.').nth(2).unwrap_or("").to_owned();
    Case::new(opcode, body, move |a, b, t| {
        let (lane, by) = ((t % 32) as i64, (b[t] & 31) as i64);
        let (clamp, segment) = ((c & 31) as i64, (c >> 8 & 31) as i64);
        let most = (lane & segment) | (clamp & !segment & 31);
        let least = lane & segment;
        let (from, inside) = match mode.as_str() {
            "up" => (lane - by, lane - by >= most),
            "down" => (lane + by, lane + by <= most),
            "bfly" => (lane ^ by, lane ^ by <= most),
            _ => {
                let from = least | (by & !segment & 31);
                (from, from <= most)
            }
        };
        let from = if inside { from as usize } else { lane as usize };
        (a[t / 32 * 32 + from] & 0xffff_ffff) | u64::from(inside) << 32
    })
}

fn votes(opcode: &str) -> Vec<Case> {
    if opcode.contains("ballot") {
        let plain = format!("{opcode} %w4, %p1, 0xffffffff;\ncvt.u64.u32 %l60, %w4;");
        let negated = plain.replace("%p1", "!%p1");
        return vec![
            Case::new(opcode, plain, |_, b, t| ballot(t, |u| b[u] & 1 == 1)),
            Case::new(opcode, negated, |_, b, t| ballot(t, |u| b[u] & 1 == 0)),
        ];
    }
    // Sources that all, no and some lanes hold.
    let sources = [
        ("setp.ge.u32 %p2, %w60, 0;", 0),
        ("setp.gt.u32 %p2, %w60, 99;", 1),
        ("setp.gt.u32 %p2, %w60, 40;", 2),
    ];
    let case = |(source, kind): (&str, u8)| {
        let mode = opcode.split('.').nth(2).unwrap_or("").to_owned();
        let body = format!("{source}\n{opcode} %p3, %p2, 0xffffffff;\nselp.u64 %l60, 1, 0, %p3;");
        Case::new(opcode, body, move |_, _, t| {
            let hits = ballot(t, |u| match kind {
                0 => true,
                1 => false,
                _ => u > 40,
            });
            let (all, any) = (hits == 0xffff_ffff, hits != 0);
            u64::from(match mode.as_str() {
                "all" => all,
                "any" => any,
                _ => all || !any,
            })
        })
    };
    sources.map(case).into()
}

fn matches(opcode: &str) -> Vec<Case> {
    let wide = opcode.ends_with("b64");
    let (reg, shift) = if wide { ("%l4", 40) } else { ("%w4", 0) };
    let make = |mask: u32| {
        if wide {
            format!("and.b64 %l4, %l1, {mask};\nshl.b64 %l4, %l4, {shift};")
        } else {
            format!("and.b32 %w4, %w1, {mask};")
        }
    };
    if opcode.contains("any") {
        let body = format!("{}\n{opcode} %w5, {reg}, 0xffffffff;\ncvt.u64.u32 %l60, %w5;", make(3));
        return vec![Case::new(opcode, body, |a, _, t| ballot(t, |u| a[u] & 3 == a[t] & 3))];
    }
    let case = |mask: u32| {
        let body = format!(
            "{}\n{opcode} %w5|%p2, {reg}, 0xffffffff;\nselp.u32 %w6, 1, 0, %p2;\nmov.b64 %l60, {{%w5, %w6}};",
            make(mask)
        );
        Case::new(opcode, body, move |a, _, t| {
            let same = warp(t).all(|u| a[u] & u64::from(mask) == a[t] & u64::from(mask));
            if same { 0x1_ffff_ffff } else { 0 }
        })
    };
    vec![case(0), case(1)]
}

fn redux(opcode: &str) -> Case {
    let body = format!("{opcode} %w4, %w1, 0xffffffff;\ncvt.u64.u32 %l60, %w4;");
    let parts: Vec<String> = opcode.split('.').map(str::to_owned).collect();
    if opcode.ends_with(".f32") {
        return Case::new(opcode, body, move |a, _, t| {
            let has = |part: &str| parts.iter().any(|p| p == part);
            let number = |u: usize| f32::from_bits(a[u] as u32);
            let all = warp(t).map(|u| if has("abs") { number(u).abs() } else { number(u) });
            let all: Vec<f32> = all.collect();
            if has("NaN") && all.iter().any(|x| x.is_nan()) {
                return 0x7fff_ffff;
            }
            let numbers = all.into_iter().filter(|x| !x.is_nan());
            let best = numbers.reduce(|x, y| {
                let less = x.total_cmp(&y).is_lt();
                if less == has("min") { x } else { y }
            });
            u64::from(best.map_or(0x7fff_ffff, f32::to_bits))
        });
    }
    Case::new(opcode, body, move |a, _, t| {
        let all = warp(t).map(|u| integer::value(a[u], &parts[3]));
        let result = match parts[2].as_str() {
            "add" => all.sum(),
            "min" => all.min().unwrap_or(0),
            "max" => all.max().unwrap_or(0),
            "and" => all.fold(-1, |x, y| x & y),
            "or" => all.fold(0, |x, y| x | y),
            _ => all.fold(0, |x, y| x ^ y),
        };
        integer::bits(result, 32)
    })
}

/// Values change hands through shared memory around the barrier.
fn barriers(opcode: &str) -> Vec<Case> {
    let base = "mov.u64 %l4, s#;\nadd.s64 %l5, %l4, %l57;";
    let write = format!("{base}\nst.shared.u64 [%l5], %l1;");
    if opcode == "bar.warp.sync" {
        let read = "xor.b32 %w4, %w60, 31;\nmul.wide.u32 %l6, %w4, 8;\nadd.s64 %l6, %l4, %l6;\nld.shared.u64 %l60, [%l6];";
        let body = format!("{write}\n{opcode} 0xffffffff;\n{read}");
        return vec![Case::new(opcode, body, |a, _, t| a[t ^ 31])];
    }
    let read = "xor.b32 %w4, %w60, 63;\nmul.wide.u32 %l6, %w4, 8;\nadd.s64 %l6, %l4, %l6;\nld.shared.u64 %l60, [%l6];";
    if opcode.contains("arrive") {
        // One warp announces, the other waits and reads.
        let wait = if opcode.contains("aligned") { "barrier.sync.aligned" } else { "barrier.sync" };
        let body = format!(
            "{write}\nsetp.ge.u32 %p2, %w60, 32;\n@%p2 bra $W#;\n{opcode} 3, 64;\nbra.uni $E#;\n\
             $W#:\n{wait} 3, 64;\n{read}\n$E#:"
        );
        return vec![Case::new(opcode, body, |a, _, t| if t < 32 { 0 } else { a[t ^ 63] })];
    }
    if !opcode.contains("red") {
        let case = |operands: &str| {
            let body = format!("{write}\n{opcode} {operands};\n{read}");
            Case::new(opcode, body, |a, _, t| a[t ^ 63])
        };
        return vec![case("0"), case("5, 64")];
    }
    let popc = opcode.contains("popc");
    let mut out = Vec::new();
    for operands in ["1, %p1", "1, 64, %p1", "1, !%p1"] {
        let body = if popc {
            format!("{opcode} %w4, {operands};\ncvt.u64.u32 %l60, %w4;")
        } else {
            format!("{opcode} %p2, {operands};\nselp.u64 %l60, 1, 0, %p2;")
        };
        let (negated, and) = (operands.contains('!'), opcode.contains("and"));
        out.push(Case::new(opcode, body, move |_, b, _| {
            let hits = b.iter().filter(|b| (**b & 1 == 1) != negated).count();
            match (popc, and) {
                (true, _) => hits as u64,
                (_, true) => u64::from(hits == N),
                _ => u64::from(hits > 0),
            }
        }));
    }
    out
}
