//! What kernels of Hopper's warpgroups have in common.
//!
//! Matrices in shared memory are in rows of 128 bytes, whose chunks of 16 bytes are swizzled by the row's number modulo 8. A layout
//! with the depth outside is in panels of 64 rows or columns. See PTX ISA 8.3, "Asynchronous Warpgroup Level Matrix Instructions".

use super::body::{Body, Slot};

/// Depth of an instruction.
pub(super) const STEP: u32 = 16;
/// Bytes of a row in shared memory, which the swizzle goes by.
pub(super) const ROW: u32 = 128;
/// Rows of an instruction; also the rows or columns of a panel.
pub(super) const ROWS: u32 = 64;
/// Threads of a warpgroup.
pub(super) const GROUP: u32 = 128;
/// Bytes that a block may use at most.
pub(super) const SHARED: u32 = 232_448;

/// The stage of the ring that comes next, and the parity of its phase.
pub(super) struct Ring {
    pub stage: Slot,
    pub parity: Slot,
}

impl Ring {
    pub fn new(body: &mut Body) -> Ring {
        Ring { stage: body.slot("i32", 0), parity: body.slot("i32", 0) }
    }

    pub fn advance(&self, body: &mut Body, stages: u32) {
        let stage = body.get(&self.stage);
        let next = body.add(stage, 1);
        let around = body.compare("eq", &next, stages);
        let stage = body.select(&around, 0, next);
        body.set(&self.stage, stage);
        let parity = body.get(&self.parity);
        let other = body.xor(&parity, 1);
        let parity = body.select(&around, other, parity);
        body.set(&self.parity, parity);
    }
}

/// Address of a part of a stage.
pub(super) fn at(body: &mut Body, from: u32, stage: &str, bytes: u32) -> String {
    let offset = body.mul(stage, bytes);
    let address = body.add("%base", from);
    body.add(address, offset)
}

/// The descriptor of a matrix in a stage: bytes from panel to panel, and from 8 rows to the next 8.
pub(super) fn descriptor(body: &mut Body, address: &str, panel: u32) -> String {
    // Address, panels' stride, stride of 8 rows, each by 16; then the swizzle of 128 bytes.
    let fields = (1u64 << 62) | (u64::from((8 * ROW) >> 4) << 32) | (u64::from(panel >> 4) << 16);
    let address = body.and(address, 0x3FFFF);
    let address = body.shr(address, 4);
    let address = body.wide(address);
    body.value(format_args!("or i64 {address}, {}", fields as i64))
}
