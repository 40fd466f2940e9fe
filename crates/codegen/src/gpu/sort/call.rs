//! From phases that are a sort to kernels, and to all that their launches are given.

use super::pass::{self, Pass};
use super::rows::Rows;
use super::{COUNTED, DIGITS, Kernel, Key, Keys, Tile, counts};
use crate::CompileError;
use crate::gpu::part::{self, Gives, Part, Wanted};
use crate::gpu::{Argument, Call, Runner};
use svod_dtype::DType;
use svod_ir::expr::ParamId;
use svod_ir::lowered::{Lowered, Sort};
use svod_ir::target::Target;

/// Blocks of a multiprocessor that count digits.
const COUNTING: u64 = 8;
/// Points of a thread of a block that sorts a row, at most.
const MOST: i64 = 16;
/// The tile of a pass.
const TILE: Tile = Tile { threads: DIGITS, each: 16 };

/// The kernels of a whole loop tree that is this sort, and their launches, one after the other; nothing where there are none for its
/// sizes.
///
/// # Errors
/// See [`CompileError`].
pub fn whole(
    lowered: &Lowered,
    found: &Sort,
    target: &Target,
    runner: Runner,
) -> Result<Option<Vec<(Kernel, Call)>>, CompileError> {
    let count = found.rows.iter().fold(1i64, |n, (_, m)| n.saturating_mul(*m));
    let (points, each) = (found.points, (found.points + i64::from(DIGITS) - 1) / i64::from(DIGITS));
    // Numbers of words are in 32 bits, and so is what tiles tell.
    let tiles = (points + i64::from(TILE.points()) - 1) / i64::from(TILE.points());
    let words = count.saturating_mul(tiles.max(8)).saturating_mul(DIGITS.into());
    let is_small = words < i64::from(i32::MAX) && points < 1 << COUNTED;
    if count < 1 || points < 1 || !is_small || found.copies.is_none() && each > MOST {
        return Ok(None);
    }
    let Some(of) = Of::new(lowered, found, target, runner)? else { return Ok(None) };
    Ok(Some(match found.copies {
        None => vec![of.in_blocks(count as u64, Tile { threads: DIGITS, each: each as u32 })],
        Some(copies) => of.in_passes([count, tiles].map(|n| n as u64), copies, target),
    }))
}

/// A sort, with the functions that are parts of its kernels, and their texts.
struct Of<'a> {
    found: &'a Sort,
    keys: Keys,
    rows: Vec<i64>,
    point: Vec<i64>,
    key: (Part, String),
    results: (Part, String),
    /// The text of both.
    both: String,
    runner: Runner,
}

fn number(n: impl Into<u64>) -> Argument {
    Argument::Number(n.into() as i64)
}

fn arguments(part: &Part) -> impl Iterator<Item = Argument> {
    part.used.iter().map(|n| Argument::Pointer(*n, 0))
}

impl<'a> Of<'a> {
    fn new(
        lowered: &Lowered,
        found: &'a Sort,
        target: &Target,
        runner: Runner,
    ) -> Result<Option<Of<'a>>, CompileError> {
        let (first, last) = (&lowered.phases[0], &lowered.phases[lowered.phases.len() - 1]);
        let of_rows = || found.rows.iter().map(|(var, _)| var.clone());
        let [key, position, place] = found.temps;
        let given: &[(&[_], DType)] = &[(&[key], found.dtype), (&[position], DType::U32), (&[place], DType::U32)];
        let key = || Wanted {
            name: "key",
            exprs: &first.exprs,
            gives: Gives::Value(found.key, found.dtype),
            given: &[],
            counters: of_rows().chain(found.point.iter().map(|(var, _)| var.clone())).collect(),
        };
        let results = || Wanted {
            name: "results",
            exprs: &last.exprs,
            gives: Gives::Stores(&found.results),
            given,
            counters: of_rows().collect(),
        };
        let made = |wanted: &[Wanted]| part::parts(lowered, wanted, target, runner);
        let one = |wanted: Wanted| -> Result<Option<(Part, String)>, CompileError> {
            Ok(made(&[wanted])?.and_then(|(parts, text)| Some((parts.into_iter().next()?, text))))
        };
        let Some((_, both)) = made(&[key(), results()])? else { return Ok(None) };
        let (Some(key), Some(results)) = (one(key())?, one(results())?) else { return Ok(None) };
        let numbers = |of: &[(_, i64)]| of.iter().map(|(_, n)| *n).collect();
        let (rows, point) = (numbers(&found.rows), numbers(&found.point));
        Ok(Some(Of { found, keys: Keys(found.dtype), rows, point, key, results, both, runner }))
    }

    fn source(&self) -> Key<'_> {
        Key { part: &self.key.0, point: &self.point }
    }

    /// A kernel that sorts each row in a block.
    fn in_blocks(&self, count: u64, tile: Tile) -> (Kernel, Call) {
        let kernel = Rows {
            keys: self.keys,
            tile,
            positions: self.found.has_positions,
            rows: &self.rows,
            key: self.source(),
            results: &self.results.0,
            parts: &self.both,
        };
        let given = [number(self.found.points as u64)].into_iter();
        let call = Call {
            blocks: count as u32,
            cluster: 1,
            shared: kernel.shared(),
            scratch: 0,
            follows: false,
            arguments: given.chain(arguments(&self.key.0)).chain(arguments(&self.results.0)).collect(),
        };
        (kernel.kernel(self.runner), call)
    }

    /// Kernels of passes, and what comes before them.
    fn in_passes(&self, [count, tiles]: [u64; 2], copies: [[ParamId; 2]; 2], target: &Target) -> Vec<(Kernel, Call)> {
        let (keys, passes, points) = (self.keys, self.keys.passes(), self.found.points as u64);
        // Scratch memory: the next tile of each pass, counts of digits, what tiles tell.
        let counts_at = 256;
        let told_at = counts_at + count * u64::from(passes * DIGITS * 4);
        let scratch = told_at + count * tiles * u64::from(DIGITS * 4);
        let call = |blocks: u64, shared: u32, arguments: Vec<Argument>| Call {
            blocks: blocks as u32,
            cluster: 1,
            shared,
            scratch: 0,
            follows: true,
            arguments,
        };
        let pieces = scratch / 16;
        let cleared = call(counts::blocks_that_clear(pieces), 0, vec![number(pieces), Argument::Scratch(0)]);
        let mut kernels = vec![(counts::clear(self.runner), Call { scratch, follows: false, ..cleared })];

        let blocks = (target.cores as u64 * COUNTING).div_ceil(count).clamp(1, points.div_ceil(counts::POINTS.into()));
        let given = [number(points), number(blocks), Argument::Scratch(counts_at)].into_iter();
        let kernel = counts::kernel(keys, &self.source(), &self.rows, &self.key.1, self.runner);
        let given = given.chain(arguments(&self.key.0)).collect();
        kernels.push((kernel, call(count * blocks, counts::shared(keys), given)));

        for n in 0..passes {
            let (is_first, is_last) = (n == 0, n + 1 == passes);
            let parts = match (is_first, is_last) {
                (true, true) => self.both.as_str(),
                (true, false) => &self.key.1,
                (false, true) => &self.results.1,
                (false, false) => "",
            };
            let pass = Pass {
                keys,
                tile: TILE,
                positions: self.found.has_positions,
                rows: &self.rows,
                key: is_first.then(|| self.source()),
                results: is_last.then_some(&self.results.0),
                parts,
            };
            let mut given = vec![
                number(points),
                number(tiles),
                number(pass::shift(n)),
                number(Pass::code(n)),
                Argument::Scratch(u64::from(n) * 4),
                Argument::Scratch(counts_at + u64::from(n * DIGITS * 4)),
                number(passes * DIGITS),
                Argument::Scratch(told_at),
            ];
            let copy = |n: u32| {
                let of = copies.map(|of| Argument::Pointer(of[n as usize % 2].index(), 0));
                of.into_iter().take(1 + usize::from(self.found.has_positions))
            };
            match is_first {
                true => given.extend(arguments(&self.key.0)),
                false => given.extend(copy(n - 1)),
            }
            match is_last {
                true => given.extend(arguments(&self.results.0)),
                false => given.extend(copy(n)),
            }
            kernels.push((pass.kernel(self.runner), call(count * tiles, pass.shared(), given)));
        }
        kernels
    }
}
