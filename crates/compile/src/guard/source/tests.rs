use super::*;

fn refused(source: &str) -> Finding {
    *guard_source(source, false).expect_err(source)
}

#[test]
fn host_files_cannot_be_named() {
    let sources = [
        "#include \"/etc/passwd\"",
        "#include </etc/passwd>",
        "#include \"../../secret\"",
        "#include <cuda/../../../etc/passwd>",
        "# include \"/etc/passwd\"",
        "#\tinclude/**/\"/etc/passwd\"",
        "#/* x */include \"/etc/passwd\"",
        "/* x */ # include \"/etc/passwd\"",
        "#inc\\\nlude \"/etc/passwd\"",
        "#\\\ninclude \"/etc/passwd\"",
        "// comment \\ \n#include \"/etc/passwd\"",
        "%:include \"/etc/passwd\"",
        "??=include \"/etc/passwd\"",
        "#define F \"/etc/passwd\"\n#include F",
        "#include_next <passwd>",
        "#import \"/etc/passwd\"",
        "#embed \"/etc/passwd\"",
        "const char s[] = {\n#embed \"/etc/passwd\"\n};",
        "#if __has_include(\"/etc/passwd\")\n#endif",
        "const char* s = R\"(\" /* )\";\n#include \"/etc/passwd\"\n// */",
        "const char* s = \"/*\";\n#include \"/etc/passwd\"\n// */",
        "int c = '\"'; /*\n*/\n#include \"/etc/passwd\"\n//\"",
        "int n = 1'000'000; // '\n#include \"/etc/passwd\"",
        "/\\\n* x */\n#include \"/etc/passwd\"",
        "#\\u0069nclude \"/etc/passwd\"",
        "#pragma nv_mangled_name &k",
        "%\\\n:include \"/etc/passwd\"",
        "  %: include \"/etc/passwd\"",
        "#\u{b}include \"/etc/passwd\"",
        "\u{c}#include \"/etc/passwd\"",
        "#if __has_\\\ninclude(\"/etc/passwd\")\n#endif",
        "#if __has_\\ \t\r\ninclude(\"/etc/passwd\")\n#endif",
        "#define J(a, b) a##b\n#if J(__has_, include)(\"/etc/passwd\")\n#endif",
        "#define J(a, b) a##b\n#define H J(has, _)\n#if J(__, J(H, include))(\"/x\")\n#endif",
        "#include <cuda/std/version>\n#if _CCCL_HAS_INCLUDE(\"/etc/passwd\")\n#endif",
        "#include <cuda/std/version>\n#if _CCCL_PP_CAT(__has, _include)(\"/etc/passwd\")\n#endif",
        "const char* t = __TIME__;",
        "#define J(a, b) a %:%: b\nconst char* t = J(__TI, ME__);",
        "#define J(a, b) a##b\nconst char* t = J(__DA, TE__);",
    ];
    for source in sources {
        let finding = refused(source);
        assert!(finding.span.is_some(), "{source}");
    }
}

#[test]
fn lines_of_messages_cannot_be_falsified() {
    for source in ["#line 7", "# 7 \"x.cu\"", "  #line 7 \"x.cu\""] {
        let message = refused(source).message;
        assert!(message.contains("line"), "{source}: {message}");
    }
}

#[test]
fn ordinary_kernels_pass() {
    let sources = [
        "#include <cstdint>\n#include <cuda_fp16.h>\n#include \"cuda_bf16.h\"\n#include <mma.h>",
        "#include <cooperative_groups/reduce.h>\n#include <cuda/std/limits>\n#include <cub/cub.cuh>",
        "#include <cub/block/block_reduce.cuh>  // for the sum",
        "// #include <torch/extension.h> is not needed\n/* #include \"/etc/passwd\" */",
        "#define STR(x) #x\n#define CAT(a, b) a##b\n#pragma unroll 4\n#undef STR",
        "#define LOOP(body) \\\n  for (int i = 0; i < 4; ++i) { \\\n    body; \\\n  }",
        "printf(\"row #%d, #1, 100%%\\n\", row); // it's fine",
        "asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane));",
        "const char* s = R\"x(// not a comment \" )x\"; int y = a ? b : c;",
        "#ifdef __CUDA_ARCH__\n#else\n#error no\n#endif",
        "#define CAT(a, b) a##b\nint n, TIME, DATE; bool has; // include\n#include <cmath>",
        "printf(\"%d%%: done\", n); int x = 'a', y = 1'000; const char* f = __FILE__;",
        "#define GLUE(a, b) a##b\n#include <cstdint>\nint include_all = __COUNTER__;",
    ];
    for source in sources {
        guard_source(source, false)
            .unwrap_or_else(|finding| panic!("{source}: {}", finding.message));
    }
}

#[test]
fn a_refusal_names_the_line_and_a_way_out() {
    let finding = refused("// one\n\n  #include <torch/extension.h>\n");
    let span = finding.span.unwrap();
    assert_eq!((span.line, span.column), (3, 3));
    assert_eq!(span.text, "  #include <torch/extension.h>");
    assert!(finding.message.contains("torch/extension.h"));
    assert!(finding.hint.unwrap().contains("device code"));
}

#[test]
fn what_is_too_large_or_no_text_is_refused() {
    assert!(refused(&"x".repeat(MAX_SOURCE_BYTES + 1)).message.contains("1048577 bytes"));
    assert!(refused("int x;\0int y;").message.contains("NUL"));
    assert!(refused("int x; /* never closed").message.contains("never ends"));
}

#[test]
fn blanking_keeps_every_line_and_column() {
    let source = "a /* ü\n b */ c // d \\\n e\n\"// no\" 'x' 1'0 R\"(/*)\" f";
    let code = blank_comments(source).unwrap();
    assert_eq!(code.len(), source.len());
    assert_eq!(code.lines().count(), source.lines().count());
    assert!(!code.contains(" b ") && !code.contains(" e"));
    assert!(code.contains("\"// no\" 'x' 1'0 R\"(/*)\" f"));
    assert_eq!(code.find(" c "), source.find(" c "));
}

#[test]
fn headers_of_cutlass_are_refused_without_the_flag() {
    for name in ["cute/tensor.hpp", "cutlass/version.h", "cutlass/numeric_types.h"] {
        let finding = refused(&format!("#include <{name}>"));
        assert!(finding.message.contains(name), "{}", finding.message);
        assert!(finding.hint.unwrap().contains("`--cutlass`"));
    }
}

#[test]
fn headers_of_cutlass_for_a_device_pass_with_the_flag() {
    let sources = [
        "#include <cute/tensor.hpp>\nusing namespace cute;",
        "/*@plan\n@*/\n// first\n#include <cuda_fp16.h>\n#include \"cute/arch/mma_sm80.hpp\"\n\n#include <cutlass/version.h>",
    ];
    for source in sources {
        guard_source(source, true).unwrap_or_else(|finding| panic!("{source}: {finding:?}"));
    }
}

#[test]
fn headers_of_cutlass_are_no_way_to_the_host() {
    let sources = [
        ("#include <cutlass/cluster_launch.hpp>", "host code"),
        ("#include <cutlass/cuda_host_adapter.hpp>", "host code"),
        ("#include <cutlass/gemm/device/gemm_universal.h>", "host code"),
        ("#include <cutlass/util/host_tensor.h>", "host code"),
        // `<cuda/std/utility>` is made of a macro and this word.
        ("#define utility ../../../../etc/passwd\n#include <cute/tensor.hpp>", "top of the file"),
        ("int x;\n#include <cute/tensor.hpp>", "top of the file"),
        ("#include <cmath>\n#if 1\n#include <cute/tensor.hpp>\n#endif", "top of the file"),
        ("#include \\\n<cute/tensor.hpp>", "top of the file"),
        ("#include <cute/../../../etc/passwd>", "available are"),
    ];
    for (source, part) in sources {
        let finding = *guard_source(source, true).expect_err(source);
        let hint = finding.hint.unwrap();
        assert!(hint.contains(part), "{source}: {hint}");
    }
}
