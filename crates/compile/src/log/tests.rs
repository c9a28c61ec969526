use super::*;

const SOURCE: &str = "line one\n  foo();\nint unused;\n";

#[test]
fn messages_keep_their_continuation_and_lose_the_echo() {
    let log = "k.cu(2): error: no instance of \"f\" matches\n            argument types are: (float)\n  \
               foo();\n  ^\nk.cu(1): note #3322-D: number of parameters\n  line one\n  ^\n          \
               detected during instantiation of \"T g(T)\" at line 3\n\n\
               k.cu(3): warning #177-D: \"unused\" was never used\n  int unused;\n      ^\n\n\
               Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n\
               1 error detected in the compilation of \"k.cu\".\n";
    let found = read(log, SOURCE, &[]).diagnostics;
    let messages: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
    let expected = [
        "no instance of \"f\" matches\nargument types are: (float)",
        "number of parameters\ndetected during instantiation of \"T g(T)\" at line 3",
        "\"unused\" was never used",
    ];
    assert_eq!(messages, expected);
    assert_eq!(found[0].source_line.as_deref(), Some("  foo();"));
    let severities: Vec<Severity> = found.iter().map(|d| d.severity).collect();
    assert_eq!(severities, [Severity::Error, Severity::Note, Severity::Warning]);
}

#[test]
fn text_of_other_files_never_passes() {
    let log = "/etc/passwd(1): error: identifier \"root\" is undefined\n  root:x:0:0\n  ^\n\n\
               /inc/cuda_fp16.h(7): error: bad type\n  struct __half;\n         ^\n\n\
               /inc/cuda_bf16.h(9): error: no caret here\n  secret text\n";
    let found = read(log, SOURCE, &["/inc/".to_owned()]).diagnostics;
    let messages: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages, ["in cuda_fp16.h: bad type", "in cuda_bf16.h: no caret here"]);
    assert!(found.iter().all(|d| d.source_line.is_none() && d.line.is_none()));
}

#[test]
fn resources_are_read_per_kernel() {
    let log = "ptxas info    : 0 bytes gmem\n\
               ptxas info    : Compiling entry function 'a' for 'sm_90a'\n\
               ptxas info    : Function properties for a\n\
               ptxas         .     272 bytes stack frame, 500 bytes spill stores, 504 bytes spill loads\n\
               ptxas info    : Used 32 registers, used 1 barriers, 272 bytes cumulative stack size, 4096 bytes smem\n\
               ptxas info    : Function properties for helper\n\
               ptxas         .     8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
               ptxas info    : Compiling entry function 'b' for 'sm_90a'\n\
               ptxas info    : Used 8 registers, used 0 barriers\n";
    let expected = Resources {
        kernel: "a".to_owned(),
        registers: 32,
        spill_stores: 500,
        spill_loads: 504,
        stack_bytes: 272,
        smem_bytes: 4096,
        ..Resources::default()
    };
    let found = read(log, SOURCE, &[]).resources;
    assert_eq!(found[0], expected);
    assert_eq!((found[1].kernel.as_str(), found[1].registers), ("b", 8));
    assert_eq!(found.len(), 2);
}

#[test]
fn the_assembler_speaks_without_a_line() {
    let log = "ptxas application ptx input, line 31; fatal   : Parsing error near '#': syntax error\n\
               ptxas fatal   : Ptx assembly aborted due to errors\n";
    let found = read(log, SOURCE, &[]).diagnostics;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "assembler: Parsing error near '#': syntax error");
}

#[test]
fn a_file_that_ends_too_early_is_an_error() {
    let log = "At end of source: error: expected a \"}\"\n\
               k.cu(2): note #3196-D: to match this \"{\"\n  f() {\n      ^\n";
    let diagnostics = read(log, "x\nf() {\n", &[]).diagnostics;
    let first = &diagnostics[0];
    assert_eq!((first.line, first.severity), (None, Severity::Error));
    assert_eq!(first.message, "at the end of the file: expected a \"}\"");
    assert_eq!(diagnostics[1].line, Some(2));
}
