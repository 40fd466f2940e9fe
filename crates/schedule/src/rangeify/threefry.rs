//! The counter-based generator Threefry-2x32-20 (Salmon, Moraes, Dror and Shaw: Parallel random
//! numbers: as easy as 1, 2, 3; SC 2011), as scalar operations.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{ExprId, ExprPool};

const ROTATIONS: [i64; 8] = [13, 15, 26, 6, 17, 29, 16, 24];
const PARITY: i64 = 0x1BD1_1BDA;

/// The first word of the generator's block for counter `offset + position`, type `u32`; `key` and
/// `offset` are `u64`, `position` is an index.
pub(crate) fn bits(pool: &mut ExprPool, key: ExprId, offset: ExprId, position: ExprId) -> ExprId {
    let position = pool.cast(DType::U64, position);
    let counter = pool.alu(Alu::Add, &[offset, position]);
    let (k0, k1) = words(pool, key);
    let parity = pool.constant(Const::i64(DType::U32, PARITY));
    let both = pool.alu(Alu::Xor, &[k0, k1]);
    let k2 = pool.alu(Alu::Xor, &[both, parity]);
    let keys = [k0, k1, k2];
    let (c0, c1) = words(pool, counter);
    let mut x0 = pool.alu(Alu::Add, &[c0, k0]);
    let mut x1 = pool.alu(Alu::Add, &[c1, k1]);
    for round in 0..20 {
        x0 = pool.alu(Alu::Add, &[x0, x1]);
        x1 = rotate(pool, x1, ROTATIONS[round % 8]);
        x1 = pool.alu(Alu::Xor, &[x1, x0]);
        if round % 4 == 3 {
            let injection = round / 4 + 1;
            x0 = pool.alu(Alu::Add, &[x0, keys[injection % 3]]);
            let count = pool.constant(Const::i64(DType::U32, injection as i64));
            let key = pool.alu(Alu::Add, &[keys[(injection + 1) % 3], count]);
            x1 = pool.alu(Alu::Add, &[x1, key]);
        }
    }
    x0
}

/// The low and the high half of a `u64`.
fn words(pool: &mut ExprPool, value: ExprId) -> (ExprId, ExprId) {
    let half = pool.constant(Const::i64(DType::U64, 32));
    let high = pool.alu(Alu::Shr, &[value, half]);
    (pool.cast(DType::U32, value), pool.cast(DType::U32, high))
}

fn rotate(pool: &mut ExprPool, value: ExprId, by: i64) -> ExprId {
    let (left, right) = (pool.constant(Const::i64(DType::U32, by)), pool.constant(Const::i64(DType::U32, 32 - by)));
    let (high, low) = (pool.alu(Alu::Shl, &[value, left]), pool.alu(Alu::Shr, &[value, right]));
    pool.alu(Alu::Or, &[high, low])
}
