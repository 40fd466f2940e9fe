//! Lanes of a vector that hold the same.

use super::operations::Operation;
use super::{Function, WARP, ty};
use svod_ir::linear::Val;

impl Function<'_> {
    /// In how many lanes is what is in each, of all or of those before it.
    pub(super) fn alike(&mut self, v: Val, before: bool) -> String {
        let (of, whole, own) = (self.linear.ty(v), self.whole(v), self.operand(v));
        if !self.is_spread(whole) {
            return self.alike_of_a_thread(v, before);
        }
        // As many lanes as the warp has threads, or fewer, which several threads then have: those of the first count.
        debug_assert!(whole <= WARP && of.lanes == 1);
        let mut mask = self.operate(Operation::Match, &[&own]);
        if before {
            let place = self.temporary(format_args!("and i32 %lane, {}", whole - 1));
            let bit = self.temporary(format_args!("shl i32 1, {place}"));
            let below = self.temporary(format_args!("sub i32 {bit}, 1"));
            mask = self.temporary(format_args!("and i32 {mask}, {below}"));
        } else if whole < WARP {
            mask = self.temporary(format_args!("and i32 {mask}, {}", (1 << whole) - 1));
        }
        self.declare("i32 @llvm.ctpop.i32(i32)".to_owned());
        self.temporary(format_args!("call i32 @llvm.ctpop.i32(i32 {mask})"))
    }

    fn alike_of_a_thread(&mut self, v: Val, before: bool) -> String {
        let (of, own) = (self.linear.ty(v), self.operand(v));
        let whole = ty(of);
        let lane = |lane| self.temporary(format_args!("extractelement {whole} {own}, i64 {lane}"));
        let lanes: Vec<String> = (0..of.lanes).map(lane).collect();
        let mut counts = "poison".to_owned();
        for (n, own) in lanes.iter().enumerate() {
            let mut count = "0".to_owned();
            for other in &lanes[..if before { n } else { lanes.len() }] {
                let same = self.temporary(format_args!("icmp eq i32 {own}, {other}"));
                let one = self.temporary(format_args!("zext i1 {same} to i32"));
                count = self.temporary(format_args!("add i32 {count}, {one}"));
            }
            counts = self.temporary(format_args!("insertelement {whole} {counts}, i32 {count}, i64 {n}"));
        }
        counts
    }
}
