//! What NVIDIA's assembler gets wrong, written otherwise.
//!
//! `ptxas` (12.9 and 13.5, and the compiler of driver 580) makes one instruction of the high half of a product and of a
//! subtraction of 64 bits whose other operand has 32: `zext(mulhi(a, b)) - zext(c)`. It negates `c` first, and takes the upper word of
//! that for -1, which is wrong where `c` is 0: the difference is less by 2^32. Quotients by constants are such halves. The sum with the
//! complement, and 1, is the same difference, and right.

use rustc_hash::FxHashSet;
use std::fmt::Write;

/// The text of PTX, in which no high half of a product has something taken off that the assembler takes for negative.
pub(super) fn mended(ptx: &str) -> String {
    let mut halves: FxHashSet<&str> = FxHashSet::default();
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let mut words = line.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty());
        let operation = words.next().unwrap_or_default();
        let operands: Vec<&str> = words.collect();
        match (operation, &operands[..]) {
            ("mul.hi.u32" | "mul.hi.s32", [to, ..]) => _ = halves.insert(to),
            ("cvt.u64.u32" | "cvt.s64.s32", [to, from]) if halves.contains(from) => _ = halves.insert(to),
            ("sub.s64", [to, from, what]) if halves.contains(from) && what.starts_with('%') => {
                let _ = write!(text, "\tnot.b64 \t{to}, {what};\n\tadd.s64 \t{to}, {to}, {from};\n");
                let _ = writeln!(text, "\tadd.s64 \t{to}, {to}, 1;");
                continue;
            }
            _ => {}
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::mended;

    #[test]
    fn differences_of_high_halves_are_sums() {
        let ptx = "\tmul.hi.u32 \t%r9, %r8, 858993460;\n\tcvt.u64.u32 \t%rd41, %r9;\n\tcvt.u64.u32 \t%rd42, %r10;\n";
        let given = format!("{ptx}\tsub.s64 \t%rd43, %rd41, %rd42;\n\tsub.s64 \t%rd44, %rd42, %rd41;\n");
        let sums = "\tnot.b64 \t%rd43, %rd42;\n\tadd.s64 \t%rd43, %rd43, %rd41;\n\tadd.s64 \t%rd43, %rd43, 1;\n";
        assert_eq!(mended(&given), format!("{ptx}{sums}\tsub.s64 \t%rd44, %rd42, %rd41;\n"));
    }
}
