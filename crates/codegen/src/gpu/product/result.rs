//! What becomes of sums in registers: the epilogue, and stores.

use super::order::Place;
use super::{Element, Epilogue, Product, ptx};
use crate::gpu::body::Body;
use svod_dtype::DType;

/// The result of a product.
pub(super) struct Results<'a> {
    pub product: &'a Product,
    pub epilogue: &'a dyn Epilogue,
}

impl Results<'_> {
    /// The last row and column.
    pub fn bounds(&self, body: &mut Body) -> [String; 2] {
        [body.sub("%m", 1), body.sub("%n", 1)]
    }

    /// A value after the epilogue, which sees rows and columns inside.
    pub fn made(
        &self,
        body: &mut Body,
        place: &Place,
        (row, down): (&str, u32),
        (column, along): (&str, u32),
        bounds: &[String; 2],
        value: &str,
    ) -> String {
        let row = body.add(row, down);
        let row = body.min(row, &bounds[0]);
        let column = body.add(column, along);
        let column = body.min(column, &bounds[1]);
        self.epilogue.apply(body, Element { batch: &place.batch, row: &row, column: &column, value })
    }

    /// Stores a thread's values of some columns, 8 apart: of each 8, two side by side, in rows `row` and `row + 8`.
    pub fn store(&self, body: &mut Body, place: &Place, row: &str, column: &str, values: &[String]) {
        for half in 0..2 {
            let this = body.add(row, half * 8);
            let pairs: Vec<(u32, [&str; 2])> = values
                .chunks(4)
                .enumerate()
                .map(|(j, four)| (8 * j as u32, [0, 1].map(|e| four[2 * half + e].as_str())))
                .collect();
            self.store_row(body, place, &this, column, &pairs);
        }
    }

    /// Stores pairs of a row, each so far from `column`.
    pub fn store_row(&self, body: &mut Body, place: &Place, row: &str, column: &str, pairs: &[(u32, [&str; 2])]) {
        let bounds = self.bounds(body);
        let aligned = (self.product.align_out as usize).is_multiple_of(2 * self.product.out.bytes());
        let inside = body.compare("ult", row, "%m");
        body.when(inside, |body| {
            let start = if self.epilogue.stores() { None } else { Some(self.row_of_c(body, place, row)) };
            for (at, values) in pairs {
                let at = body.add(column, at);
                match &start {
                    None => self.hand_over(body, place, row, &at, values),
                    Some(start) => {
                        let made =
                            [0, 1].map(|e| self.made(body, place, (row, 0), (&at, e), &bounds, values[e as usize]));
                        store_pair(body, self.product.out, start, &at, &made, aligned);
                    }
                }
            }
        });
    }

    /// Stores, of some rows, four values side by side: all of them are made before any is stored, so that what an epilogue loads is
    /// on its way at one time.
    pub fn store_fours(&self, body: &mut Body, place: &Place, column: &str, rows: &[(String, Vec<String>)]) {
        let bounds = self.bounds(body);
        let made = |body: &mut Body, row: &str, values: &[String]| -> Vec<String> {
            let made =
                |(e, value): (usize, &String)| self.made(body, place, (row, 0), (column, e as u32), &bounds, value);
            values.iter().enumerate().map(made).collect()
        };
        let stores = self.epilogue.stores();
        let all: Vec<Vec<String>> =
            rows.iter().map(|(row, values)| if stores { values.clone() } else { made(body, row, values) }).collect();
        for ((row, _), values) in rows.iter().zip(&all) {
            let inside = body.compare("ult", row, "%m");
            body.when(inside, |body| {
                if stores {
                    self.hand_over(body, place, row, column, values);
                } else {
                    let start = self.row_of_c(body, place, row);
                    self.store_four(body, &start, column, values);
                }
            });
        }
    }

    /// Stores four values side by side in a row of C, from a column on, where the row has them.
    fn store_four(&self, body: &mut Body, row: &str, column: &str, values: &[String]) {
        let (out, aligned) = (self.product.out, 4 * self.product.out.bytes() as u32);
        let pair = |i: usize| [values[2 * i].clone(), values[2 * i + 1].clone()];
        let pairs = |body: &mut Body| {
            for i in 0..2 {
                let at = body.add(column, 2 * i);
                store_pair(body, out, row, &at, &pair(i), self.product.align_out.is_multiple_of(aligned));
            }
        };
        if !self.product.align_out.is_multiple_of(aligned) {
            return pairs(body);
        }
        let end = body.add(column, 4);
        let whole = body.compare("ule", end, "%n");
        body.either(
            whole,
            |body| {
                let wide = body.wide(column);
                let at = super::element_of(body, out, row, &wide);
                let (ty, words): (_, Vec<String>) = match out {
                    DType::F32 | DType::I32 => ("float", values.to_vec()),
                    _ => ("i32", (0..2).map(|i| word(body, out, &pair(i)).unwrap_or_default()).collect()),
                };
                let of = format!("<{} x {ty}>", words.len());
                let vector = words.iter().enumerate().fold("poison".to_owned(), |vector, (i, word)| {
                    body.value(format_args!("insertelement {of} {vector}, {ty} {word}, i32 {i}"))
                });
                body.line(format_args!("store {of} {vector}, ptr addrspace(1) {at}, align {aligned}"));
            },
            pairs,
        );
    }

    /// Gives values to an epilogue that stores them.
    fn hand_over<V: AsRef<str>>(&self, body: &mut Body, place: &Place, row: &str, column: &str, values: &[V]) {
        for (e, value) in values.iter().enumerate() {
            let value = value.as_ref();
            let column = body.add(column, e);
            let inside = body.compare("ult", &column, "%n");
            body.when(inside, |body| {
                self.epilogue.apply(body, Element { batch: &place.batch, row, column: &column, value });
            });
        }
    }

    /// Where a row of C starts.
    fn row_of_c(&self, body: &mut Body, place: &Place, row: &str) -> String {
        let start = super::matrix(body, self.product, "c", place);
        let row = body.wide(row);
        let start = body.offset(start, row, "%c_stride");
        super::element_of(body, self.product.out, "%c", &start)
    }
}

/// Two values of 8 or 16 bits in a word; none of f32, or of i32, whose bits are those of floats.
fn word(body: &mut Body, out: DType, values: &[String; 2]) -> Option<String> {
    match out {
        DType::F32 | DType::I32 => None,
        out if super::is_byte(out) => {
            let [low, high] = [0, 1].map(|i| body.value(format_args!("bitcast float {} to i32", values[i])));
            let high = body.shl(high, 8);
            Some(body.value(format_args!("or i32 {low}, {high}")))
        }
        DType::F16 => Some(body.ask(&ptx::PACK_F16, &[&values[1], &values[0]])),
        _ => Some(body.ask(&ptx::PACK_BF16, &[&values[1], &values[0]])),
    }
}

/// Stores two values side by side in a row of C, from column `at`, where the row has them.
fn store_pair(body: &mut Body, out: DType, row: &str, at: &str, values: &[String; 2], aligned: bool) {
    let wide = body.wide(at);
    let first = super::element_of(body, out, row, &wide);
    let next = body.add(at, 1);
    let both = body.compare("ult", &next, "%n");
    let one = body.compare("ult", at, "%n");
    let word = word(body, out, values);
    let second = super::element_of(body, out, &first, "1");
    let number = |body: &mut Body, bit: &str| body.value(format_args!("zext i1 {bit} to i32"));
    let (store, store_one) =
        if out.bytes() == 1 { (&ptx::STORE_B16, &ptx::STORE_B8) } else { (&ptx::STORE_B32, &ptx::STORE_B16) };
    match (word, aligned) {
        (Some(word), true) => {
            let not = body.value(format_args!("xor i1 {both}, true"));
            let alone = body.both(&one, &not);
            let (both, alone) = (number(body, &both), number(body, &alone));
            body.run(store, &[&first, &word, &both]);
            body.run(store_one, &[&first, &word, &alone]);
        }
        (Some(word), false) => {
            let (both, one) = (number(body, &both), number(body, &one));
            body.run(store_one, &[&first, &word, &one]);
            let upper = body.shr(&word, 8 * out.bytes());
            body.run(store_one, &[&second, &upper, &both]);
        }
        (None, true) => {
            let not = body.value(format_args!("xor i1 {both}, true"));
            let alone = body.both(&one, &not);
            let (both, alone) = (number(body, &both), number(body, &alone));
            body.run(&ptx::STORE_F32_PAIR, &[&first, &values[0], &values[1], &both]);
            body.run(&ptx::STORE_F32, &[&first, &values[0], &alone]);
        }
        (None, false) => {
            let (both, one) = (number(body, &both), number(body, &one));
            body.run(&ptx::STORE_F32, &[&first, &values[0], &one]);
            body.run(&ptx::STORE_F32, &[&second, &values[1], &both]);
        }
    }
}
