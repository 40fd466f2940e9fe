//! Giving a phase's buffer arguments other positions.

use super::{Phase, Stmt};
use crate::expr::{Mem, ParamId};

impl Phase {
    /// Puts `of(p)` in the place of each buffer argument `p`; different ones stay different.
    pub fn rename_params(&mut self, of: &dyn Fn(ParamId) -> ParamId) {
        let rename = |mem: &mut Mem| {
            if let Mem::Param(param) = mem {
                *param = of(*param);
            }
        };
        self.exprs.rename_memory(&rename);
        self.streams.iter_mut().for_each(|param| *param = of(*param));
        let mut open: Vec<&mut Stmt> = self.body.iter_mut().collect();
        while let Some(stmt) = open.pop() {
            match stmt {
                Stmt::Loop(_, body) | Stmt::If(_, body) => open.extend(body),
                Stmt::Store { to, .. } => rename(to),
                Stmt::Micro(micro) => {
                    [&mut micro.a, &mut micro.b, &mut micro.c].map(|o| &mut o.mem).into_iter().for_each(rename);
                    micro.fetch.iter_mut().for_each(|fetch| fetch.from = of(fetch.from));
                }
                Stmt::Prefetch { from, .. } => *from = of(*from),
            }
        }
    }
}
