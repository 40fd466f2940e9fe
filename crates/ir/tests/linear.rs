//! The linear list: text form, verifier and interpreter.
#![allow(clippy::unwrap_used)]

use svod_dtype::DType;
use svod_ir::buffer::HostBuffer;
use svod_ir::linear::{Linear, LinearError};

/// The sum of rows, in the lanes of an accumulator, with a masked lane.
const SUMS: &str = "\
linear sums
param p0: f32
param p1: f32 written
var n = 1..=8
scratch s0: f32[8] at 0
slot a0: f32x4

v0: index = var n
v1: index = block 0
v2: index = const index(4)
v3: f32x4 = const f32(0.0)
write a0 = v3
v4: indexx4 = iota
v5: indexx4 = splat v0
v6: boolx4 = lt v4, v5
v7: index = range v0 {
  v8: index = mul v7, v2
  v9: f32x4 = load p0[v8] if v6 else f32(1.0)
  v10: f32x4 = read a0
  v11: f32x4 = add v10, v9
  write a0 = v11
}
v12: f32x4 = read a0
store s0[v1] = v12
v13: f32 = reduce add v12
v14: bool = reduce or v6
if v14 {
  store p1[v1] = v13
}
";

#[test]
fn e5_texts_parse_back_and_run() {
    let linear = Linear::parse(SUMS).unwrap();
    linear.verify().unwrap();
    assert_eq!(linear.to_string(), SUMS);
    assert_eq!(linear.scratch_bytes(), 32);
    let mut buffers = [HostBuffer::from_f64(DType::F32, (0..12).map(f64::from)), HostBuffer::zeros(DType::F32, 1)];
    linear.interpret(&[3, 0], &mut buffers).unwrap();
    // Three rows of 0 1 2 3, 4 5 6 7, 8 9 10 11, the last lane masked to 1.
    assert_eq!(buffers[1].to_f64(), [12.0 + 15.0 + 18.0 + 3.0]);
    let outside = linear.interpret(&[4, 0], &mut buffers);
    assert!(matches!(outside, Err(LinearError::OutOfRange { element: 12, .. })), "{outside:?}");
    assert!(matches!(linear.interpret(&[4], &mut buffers), Err(LinearError::Arguments { .. })));
}

#[test]
fn e5_tiles_parse_back_and_run() {
    let text = "\
linear tile
param p0: f32
param p1: f32 written

v0: index = const index(0)
v1: index = const index(2)
v2: index = const index(100)
tile 2 * 2 f32 -> f32 panel depth v1 start v0, p1[v0] stride v1, p0[v0] stride v1, p0[v0] stride v1 fetch 7: p0[v1] by v2
barrier
";
    let linear = Linear::parse(text).unwrap();
    linear.verify().unwrap();
    assert_eq!((linear.to_string().as_str(), linear.tiles().len()), (text, 1));
    let mut buffers = [HostBuffer::from_f64(DType::F32, [1.0, 2.0, 3.0, 4.0]), HostBuffer::zeros(DType::F32, 4)];
    linear.interpret(&[0], &mut buffers).unwrap();
    assert_eq!(buffers[1].to_f64(), [10.0, 14.0, 14.0, 20.0]);
}

#[test]
fn e5_the_verifier_names_what_is_wrong() {
    let fault = |body: &str| {
        let head = "linear l\nparam p0: f32\nparam p1: bf16 written\nslot a0: f32x4\n\nv0: index = const index(4)\n";
        Linear::parse(&format!("{head}{body}\n")).unwrap().verify().unwrap_err().to_string()
    };
    assert!(fault("v1: index = range v0 {").contains("not closed"));
    assert!(fault("v1: index = range v0 {\n}\nv2: index = add v1, v0").contains("v1 is not defined"));
    assert!(fault("store p0[v0] = v0").contains("only read"));
    assert!(fault("v1: bf16 = load p1[v0]\nv2: bf16 = add v1, v1").contains("no arithmetic on bfloat16"));
    assert!(fault("v1: index = iota\nif v1 {\n}").contains("types"));
    assert!(fault("v1: f32 = load p1[v0]").contains("types"));
    assert!(fault("v1: f32 = read a1").contains("no such memory"));
    assert!(fault("v1: indexx3 = iota\nv2: index = reduce add v1").contains("types"));
    assert!(Linear::parse("linear l\n\n}").is_err());
    assert!(Linear::parse("linear l\n\nv1: index = iota").is_err());
}

#[test]
fn e1_every_element_type_is_there_as_scalar_vector_and_memory() {
    let names: Vec<&str> = DType::ALL.iter().map(|t| t.short()).collect();
    let expected = "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2 c64 c128 index void";
    assert_eq!(names.join(" "), expected);
    for dtype in DType::ALL.iter().filter(|t| t.is_real()) {
        // A parameter is a pointer to its elements.
        let (name, zero) = (dtype.short(), svod_dtype::Const::zero(*dtype));
        let text = format!(
            "linear copy\nparam p0: {name}\nparam p1: {name} written\n\nv0: index = const index(0)\nv1: {name}x2 = load \
             p0[v0]\nstore p1[v0] = v1\nv2: {name} = const {zero}\nstore p1[v0] = v2\n"
        );
        let linear = Linear::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        linear.verify().unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(linear.to_string(), text);
    }
}
