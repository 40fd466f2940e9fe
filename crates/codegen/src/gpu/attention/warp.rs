//! What a warp does for 16 rows: scores and sums by products of warps, from tiles of K and V in shared memory.
//!
//! Rows of a tile are padded to a multiple of 128 bytes, of which chunks of 16 bytes are swizzled by the row's number modulo 8.

use super::order::Place;
use super::rows::{self, Rows, Scored};
use super::{Attention, Inner, Operand};
use crate::gpu::body::{Body, Slot, element_of};
use crate::gpu::copies::{self, CHUNK, ELEMENTS};
use crate::gpu::ptx;
use svod_dtype::DType;

/// Depth of an instruction.
const STEP: u32 = 16;
/// Rows of a warp.
pub(super) const ROWS: u32 = 16;
/// Threads of a warp.
pub(super) const WARP: u32 = 32;
/// Bytes that a row in shared memory is padded to, with room for 8 swizzled chunks.
const ROW: u32 = 128;

/// A tile of K or V in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    operand: Operand,
    /// Elements of a row, and chunks that products read.
    elements: u32,
    chunks: u32,
    /// Rows.
    keys: u32,
}

impl Tile {
    pub fn of(attention: &Attention, operand: Operand, keys: u32) -> Tile {
        let elements = if operand == Operand::K { attention.depth } else { attention.columns };
        Tile { operand, elements, chunks: elements.div_ceil(STEP) * STEP / ELEMENTS, keys }
    }

    /// Bytes of a row.
    fn row(&self) -> u32 {
        (self.chunks * CHUNK).next_multiple_of(ROW)
    }

    pub fn bytes(&self) -> u32 {
        self.keys * self.row()
    }

    /// Where a chunk of a row is, from the start.
    fn at(&self, body: &mut Body, row: &str, chunk: &str) -> String {
        let low = body.xor(chunk, row);
        let low = body.and(low, 7);
        let high = body.and(chunk, -8);
        let chunk = body.add(high, low);
        let chunk = body.mul(chunk, CHUNK);
        let row = body.mul(row, self.row());
        body.add(row, chunk)
    }

    /// Starts the copies of some threads, of which this is one: keys from `first` on, to shared memory at `to`.
    pub fn copy(
        &self,
        body: &mut Body,
        attention: &Attention,
        start: &str,
        threads: (&str, u32),
        first: &str,
        to: &str,
    ) {
        let (thread, count) = threads;
        let stride = if self.operand == Operand::K { "%k_row" } else { "%v_row" };
        let all = self.keys * self.chunks;
        for piece in 0..all.div_ceil(count) {
            let number = body.add(thread, piece * count);
            let copy = |body: &mut Body| {
                // Where all threads have the same chunk each time, only rows differ.
                let (row, chunk) = if count.is_multiple_of(self.chunks) {
                    let row = body.div(thread, self.chunks);
                    (body.add(row, piece * count / self.chunks), body.rem(thread, self.chunks))
                } else {
                    (body.div(&number, self.chunks), body.rem(&number, self.chunks))
                };
                let key = body.add(first, &row);
                let inside = body.compare("ult", &key, "%keys");
                let mut left = body.select(inside, ELEMENTS, 0);
                let element = body.mul(&chunk, ELEMENTS);
                if self.elements < self.chunks * ELEMENTS {
                    let inside = body.compare("ult", &element, self.elements);
                    left = body.select(inside, left, 0);
                }
                let key = body.wide(key);
                let from = body.wide(element);
                let from = body.offset(from, key, stride);
                let from = element_of(body, attention.dtype, start, &from);
                let at = self.at(body, &row, &chunk);
                let at = body.add(at, to);
                copies::chunk(body, attention.dtype, attention.align, (&from, &at), &left);
            };
            if (piece + 1) * count <= all {
                copy(body);
            } else {
                let some = body.compare("ult", &number, all);
                body.when(some, copy);
            }
        }
    }

    /// Loads 16 keys of a part of 16 of the depth or columns: of two times 8 columns of a product, two words each.
    fn load(&self, body: &mut Body, lane: &str, at: &str, keys: u32, part: u32) -> Vec<String> {
        let (row, chunk, load) = match self.operand {
            Operand::K => {
                let low = body.and(lane, 7);
                let high = body.shr(lane, 4);
                let high = body.mul(high, 8);
                let bit = body.shr(lane, 3);
                (body.add(low, high), body.and(bit, 1), &ptx::LOAD_MATRICES)
            }
            _ => (body.and(lane, 15), body.shr(lane, 4), &ptx::LOAD_TRANSPOSED),
        };
        let chunk = body.add(chunk, 2 * part);
        let from = self.at(body, &row, &chunk);
        let from = body.add(from, at);
        let from = body.add(from, keys * 16 * self.row());
        body.ask_all(load, &[&from])
    }
}

/// A warp and its rows.
pub(super) struct Warp<'a> {
    pub attention: &'a Attention,
    pub inner: &'a Inner<'a>,
    pub k: Tile,
    pub v: Tile,
    pub lane: String,
    /// The row of the tile of rows that is the thread's first one, and its first column.
    pub down: String,
    pub along: String,
    pub rows: Rows,
    pub sums: Vec<Slot>,
}

impl<'a> Warp<'a> {
    /// The warp whose rows start at `first`.
    pub fn new(
        body: &mut Body,
        attention: &'a Attention,
        inner: &'a Inner<'a>,
        keys: u32,
        thread: &str,
        first: &str,
    ) -> Warp<'a> {
        let lane = body.and(thread, WARP - 1);
        let quad = body.shr(&lane, 2);
        let down = body.add(first, quad);
        let along = body.and(&lane, 3);
        let along = body.mul(along, 2);
        let rows = Rows::new(body);
        let sums = (0..attention.columns / 2).map(|_| body.slot("float", "0.0")).collect();
        let [k, v] = [Operand::K, Operand::V].map(|operand| Tile::of(attention, operand, keys));
        Warp { attention, inner, k, v, lane, down, along, rows, sums }
    }

    /// The rows of Q as left factors, four words for each 16 of the depth.
    pub fn queries(&self, body: &mut Body, place: &Place) -> Vec<Vec<String>> {
        let dtype = self.attention.dtype;
        let rows: Vec<(String, String)> = [0, 8]
            .map(|below| {
                let row = body.add(&place.row, &self.down);
                let row = body.add(row, below);
                let inside = body.compare("ult", &row, "%rows");
                let inside = body.value(format_args!("zext i1 {inside} to i32"));
                (rows::address(body, dtype, "q", (&place.batch, &place.head, &row)), inside)
            })
            .to_vec();
        let column = body.wide(&self.along);
        (0..self.attention.depth.div_ceil(STEP))
            .map(|step| {
                (0..4)
                    .map(|word| {
                        let (start, inside) = &rows[word as usize % 2];
                        let from = step * STEP + word / 2 * 8;
                        if from >= self.attention.depth {
                            return "0".into();
                        }
                        let start = element_of(body, dtype, start, &column);
                        let start = element_of(body, dtype, &start, &from.to_string());
                        if self.attention.align.is_multiple_of(4) {
                            return body.ask(&ptx::LOAD_B32, &[&start, inside]);
                        }
                        let next = element_of(body, dtype, &start, "1");
                        let [low, high] = [start, next].map(|from| body.ask(&ptx::LOAD_B16, &[&from, inside]));
                        let high = body.shl(high, 16);
                        body.value(format_args!("or i32 {low}, {high}"))
                    })
                    .collect()
            })
            .collect()
    }

    /// Takes a tile of keys: K and V in shared memory at some addresses, keys from `key` on. `full` says that all rows see all keys.
    pub fn step(
        &self,
        body: &mut Body,
        place: &Place,
        queries: &[Vec<String>],
        (k_at, v_at): (&str, &str),
        (key, full): (&str, &str),
    ) {
        let mma = if self.attention.dtype == DType::BF16 { &ptx::MMA_BF16 } else { &ptx::MMA_F16 };
        let multiply = |body: &mut Body, sums: &mut [String], a: &[String], b: &[String]| {
            let operands: [&dyn std::fmt::Display; 10] =
                [&sums[0], &sums[1], &sums[2], &sums[3], &a[0], &a[1], &a[2], &a[3], &b[0], &b[1]];
            let made = body.ask_all(mma, &operands);
            sums.clone_from_slice(&made);
        };
        let mut scores = vec!["0.0".to_owned(); self.k.keys as usize / 2];
        for (step, a) in queries.iter().enumerate() {
            for (sixteen, scores) in scores.chunks_mut(8).enumerate() {
                let b = self.k.load(body, &self.lane, k_at, sixteen as u32, step as u32);
                multiply(body, &mut scores[..4], a, &b[..2]);
                multiply(body, &mut scores[4..], a, &b[2..]);
            }
        }
        let row = body.add(&place.row, &self.down);
        let key = body.add(key, &self.along);
        let mut scored = Scored { attention: self.attention, inner: self.inner, place, row, key, masked: false };
        scored.scores(body, &mut scores);
        scored.masked = true;
        let slots: Vec<Slot> = scores.iter().map(|score| body.slot("float", score)).collect();
        body.either(
            full,
            |_| (),
            |body| {
                scored.mask(body, &mut scores);
                for (slot, score) in slots.iter().zip(&scores) {
                    body.set(slot, score);
                }
            },
        );
        let mut weights: Vec<String> = slots.iter().map(|slot| body.get(slot)).collect();
        let less = self.rows.weigh(body, &mut weights, false);
        let words = rows::words(body, self.attention.dtype, &weights);
        let mut sums: Vec<String> = self.sums.iter().map(|slot| body.get(slot)).collect();
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = rows::times(body, sum, &less[i / 2 % 2]);
        }
        for (sixteen, a) in words.chunks(4).enumerate() {
            for (part, sums) in sums.chunks_mut(8).enumerate() {
                let b = self.v.load(body, &self.lane, v_at, sixteen as u32, part as u32);
                multiply(body, &mut sums[..4], a, &b[..2]);
                if sums.len() > 4 {
                    multiply(body, &mut sums[4..], a, &b[2..]);
                }
            }
        }
        for (slot, sum) in self.sums.iter().zip(sums) {
            body.set(slot, sum);
        }
    }
}

/// Where the keys or values of a head start.
pub(super) fn start(body: &mut Body, attention: &Attention, operand: &str, place: &Place) -> String {
    rows::address(body, attention.dtype, operand, (&place.batch, &place.key_head, "0"))
}
