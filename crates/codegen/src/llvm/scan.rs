//! Running values over the lanes of a vector.
//!
//! Each thread combines its own lanes in order. What precedes them comes from the threads before it: within a warp by
//! shuffles over doubling distances (Hillis and Steele 1986), from the warps before by the same over their totals, which
//! they leave in memory that the block shares. Whether anything precedes is known, so that no identity is needed.

use super::operations::Operation;
use super::{Function, WARP, scalar, ty};
use svod_ir::alu::Alu;
use svod_ir::linear::{Ty, Val};

/// What precedes a thread's lanes, and whether anything does.
struct Before {
    value: String,
    some: String,
}

impl Function<'_> {
    /// Each lane combined with all before it.
    pub(super) fn scan(&mut self, op: Alu, v: Val) -> String {
        let (of, whole, own) = (self.linear.ty(v), self.whole(v), self.operand(v));
        let one = Ty { lanes: 1, ..of };
        let mut lanes = vec![own.clone()];
        if of.lanes > 1 {
            let lane = |lane| self.temporary(format_args!("extractelement {} {own}, i64 {lane}", ty(of)));
            lanes = (0..of.lanes).map(lane).collect();
        }
        for lane in 1..lanes.len() {
            lanes[lane] = self.operation(op, one, &[&lanes[lane - 1], &lanes[lane]], &[None, None]);
        }
        if self.is_spread(whole) {
            let before = self.before(op, one, whole, lanes[lanes.len() - 1].clone());
            for lane in &mut lanes {
                let both = self.operation(op, one, &[&before.value, lane], &[None, None]);
                *lane = self.choose(one, &before.some, &both, lane);
            }
        }
        if of.lanes == 1 {
            return lanes.swap_remove(0);
        }
        let (whole, element) = (ty(of), scalar(of.dtype));
        let insert = |vector: String, (lane, value): (usize, &String)| {
            self.temporary(format_args!("insertelement {whole} {vector}, {element} {value}, i64 {lane}"))
        };
        lanes.iter().enumerate().fold("poison".to_owned(), insert)
    }

    /// What the threads before this one have, of which each has combined its lanes of a vector of so many.
    fn before(&mut self, op: Alu, of: Ty, lanes: u32, own: String) -> Before {
        let threads = lanes.min(self.share.threads);
        let place = self.temporary(format_args!("and i32 %lane, {}", threads.min(WARP) - 1));
        let (running, in_warp) = self.before_in_warp(op, of, threads.min(WARP), &place, own);
        let warps = threads / WARP;
        if warps <= 1 {
            return in_warp;
        }
        // The last thread of a warp has the warp's total. Groups of warps that have the same lanes write the same.
        let warp = self.temporary(format_args!("lshr i32 %lane, {}", WARP.ilog2()));
        let warp = self.temporary(format_args!("and i32 {warp}, {}", warps - 1));
        let last = self.temporary(format_args!("icmp eq i32 {place}, {}", WARP - 1));
        let slot = self.shared_slot(of.dtype, &warp);
        let end = self.guard(Some(&last));
        self.store_shared(of.dtype, &running, &slot);
        self.close(end);
        self.wait();
        let other = self.temporary(format_args!("and i32 {place}, {}", warps - 1));
        let slot = self.shared_slot(of.dtype, &other);
        let total = self.load_shared(of.dtype, &slot);
        self.wait();
        let (totals, _) = self.before_in_warp(op, of, warps, &other, total);
        let earlier = self.temporary(format_args!("sub i32 {warp}, 1"));
        let warps_before = self.value_of_lane(of, &totals, &earlier);
        let both = self.operation(op, of, &[&warps_before, &in_warp.value], &[None, None]);
        let both = self.choose(of, &in_warp.some, &both, &warps_before);
        let any = self.temporary(format_args!("icmp ne i32 {warp}, 0"));
        let value = self.choose(of, &any, &both, &in_warp.value);
        Before { value, some: self.temporary(format_args!("or i1 {any}, {}", in_warp.some)) }
    }

    /// The running value of each of so many threads of a warp, and what precedes it; `place` is the thread's place among
    /// them.
    fn before_in_warp(&mut self, op: Alu, of: Ty, threads: u32, place: &str, own: String) -> (String, Before) {
        let (mut running, mut distance) = (own, 1);
        while distance < threads {
            let from = self.temporary(format_args!("sub i32 %lane, {distance}"));
            let other = self.value_of_lane(of, &running, &from);
            let both = self.operation(op, of, &[&other, &running], &[None, None]);
            let some = self.temporary(format_args!("icmp uge i32 {place}, {distance}"));
            running = self.choose(of, &some, &both, &running);
            distance *= 2;
        }
        let from = self.temporary(format_args!("sub i32 %lane, 1"));
        let value = self.value_of_lane(of, &running, &from);
        let some = self.temporary(format_args!("icmp ne i32 {place}, 0"));
        (running, Before { value, some })
    }

    /// A scalar of the thread of a lane of the warp, modulo its number of lanes.
    fn value_of_lane(&mut self, of: Ty, value: &str, lane: &str) -> String {
        let lane = self.temporary(format_args!("and i32 {lane}, {}", WARP - 1));
        self.exchange(Operation::Shuffle, of.dtype, value, &lane)
    }

    fn choose(&mut self, of: Ty, condition: &str, yes: &str, no: &str) -> String {
        let ty = ty(of);
        self.temporary(format_args!("select i1 {condition}, {ty} {yes}, {ty} {no}"))
    }
}
