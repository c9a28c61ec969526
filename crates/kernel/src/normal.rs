//! Kernel files without comments and blanks.

/// The opening and the end of the launch plan.
const PLAN: &str = "/*@plan";
const PLAN_END: &str = "@*/";

/// Texts whose meaning hangs on blanks or lines that would be dropped.
const TAKEN_AS_THEY_ARE: [&str; 2] = ["R\"", "__LINE__"];

/// Operators of several characters, the longest first.
const OPERATORS: [&str; 31] = [
    "<<=", ">>=", "...", "->*", "<=>", "::", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
    "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", ".*", "//", "**", "<:", ":>",
];

/// Returns a form of a kernel file that is equal for two files exactly if they have the same
/// tokens: comments, blanks and line breaks are dropped, but for the indentation of the launch
/// plan. Two files of the same form compile and launch alike.
#[must_use]
pub fn normalised(source: &str) -> String {
    if TAKEN_AS_THEY_ARE.iter().any(|word| source.contains(word)) {
        return source.to_owned();
    }
    let text = without_comments(&source.replace("\r\n", "\n").replace("\\\n", ""));
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut at_line_start = true;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            at_line_start |= first == '\n';
            rest = &rest[first.len_utf8()..];
            continue;
        }
        rest = if let Some(plan) = rest.strip_prefix(PLAN) {
            let (plan, after) = plan.split_once(PLAN_END).unwrap_or((plan, ""));
            push_plan(&mut out, plan);
            after
        } else if first == '#' && at_line_start {
            let (line, after) = rest.split_at(rest.find('\n').unwrap_or(rest.len()));
            push_directive(&mut out, line);
            after
        } else {
            push_token(&mut out, rest)
        };
        at_line_start = false;
    }
    out
}

/// Replaces every comment but the launch plan by a blank.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let length = if rest.starts_with(PLAN) {
            rest.find(PLAN_END).map_or(rest.len(), |end| end + PLAN_END.len())
        } else if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            out.push(' ');
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
            continue;
        } else {
            token_length(rest)
        };
        let (kept, after) = rest.split_at(length);
        out.push_str(kept);
        rest = after;
    }
    out
}

/// Appends the token that a text begins with, and returns the rest.
fn push_token<'a>(out: &mut String, text: &'a str) -> &'a str {
    let (token, after) = text.split_at(token_length(text));
    out.push_str(token);
    out.push(' ');
    after
}

/// A preprocessor line is kept with its blanks: `A (x)` and `A(x)` are different macros.
fn push_directive(out: &mut String, line: &str) {
    let words: Vec<_> = line.split_whitespace().collect();
    out.push('\n');
    out.push_str(&words.join(" "));
    out.push('\n');
}

/// The launch plan in the syntax of Python: its lines and their indentation count.
fn push_plan(out: &mut String, plan: &str) {
    out.push_str("\n@plan\n");
    for line in plan.lines() {
        let mut rest = line.trim_start();
        let indent = &line[..line.len() - rest.len()];
        if rest.is_empty() || rest.starts_with('#') {
            continue;
        }
        out.push_str(indent);
        while let Some(first) = rest.chars().next() {
            if first == '#' {
                break;
            }
            rest = if first.is_whitespace() {
                &rest[first.len_utf8()..]
            } else {
                push_token(out, rest)
            };
        }
        out.push('\n');
    }
    out.push_str("@\n");
}

/// Returns the bytes of the token that a text begins with: at least those of its first character.
fn token_length(text: &str) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let starts_number = text.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
    if starts_number && !text.starts_with("..") {
        return number_length(text);
    }
    let word = text.find(|c| !is_word(c)).unwrap_or(text.len());
    // A prefix belongs to its literal: `L"x"` is not `L "x"`.
    match text[word..].chars().next() {
        Some(quote @ ('"' | '\'')) => word + literal_length(&text[word..], quote),
        Some(_) | None if 0 < word => word,
        Some(_) | None => {
            let operator = OPERATORS.iter().find(|operator| text.starts_with(**operator));
            operator.map_or(first, |operator| operator.len())
        }
    }
}

/// A number as the preprocessor sees it: `1.5e-3f`, `0x1p+4`, `1'000`.
fn number_length(text: &str) -> usize {
    let mut before = ' ';
    let end = text.find(|c: char| {
        let goes_on = c.is_alphanumeric()
            || matches!(c, '.' | '_' | '\'')
            || (matches!(c, '+' | '-') && matches!(before, 'e' | 'E' | 'p' | 'P'));
        before = c;
        !goes_on
    });
    end.unwrap_or(text.len())
}

fn literal_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text[1..].find(|c: char| {
        let ends = !escaped && (c == quote || c == '\n');
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::normalised;

    const FILE: &str = "/*@plan\nx = contiguous(self)  # a copy\nif x.numel > 4:\n  n = x.numel // 2\nlaunch(\"k\", grid=1, block=1, args=[x, out])\n@*/\n\
        #define TWICE(x) ((x) * 2)  // twice\n\
        extern \"C\" __global__ void k(const T_self* x, T_out* y) {\n  // first\n  y[0] = x[0] - -1.5e-3f; /* rest */ y[1] = 'a' + 1'000;\n}\n";

    #[track_caller]
    fn check(old: &str, new: &str, same: bool) {
        assert!(FILE.contains(old), "{old}");
        let changed = FILE.replace(old, new);
        assert_eq!(normalised(FILE) == normalised(&changed), same, "{old} -> {new}");
    }

    #[test]
    fn comments_and_blanks_mean_nothing() {
        for (old, new) in [
            ("  // first\n", ""),
            ("/* rest */ ", "\n\n  // \"other\n"),
            ("x[0] - -1.5e-3f", "x [ 0 ]-/**/\n-1.5e-3f"),
            ("  # a copy", " # another copy\n\n   # and more"),
            ("n = x.numel // 2", "n=x.numel//2"),
            ("  // twice", ""),
            ("TWICE(x) ((x) * 2)", "TWICE(x)   ((x)  *  2)"),
            ("void k(", "void\\\n k ("),
            ("\n", "\r\n"),
        ] {
            check(old, new, true);
        }
    }

    #[test]
    fn everything_else_does() {
        for (old, new) in [
            ("- -1.5e-3f", "--1.5e-3f"),
            ("-1.5e-3f", "-1.5e -3f"),
            ("1'000", "1'001"),
            ("'a'", "' a'"),
            ("TWICE(x) ((", "TWICE (x) (("),
            ("  n = x.numel", "n = x.numel"),
            ("x.numel // 2", "x.numel / 2"),
            ("\"k\"", "\"k \""),
            ("T_self* x", "T_selfx"),
            ("y[1]", "y [1 1]"),
            ("  // first\n", "  // first \\\n"),
        ] {
            check(old, new, false);
        }
    }

    #[test]
    fn what_hangs_on_its_lines_is_left_alone() {
        let text = "int line = __LINE__;";
        assert_ne!(normalised(text), normalised(&format!("\n{text}")));
        for cut_off in ["/*@plan\nx = 1 #", "/* a", "#define A /* b\n c */ d", "é//é"] {
            assert_eq!(normalised(cut_off), normalised(&format!("{cut_off} // and more")));
        }
        // A comment over several lines does not end a directive.
        assert_eq!(normalised("#define A /* b\n c */ d\ne"), "\n#define A d\ne ");
    }
}
