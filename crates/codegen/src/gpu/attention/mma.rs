//! Attention by the warps of sm_80 and newer.
//!
//! A block makes `warps · 16` rows of O. All of its threads copy tiles of K and V into a ring of stages in shared memory; each warp
//! has 16 rows, whose queries, scores, weights and sums are in registers. Rows in memory need not be aligned to 16 bytes.

use super::order::{self, Order, Place, Span};
use super::rows::{self, Results};
use super::warp::{self, ROWS, Tile, WARP, Warp};
use super::{Attention, Inner, Kernel, Launch, Operand, Parameter, Plan, Sizes, unsupported};
use crate::CompileError;
use crate::gpu::Runner;
use crate::gpu::body::Body;
use crate::gpu::copies::Stages;
use crate::gpu::ptx;

/// Bytes that a block may use at most, on the smallest GPU of sm_80 and newer.
const SHARED: u32 = 101_376;

/// The shape of a kernel for warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MmaTile {
    /// Warps of a block, of 16 rows each.
    pub warps: u32,
    /// Keys of a tile: a multiple of 16.
    pub keys: u32,
    /// Stages of the ring.
    pub stages: u32,
}

impl MmaTile {
    /// The tile of an attention.
    pub fn of(attention: &Attention) -> MmaTile {
        let deep = attention.depth.max(attention.columns);
        // Narrow copies take registers.
        let keys = if deep <= 128 && attention.align.is_multiple_of(8) { 64 } else { 32 };
        MmaTile { warps: 4, keys, stages: 2 }
    }

    pub(super) fn plan(&self, sizes: &Sizes) -> Plan {
        order::plan(sizes, self.warps * ROWS, u32::MAX)
    }

    fn shared(&self, attention: &Attention) -> u32 {
        let [k, v] = [Operand::K, Operand::V].map(|operand| Tile::of(attention, operand, self.keys).bytes());
        self.stages * (k + v)
    }
}

fn check(attention: &Attention, tile: &MmaTile) -> Result<(), CompileError> {
    let known = (1..=8).contains(&tile.warps)
        && tile.keys > 0
        && tile.keys.is_multiple_of(16)
        && tile.keys <= 128
        && (2..=5).contains(&tile.stages);
    let bytes = if known { tile.shared(attention) } else { 0 };
    if !known || bytes > SHARED || !attention.align.is_multiple_of(2) {
        return Err(unsupported(format_args!("{tile:?}: {bytes} bytes of shared memory")));
    }
    Ok(())
}

pub(super) fn render(
    attention: &Attention,
    tile: &MmaTile,
    inner: &Inner,
    runner: Runner,
) -> Result<Kernel, CompileError> {
    check(attention, tile)?;
    let mut body = Body::new(runner);
    kernel(&mut body, attention, tile, inner);
    let mut parameters: Vec<Parameter> =
        [Operand::Q, Operand::K, Operand::V, Operand::O].into_iter().flat_map(super::pointer).collect();
    parameters.extend(super::numbers(attention, inner));
    let words = format!("{}x{}_s{}_a{}", tile.warps * ROWS, tile.keys, tile.stages, super::alignment(attention.align));
    let entry = super::name(attention, &words, inner);
    let threads = tile.warps * WARP;
    let annotations = [format!("!\"maxntidx\", i32 {threads}"), "!\"minctasm\", i32 1".into()];
    let text = body.module(&entry, &super::declarations(&parameters, inner), &annotations, 0);
    let launch = Launch { entry, threads, shared: tile.shared(attention), parameters, maps: Vec::new() };
    Ok(Kernel { text, processor: "sm_80", runner, launch })
}

/// Writes a kernel. `%base` is where shared memory starts.
fn kernel(body: &mut Body, attention: &Attention, tile: &MmaTile, inner: &Inner) {
    let thread = body.special("tid.x");
    let start = body.shared();
    body.line(format_args!("%base = add i32 {start}, 0"));
    rows::scales(body, inner);
    let number = body.shr(&thread, 5);
    let number = body.ask(&ptx::UNIFORM, &[&number]);
    let first = body.mul(number, ROWS);
    let warp = Warp::new(body, attention, inner, tile.keys, &thread, &first);
    let order = Order { attention, rows: tile.warps * ROWS, persistent: false, together: order::TOGETHER };
    order.tiles(body, |body, place| {
        let top = body.add(&place.row, &first);
        let span = Span::of(body, attention, tile.keys, (&place.row, tile.warps * ROWS), &top);
        sum(body, tile, &warp, place, &span, &thread);
        let totals = warp.rows.totals(body);
        let row = body.add(&place.row, &warp.down);
        let results = Results { attention, inner, place, row: &row, column: &warp.along };
        let sums: Vec<String> = warp.sums.iter().map(|slot| body.get(slot)).collect();
        let values = results.made(body, &sums, &totals);
        results.store(body, &values);
    });
}

/// All tiles of keys of a tile of rows.
fn sum(body: &mut Body, tile: &MmaTile, warp: &Warp, place: &Place, span: &Span, thread: &str) {
    let (k, v) = (warp.k, warp.v);
    let starts = ["k", "v"].map(|operand| warp::start(body, warp.attention, operand, place));
    let queries = warp.queries(body, place);
    let place_of = |body: &mut Body, stage: &str| {
        let at = body.mul(stage, k.bytes() + v.bytes());
        let k_at = body.add("%base", at);
        let v_at = body.add(&k_at, k.bytes());
        (k_at, v_at)
    };
    let stages = Stages { stages: tile.stages, slices: &span.tiles, sync: &ptx::SYNC };
    let threads = (thread, tile.warps * WARP);
    stages.run(
        body,
        |body, slice, stage| {
            let first = body.mul(slice, tile.keys);
            let (k_at, v_at) = place_of(body, stage);
            k.copy(body, warp.attention, &starts[0], threads, &first, &k_at);
            v.copy(body, warp.attention, &starts[1], threads, &first, &v_at);
        },
        |body, slice, stage| {
            let key = body.mul(slice, tile.keys);
            let (k_at, v_at) = place_of(body, stage);
            let full = body.compare("ult", slice, &span.full);
            warp.step(body, place, &queries, (&k_at, &v_at), (&key, &full));
        },
    );
}
