//! Softmax of what a thread has of a tile of scores, by tiles, and what becomes of the result.
//!
//! Of each 8 columns of a product, by warps or by warpgroups, a thread has two side by side in two rows 8 apart: four lanes
//! have a row. `%scale2` is what a score is multiplied by before it is a power of two.

use super::order::Place;
use super::{Attention, Element, Inner, Score};
use crate::gpu::body::{Body, Slot, element_of};
use crate::gpu::ptx;
use svod_dtype::DType;

/// log2(e) as an f32, in LLVM's hexadecimal.
const LOG2E: &str = "0x3FF7154760000000";
/// Minus infinity.
pub(super) const LOWEST: &str = "0xFFF0000000000000";

/// The maximum of the scores so far of two rows, and this thread's part of the sum of their weights.
pub(super) struct Rows {
    pub max: [Slot; 2],
    pub total: [Slot; 2],
}

/// The tile of scores that a thread has a part of.
pub(super) struct Scored<'a> {
    pub attention: &'a Attention,
    pub inner: &'a Inner<'a>,
    pub place: &'a Place,
    /// The thread's first row.
    pub row: String,
    /// Its first key.
    pub key: String,
    /// Whether there may be keys that a row does not see.
    pub masked: bool,
}

/// `%scale` and `%scale2`.
pub(super) fn scales(body: &mut Body, inner: &Inner) {
    body.line("%scale = bitcast i32 %scale_bits to float");
    if inner.scores.plain() {
        body.line(format_args!("%scale2 = fmul float %scale, {LOG2E}"));
    } else {
        body.line(format_args!("%scale2 = fadd float 0.0, {LOG2E}"));
    }
}

/// Which row of two a value is of.
fn half(i: usize) -> usize {
    i / 2 % 2
}

/// All values of a row by an operation, in two chains.
fn all(body: &mut Body, values: &[String], row: usize, by: impl Fn(&mut Body, &str, &str) -> String) -> String {
    let mut chains: [Option<String>; 2] = [None, None];
    for (i, value) in values.iter().enumerate().filter(|(i, _)| half(*i) == row) {
        let chain = &mut chains[i % 2];
        *chain = Some(match chain.take() {
            None => value.clone(),
            Some(so_far) => by(body, &so_far, value),
        });
    }
    let [a, b] = chains.map(|chain| chain.expect("tiles have columns"));
    by(body, &a, &b)
}

/// What all four lanes of a row make of their values.
pub(super) fn quad(body: &mut Body, value: String, by: impl Fn(&mut Body, &str, &str) -> String) -> String {
    [1, 2].into_iter().fold(value, |value, bits| {
        let other = body.ask(&ptx::SHUFFLE_XOR, &[&value, &bits]);
        by(body, &value, &other)
    })
}

pub(super) fn plus(body: &mut Body, a: &str, b: &str) -> String {
    body.value(format_args!("fadd float {a}, {b}"))
}

pub(super) fn times(body: &mut Body, a: &str, b: &str) -> String {
    body.value(format_args!("fmul float {a}, {b}"))
}

/// A maximum as it is in exponents: 0 where no key was seen.
pub(super) fn seen(body: &mut Body, max: &str) -> String {
    let none = body.value(format_args!("fcmp oeq float {max}, {LOWEST}"));
    body.value(format_args!("select i1 {none}, float 0.0, float {max}"))
}

impl Scored<'_> {
    /// What the scores are for softmax.
    pub fn scores(&self, body: &mut Body, values: &mut [String]) {
        if !self.inner.scores.plain() {
            let last = [body.sub("%rows", 1), body.sub("%keys", 1)];
            let rows = [0, 8].map(|down| {
                let row = body.add(&self.row, down);
                body.min(row, &last[0])
            });
            for (i, value) in values.iter_mut().enumerate() {
                let key = body.add(&self.key, i / 4 * 8 + i % 2);
                let key = body.min(key, &last[1]);
                let scaled = times(body, value, "%scale");
                let Place { batch, head, .. } = self.place;
                let score = Score { batch, head, row: &rows[half(i)], key: &key, value: &scaled };
                *value = self.inner.scores.apply(body, score);
            }
        }
        if self.masked {
            self.mask(body, values);
        }
    }

    /// Scores of keys that a row does not see are minus infinity.
    pub fn mask(&self, body: &mut Body, values: &mut [String]) {
        // How many keys there are from the thread's first one on, that each row sees.
        let ends = [0, 8].map(|down| {
            let end = if self.attention.causal {
                let row = body.add(&self.row, down + 1);
                let end = body.add(row, "%diagonal");
                body.least(end, "%keys")
            } else {
                "%keys".into()
            };
            body.sub(end, &self.key)
        });
        for (i, value) in values.iter_mut().enumerate() {
            let sees = body.compare("sgt", &ends[half(i)], i / 4 * 8 + i % 2);
            *value = body.value(format_args!("select i1 {sees}, float {value}, float {LOWEST}"));
        }
    }
}

impl Rows {
    pub fn new(body: &mut Body) -> Rows {
        let mut two = |value| [body.slot("float", value), body.slot("float", value)];
        Rows { max: two(LOWEST), total: two("0.0") }
    }

    pub fn reset(&self, body: &mut Body) {
        for i in 0..2 {
            body.set(&self.max[i], LOWEST);
            body.set(&self.total[i], "0.0");
        }
    }

    /// Makes weights of scores. What was summed before has to be multiplied by what this gives, unless these are the first.
    pub fn weigh(&self, body: &mut Body, values: &mut [String], first: bool) -> [String; 2] {
        [0, 1].map(|row| {
            let max = all(body, values, row, |body, a, b| body.max(a, b));
            let mut max = quad(body, max, |body, a, b| body.max(a, b));
            let old = body.get(&self.max[row]);
            if !first {
                max = body.max(&old, &max);
            }
            body.set(&self.max[row], &max);
            let shift = seen(body, &max);
            let shift = times(body, &shift, "%scale2");
            let shift = body.value(format_args!("fneg float {shift}"));
            let power = |body: &mut Body, value: &str| {
                let exponent = body.fma(value, "%scale2", &shift);
                body.ask(&ptx::EXP2, &[&exponent])
            };
            let less = if first { "1.0".to_owned() } else { power(body, &old) };
            for value in values.iter_mut().enumerate().filter(|(i, _)| half(*i) == row).map(|(_, value)| value) {
                *value = power(body, value);
            }
            let mut total = all(body, values, row, plus);
            if !first {
                let old = body.get(&self.total[row]);
                total = body.fma(old, &less, total);
            }
            body.set(&self.total[row], total);
            less
        })
    }

    /// The sums of weights of both rows.
    pub fn totals(&self, body: &mut Body) -> [String; 2] {
        [0, 1].map(|row| {
            let total = body.get(&self.total[row]);
            quad(body, total, plus)
        })
    }
}

/// The words that are the left factor of 16 of the depth, of weights: rows 8 apart, then 8 further along.
pub(super) fn words(body: &mut Body, dtype: DType, weights: &[String]) -> Vec<String> {
    weights.chunks(2).map(|two| pack(body, dtype, two)).collect()
}

/// Two numbers in a word.
pub(super) fn pack(body: &mut Body, dtype: DType, two: &[String]) -> String {
    let pack = if dtype == DType::F16 { &ptx::PACK_F16 } else { &ptx::PACK_BF16 };
    body.ask(pack, &[&two[1], &two[0]])
}

/// The result of a thread's two rows.
pub(super) struct Results<'a> {
    pub attention: &'a Attention,
    pub inner: &'a Inner<'a>,
    pub place: &'a Place,
    /// The first of the two rows, and the thread's first column.
    pub row: &'a str,
    pub column: &'a str,
}

impl Results<'_> {
    /// Values from sums; of each 8 columns, two in each row.
    pub fn made(&self, body: &mut Body, sums: &[String], totals: &[String; 2]) -> Vec<String> {
        if self.inner.epilogue.plain() {
            let factors = totals.each_ref().map(|total| body.value(format_args!("fdiv float 1.0, {total}")));
            return sums.iter().enumerate().map(|(i, sum)| times(body, sum, &factors[half(i)])).collect();
        }
        let last = body.sub("%rows", 1);
        let rows = [0, 8].map(|down| {
            let row = body.add(self.row, down);
            body.min(row, &last)
        });
        let Place { batch, head, .. } = self.place;
        sums.iter()
            .enumerate()
            .map(|(i, sum)| {
                let column = body.add(self.column, i / 4 * 8 + i % 2);
                let (row, total) = (&rows[half(i)], &totals[half(i)]);
                self.inner.epilogue.apply(body, Element { batch, head, row, column: &column, sum, total })
            })
            .collect()
    }

    /// Stores values, those of rows that there are.
    pub fn store(&self, body: &mut Body, values: &[String]) {
        for row in 0..2 {
            let this = body.add(self.row, 8 * row);
            let inside = body.compare("ult", &this, "%rows");
            body.when(inside, |body| {
                let start = address(body, self.attention.out, "o", (&self.place.batch, &self.place.head, &this));
                for (j, four) in values.chunks(4).enumerate() {
                    let column = body.add(self.column, 8 * j);
                    let column = body.wide(column);
                    let to = element_of(body, self.attention.out, &start, &column);
                    self.store_two(body, &to, &four[2 * row..2 * row + 2]);
                }
            });
        }
    }

    fn store_two(&self, body: &mut Body, to: &str, two: &[String]) {
        let out = self.attention.out;
        let aligned = (self.attention.align_out as usize).is_multiple_of(2 * out.bytes());
        if out == DType::F32 && aligned {
            return body.run(&ptx::STORE_F32_PAIR, &[&to, &two[0], &two[1], &1]);
        }
        let next = element_of(body, out, to, "1");
        if out == DType::F32 {
            body.run(&ptx::STORE_F32, &[&to, &two[0], &1]);
            return body.run(&ptx::STORE_F32, &[&next, &two[1], &1]);
        }
        let word = pack(body, out, two);
        if aligned {
            return body.run(&ptx::STORE_B32, &[&to, &word, &1]);
        }
        body.run(&ptx::STORE_B16, &[&to, &word, &1]);
        let upper = body.shr(&word, 16);
        body.run(&ptx::STORE_B16, &[&next, &upper, &1]);
    }
}

/// Where a row of an operand starts.
pub(super) fn address(body: &mut Body, dtype: DType, operand: &str, (batch, head, row): (&str, &str, &str)) -> String {
    let [batch, head, row] = [batch, head, row].map(|index| body.wide(index));
    let start = body.value(format_args!("mul i64 {batch}, %{operand}_batch"));
    let start = body.offset(start, head, format_args!("%{operand}_head"));
    let start = body.offset(start, row, format_args!("%{operand}_row"));
    element_of(body, dtype, &format!("%{operand}"), &start)
}
