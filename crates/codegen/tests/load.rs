//! The loader on damaged objects, and on objects that need what is not there.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::sync::LazyLock;
use svod_codegen::load::Code;
use svod_codegen::{CompileError, compile, host};
use svod_ir::lowered::Lowered;

/// Has constants in a section of their own, and relocations to them.
const KERNEL: &str = "lowered curve
param p0: f32[8]
param p1: f32[8]

phase
{
  vector j < 8 {
    p1[j] = exp(p0[j])
  }
}
";

static OBJECT: LazyLock<Vec<u8>> =
    LazyLock::new(|| compile(&Lowered::parse(KERNEL).unwrap(), &host::native()).unwrap().bytes);

#[test]
fn a_missing_symbol_is_an_error() {
    let text = "lowered call
param p0: f32[4, 8]

phase
{
  micro 4 x 8 f32 -> f32 depth 4 start 0 (p0[0, 0] stride 8) (p0[0, 0] stride 8) (p0[0, 0] stride 8)
}
";
    let object = compile(&Lowered::parse(text).unwrap(), &host::native()).unwrap();
    let error = Code::load("call", &object.bytes, &|_| None).unwrap_err();
    assert!(matches!(&error, CompileError::Load { why, .. } if why.contains("svod_tile_")), "{error}");
    assert!(Code::load("text", b"not an object", &|_| None).is_err());
    let name = "größe'1";
    let object = compile(&Lowered::parse(&KERNEL.replace("curve", name)).unwrap(), &host::native()).unwrap();
    assert!(Code::load(name, &object.bytes, &|_| None).unwrap().entry(name).is_some());
    assert!(Code::load("curve", &OBJECT, &|_| None).unwrap().entry("curve").is_some());
}

proptest! {
    #[test]
    fn damage_is_never_a_panic(at in 0usize..1 << 20, bits: u8, end in 0usize..1 << 20) {
        let mut bytes = OBJECT.clone();
        let at = at % bytes.len();
        bytes[at] ^= bits;
        let _ = Code::load("curve", &bytes, &|_| None);
        bytes.truncate(end % bytes.len());
        let _ = Code::load("curve", &bytes, &|_| None);
    }
}
