//! Moves, addresses, copies, control flow and instructions without effect.

use super::{lanes::Case, synth::width};

/// The cases of an opcode; none if it is of another kind.
pub(super) fn cases(opcode: &str) -> Vec<Case> {
    let name = opcode.split('.').next().unwrap_or("");
    match name {
        "mov" => moves(opcode),
        "cvta" => vec![address(opcode)],
        "isspacep" => space(opcode),
        "cp" if !opcode.contains("mbarrier") && !opcode.contains("bulk") => copies(opcode),
        "createpolicy" => vec![policy(opcode)],
        "bra" | "brx" | "call" | "ret" | "exit" => control(opcode),
        "prefetch" | "prefetchu" => vec![silent(opcode, &format!("{opcode} [%l58];"))],
        "applypriority" => vec![silent(opcode, &format!("{opcode} [%l58], 128;"))],
        // It destroys bytes that are written before they are read.
        "discard" => vec![silent(opcode, &format!("{opcode} [%l59], 128;"))],
        "nanosleep" => vec![silent(opcode, &format!("{opcode} 20;"))],
        "pmevent" => vec![silent(opcode, &format!("{opcode} 1;"))],
        "setmaxnreg" => vec![silent(opcode, &format!("{opcode} 64;"))],
        "fence" if opcode.contains("tensormap") && opcode.contains("acquire") => {
            vec![silent(opcode, &format!("{opcode} [%l58], 128;"))]
        }
        "membar" | "fence" | "brkpt" | "griddepcontrol" => {
            vec![silent(opcode, &format!("{opcode};"))]
        }
        "mbarrier" => rendezvous(opcode).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// A statement without effect between a value's computation and its use.
fn silent(opcode: &str, statement: &str) -> Case {
    let body = format!("add.u64 %l60, %l1, 5;\n{statement}");
    Case::new(opcode, body, |a, _, t| a[t].wrapping_add(5))
}

/// Values change hands at a barrier object, by the given arrival or the given wait.
fn rendezvous(opcode: &str) -> Option<Case> {
    let arrives = opcode.contains(".arrive") && opcode.contains("expect_tx");
    let at = if opcode.contains("shared") { "%l4" } else { "%l9" };
    let meet = if arrives && opcode.contains("shared::cluster") {
        format!(
            "{opcode} _, [%l4], 0;\n\
             $W#: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%l4], 0;\n@!%p3 bra $W#;"
        )
    } else if opcode.contains("try_wait") && !opcode.contains("parity") {
        format!(
            "mbarrier.arrive.shared::cta.b64 %l8, [%l4];\n\
             cvta.shared.u64 %l9, %l4;\n$W#: {opcode} %p3, [{at}], %l8;\n@!%p3 bra $W#;"
        )
    } else {
        return None;
    };
    let body = format!(
        "mov.u64 %l4, s#;\nsetp.eq.u32 %p2, %w60, 0;\n\
         @%p2 mbarrier.init.shared::cta.b64 [%l4], 64;\nbar.sync 0;\nadd.s64 %l5, %l4, 16;\n\
         add.s64 %l7, %l5, %l57;\nst.shared.u64 [%l7], %l1;\n{meet}\nxor.b32 %w4, %w60, 63;\n\
         mul.wide.u32 %l6, %w4, 8;\nadd.s64 %l6, %l5, %l6;\nld.shared.u64 %l60, [%l6];"
    );
    Some(Case::new(opcode, body, |a, _, t| a[t ^ 63]))
}

fn moves(opcode: &str) -> Vec<Case> {
    let ty = opcode.rsplit('.').next().unwrap_or("");
    let bits = width(ty).expect("a type");
    let low = move |x: u64| x & (u64::MAX >> (64 - bits.min(64)));
    let case = |body: &str, expect: fn(u64, u64) -> u64| {
        Case::new(opcode, body.replace("MOV", opcode), move |a, b, t| expect(a[t], b[t]))
    };
    if opcode.contains(".v") {
        // A register on both sides gets what the other one held before.
        let (r, into) = match bits {
            16 => ("%h", "cvt.u16.u64 %h1, %l1;\ncvt.u16.u64 %h2, %l2;\n"),
            32 => ("%w", ""),
            _ => ("%l", ""),
        };
        let vectors = if opcode.contains(".v2") {
            "{R5, R1}, {R1, R2}"
        } else {
            "{R5, R1, R6, R7}, {R1, R2, R5, R5}"
        };
        let out = if bits == 64 {
            "mov.u64 %l60, R1;".to_owned()
        } else {
            format!("cvt.u64.u{bits} %l60, R1;")
        };
        let body = format!("{into}{opcode} {vectors};\n{out}").replace('R', r);
        return vec![Case::new(opcode, body, move |_, b, t| low(b[t]))];
    }
    let mut out = match bits {
        1 => vec![case("MOV %p2, %p1;\nselp.u64 %l60, 1, 0, %p2;", |_, b| b & 1)],
        16 => vec![Case::new(
            opcode,
            format!("cvt.u16.u64 %h1, %l1;\n{opcode} %h2, %h1;\ncvt.u64.u16 %l60, %h2;"),
            move |a, _, t| low(a[t]),
        )],
        32 => vec![Case::new(
            opcode,
            format!("{opcode} %w4, %w1;\ncvt.u64.u32 %l60, %w4;"),
            move |a, _, t| low(a[t]),
        )],
        64 => vec![Case::new(opcode, format!("{opcode} %l60, %l1;"), move |a, _, t| low(a[t]))],
        _ => Vec::new(),
    };
    match ty {
        "b16" => out.push(case(
            "cvt.u16.u64 %h1, %l1;\nMOV {%b1, %b2}, %h1;\nMOV %h2, {%b2, %b1};\ncvt.u64.u16 %l60, %h2;",
            |a, _| (a >> 8 & 0xff) | (a & 0xff) << 8,
        )),
        "b32" => out.extend([
            case("MOV {%h1, %h2}, %w1;\nMOV %w4, {%h2, %h1};\ncvt.u64.u32 %l60, %w4;", |a, _| {
                (a >> 16 & 0xffff) | (a & 0xffff) << 16
            }),
            case(
                "MOV {%b1, %b2, %b3, %b4}, %w1;\nMOV %w4, {%b4, %b3, %b2, %b1};\ncvt.u64.u32 %l60, %w4;",
                |a, _| u64::from((a as u32).swap_bytes()),
            ),
        ]),
        "b64" => out.extend([
            case("MOV {%w4, %w5}, %l1;\nMOV %l60, {%w5, %w4};", |a, _| a.rotate_left(32)),
            case("MOV {%h1, %h2, %h3, %h4}, %l1;\nMOV %l60, {%h2, %h3, %h4, %h1};", |a, _| {
                a.rotate_right(16)
            }),
        ]),
        "b128" => out.extend([
            case("MOV %q1, {%l1, %l2};\nMOV %q2, %q1;\nMOV {%l3, %l4}, %q2;\nsub.u64 %l60, %l3, %l4;", |a, b| {
                a.wrapping_sub(b)
            }),
            case(
                "MOV %q1, {%w1, %w2, %w2, %w1};\nMOV {%w4, %w5, %w6, %w7}, %q1;\n\
                 sub.u32 %w4, %w4, %w5;\nadd.u32 %w6, %w6, %w7;\nmov.b64 %l60, {%w4, %w6};",
                |a, b| {
                    let (a, b) = (a as u32, b as u32);
                    u64::from(a.wrapping_sub(b)) | u64::from(a.wrapping_add(b)) << 32
                },
            ),
        ]),
        _ => {}
    }
    out
}

/// An address of the space that an opcode names, in `%l4`, generic in `%l5`.
fn in_space(opcode: &str) -> (&'static str, &'static str) {
    let space = opcode.split('.').rfind(|p| !matches!(*p, "u64")).unwrap_or("");
    match space {
        "const" => ("mov.u64 %l4, c#;", "const"),
        "shared" | "shared::cta" | "shared::cluster" => ("mov.u64 %l4, s#;", "shared"),
        "local" => ("mov.u64 %l4, d#;", "local"),
        "param" | "param::entry" => ("mov.b64 %l4, in;", "param"),
        _ => ("mov.u64 %l4, %l58;", "global"),
    }
}

/// There and back again.
fn address(opcode: &str) -> Case {
    let (source, space) = in_space(opcode);
    let body = if opcode.contains(".to.") {
        format!("{source}\ncvta.{space}.u64 %l5, %l4;\n{opcode} %l6, %l5;\nsub.u64 %l60, %l6, %l4;")
    } else {
        format!(
            "{source}\n{opcode} %l5, %l4;\ncvta.to.{space}.u64 %l6, %l5;\nsub.u64 %l60, %l6, %l4;"
        )
    };
    Case::new(opcode, body, |_, _, _| 0)
}

/// A generic address of the space itself, and one of another space.
fn space(opcode: &str) -> Vec<Case> {
    let (source, space) = in_space(opcode);
    let other = if space == "shared" { "global" } else { "shared" };
    let at = if space == "shared" { "%l58" } else { "%l4" };
    let other_source = if space == "shared" { "" } else { "mov.u64 %l4, s#;" };
    let test = format!("{opcode} %p2, %l5;\nselp.u64 %l60, 1, 0, %p2;");
    vec![
        Case::new(opcode, format!("{source}\ncvta.{space}.u64 %l5, %l4;\n{test}"), |_, _, _| 1),
        Case::new(
            opcode,
            format!("{other_source}\ncvta.{other}.u64 %l5, {at};\n{test}"),
            |_, _, _| 0,
        ),
    ]
}

fn policy(opcode: &str) -> Case {
    let operands = match opcode {
        o if o.contains(".cvt") => "%l1",
        o if o.contains(".range") => "[%l58], 64, 128",
        _ => "0f3F000000",
    };
    let body = format!(
        "{opcode} %l4{};\nld.global.L2::cache_hint.u64 %l60, [%l58], %l4;",
        if operands.is_empty() { String::new() } else { format!(", {operands}") }
    );
    Case::new(opcode, body, |a, _, t| a[t])
}

/// Eight bytes from the thread's inputs to its place in shared memory.
fn copies(opcode: &str) -> Vec<Case> {
    let place = "mul.wide.u32 %l4, %w60, 16;\nmov.u64 %l5, s#;\nadd.s64 %l5, %l5, %l4;\nmov.u64 %l6, 0;\n\
                 st.shared.v2.u64 [%l5], {%l6, %l6};";
    let whole = "mul.wide.u32 %l7, %w59, 8;\nsub.s64 %l7, %l58, %l7;";
    let wait = "cp.async.wait_all;\nld.shared.u64 %l60, [%l5];";
    if opcode.ends_with("commit_group") || opcode.ends_with("wait_group") {
        let body = format!(
            "{place}\ncp.async.ca.shared.global [%l5], [%l58], 8;\ncp.async.commit_group;\n\
             cp.async.wait_group 0;\nld.shared.u64 %l60, [%l5];"
        );
        return vec![Case::new(opcode, body, |a, _, t| a[t])];
    }
    if opcode.ends_with("wait_all") {
        let body = format!("{place}\ncp.async.ca.shared.global [%l5], [%l58], 8;\n{wait}");
        return vec![Case::new(opcode, body, |a, _, t| a[t])];
    }
    let policy = if opcode.contains("cache_hint") { ", %l8" } else { "" };
    let start = format!("{place}\n{whole}\nmov.b64 %l8, 0;");
    let aligned = |t: usize| t / 32 * 32;
    if opcode.contains(".cg.") {
        return vec![
            Case::new(
                opcode,
                format!("{start}\n{opcode} [%l5], [%l7], 16{policy};\n{wait}"),
                move |a, _, t| a[aligned(t)],
            ),
            Case::new(
                opcode,
                format!(
                    "{start}\nmov.u32 %w4, 4;\n{opcode} [%l5], [%l7], 16, %w4{policy};\n{wait}"
                ),
                move |a, _, t| a[aligned(t)] & 0xffff_ffff,
            ),
        ];
    }
    vec![
        Case::new(
            opcode,
            format!("{start}\n{opcode} [%l5], [%l58], 8{policy};\n{wait}"),
            |a, _, t| a[t],
        ),
        Case::new(
            opcode,
            format!("{start}\n{opcode} [%l5], [%l58], 4{policy};\n{wait}"),
            |a, _, t| a[t] & 0xffff_ffff,
        ),
        Case::new(
            opcode,
            format!("{start}\nmov.u32 %w4, 3;\n{opcode} [%l5], [%l58], 8, %w4{policy};\n{wait}"),
            |a, _, t| a[t] & 0xff_ffff,
        ),
    ]
}

fn control(opcode: &str) -> Vec<Case> {
    let odd = |b: &[u64], t: usize| b[t] & 1 == 1;
    match opcode.split('.').next().unwrap_or("") {
        "bra" if opcode.ends_with("uni") => {
            let body = format!("mov.u64 %l60, 3;\n{opcode} $L#;\nmov.u64 %l60, 4;\n$L#:");
            vec![Case::new(opcode, body, |_, _, _| 3)]
        }
        "bra" => {
            let body = format!("mov.u64 %l60, 3;\n@!%p1 {opcode} $L#;\nmov.u64 %l60, 4;\n$L#:");
            vec![Case::new(opcode, body, move |_, b, t| if odd(b, t) { 4 } else { 3 })]
        }
        "brx" => {
            let index = if opcode.ends_with("uni") { "1" } else { "%w4" };
            let body = format!(
                "and.b32 %w4, %w1, 1;\n$T#: .branchtargets $A#, $B#;\n{opcode} {index}, $T#;\n\
                 $A#:\nmov.u64 %l60, 10;\nbra $C#;\n$B#:\nmov.u64 %l60, 11;\n$C#:"
            );
            let uniform = opcode.ends_with("uni");
            vec![Case::new(opcode, body, move |a, _, t| if uniform { 11 } else { 10 + (a[t] & 1) })]
        }
        "call" => {
            let body = format!(
                "{{\n.param .b32 p0;\n.param .b32 r0;\nst.param.b32 [p0], %w1;\n{opcode} (r0), f, (p0);\n\
                 ld.param.b32 %w4, [r0];\n}}\ncvt.u64.u32 %l60, %w4;"
            );
            vec![Case::new(opcode, body, |a, _, t| a[t] & 0xffff_ffff)]
        }
        _ => {
            // Those that end before the store leave the old value.
            let body = format!("mov.u64 %l60, 3;\n@%p1 bra $L#;\n{opcode};\n$L#:");
            vec![Case::new(
                opcode,
                body,
                move |_, b, t| {
                    if odd(b, t) { 3 } else { 0xeeee_eeee_eeee_eeee }
                },
            )]
        }
    }
}
