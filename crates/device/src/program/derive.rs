//! What a kernel says about how to call it. This is the one place that reads it off.

use std::collections::BTreeSet;
use std::sync::Arc;

use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::lowered::{Lowered, Phase, Stmt};
use svod_ir::size::{Size, Variable};

use super::{CORE_ID, DEFAULT_NAME, ProgramError, ProgramSpec};
use crate::launch::{LaunchErrorKind, LaunchExpr, LaunchSizes};
use crate::spec::DeviceSpec;

/// What is known about a program without reading its kernel. What is empty is derived.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// Name of the program.
    pub name: String,
    /// Launch sizes of each phase.
    pub launches: Vec<LaunchSizes>,
    /// Variables, in the order of their values.
    pub vars: Vec<Variable>,
    /// Slots that are passed.
    pub globals: Vec<usize>,
    /// Slots that are written.
    pub outs: Vec<usize>,
    /// Slots that are read.
    pub ins: Vec<usize>,
}

impl ProgramSpec {
    /// The spec of a kernel whose source is the text of its loops, under a name if one is given: code in an on-disk cache is
    /// found by that without generating any. All parameters are passed, used or not: code finds them by their position.
    pub fn of_loops(
        kernel: &Arc<Lowered>,
        name: Option<&str>,
        device: DeviceSpec,
    ) -> Result<ProgramSpec, ProgramError> {
        let renamed = name.filter(|n| *n != kernel.name).map(|name| {
            let mut kernel = Lowered::clone(kernel);
            kernel.name = name.to_owned();
            Arc::new(kernel)
        });
        let kernel = renamed.as_ref().unwrap_or(kernel);
        let metadata = Metadata { globals: (0..kernel.params.len()).collect(), ..Metadata::default() };
        ProgramSpec::derive(kernel, kernel.to_string(), device, metadata)
    }

    /// The spec of a kernel's source. Metadata that is given and not empty wins over what the
    /// kernel says.
    ///
    /// [`CORE_ID`] comes last among the variables, unless the kernel declares it. A phase with a
    /// grid has as many tasks as that; one without has as many as [`CORE_ID`] has values.
    pub fn derive(
        ast: &Arc<Lowered>,
        source: String,
        device: DeviceSpec,
        metadata: Metadata,
    ) -> Result<ProgramSpec, ProgramError> {
        let given = [metadata.name.as_str(), ast.name.as_str()];
        let name = given.into_iter().find(|n| !n.is_empty()).unwrap_or(DEFAULT_NAME).to_owned();
        if ast.params.is_empty() {
            return Err(ProgramError::NoBuffers(name));
        }
        let derived = accesses(ast);
        let outs = slots(metadata.outs, derived.outs);
        let ins = slots(metadata.ins, derived.ins);
        let globals = slots(metadata.globals, outs.iter().chain(&ins).copied().collect());
        check_slots(&name, ast.params.len(), &globals, &outs, &ins)?;

        let vars = match metadata.vars {
            vars if vars.is_empty() => variables(&name, ast)?,
            vars => vars,
        };
        let launches = match metadata.launches {
            launches if launches.is_empty() => launches_of(&name, ast, &vars)?,
            launches => launches,
        };
        if launches.len() != ast.phases.len() {
            let (phases, launches) = (ast.phases.len(), launches.len());
            return Err(ProgramError::Launches { name, phases, launches });
        }
        Ok(ProgramSpec { name, source, device, ast: ast.clone(), launches, vars, globals, outs, ins })
    }
}

/// Launch sizes from named indices, such as `gidx0`: a name that begins with `g` counts groups, with `l`
/// threads of a group, with `i` tasks without groups, which removes the local size. The number that the
/// name ends with is the axis.
pub fn sizes_from_specials(specials: &[(&str, LaunchExpr)]) -> Result<LaunchSizes, ProgramError> {
    let mut sizes = LaunchSizes::default();
    let mut seen = BTreeSet::new();
    let mut direct = false;
    for (name, extent) in specials {
        let bad = || ProgramError::BadSpecial((*name).to_owned());
        let (kind, axis) = match name.as_bytes() {
            [kind @ (b'g' | b'l' | b'i'), middle @ .., axis @ b'0'..=b'2']
                if !middle.last().is_some_and(u8::is_ascii_digit) =>
            {
                (*kind, usize::from(axis - b'0'))
            }
            _ => return Err(bad()),
        };
        // `g0` and `i0` are the same size.
        if !seen.insert((kind == b'l', axis)) {
            return Err(bad());
        }
        direct |= kind == b'i';
        match &mut sizes.local {
            Some(local) if kind == b'l' => local[axis] = extent.clone(),
            _ => sizes.global[axis] = extent.clone(),
        }
    }
    if direct {
        sizes.local = None;
    }
    Ok(sizes)
}

#[derive(Default)]
struct Accesses {
    ins: BTreeSet<usize>,
    outs: BTreeSet<usize>,
}

fn slots(given: Vec<usize>, derived: BTreeSet<usize>) -> Vec<usize> {
    let slots = if given.is_empty() { derived } else { given.into_iter().collect() };
    slots.into_iter().collect()
}

fn check_slots(
    name: &str,
    params: usize,
    globals: &[usize],
    outs: &[usize],
    ins: &[usize],
) -> Result<(), ProgramError> {
    let name = || name.to_owned();
    if let Some(&slot) = globals.iter().chain(outs).chain(ins).find(|slot| **slot >= params) {
        return Err(ProgramError::SlotOutOfRange { name: name(), slot, params });
    }
    if globals.is_empty() {
        return Err(ProgramError::NoGlobals(name()));
    }
    if outs.is_empty() {
        return Err(ProgramError::NoOuts(name()));
    }
    match outs.iter().chain(ins).find(|slot| !globals.contains(slot)) {
        Some(&slot) => Err(ProgramError::NotGlobal { name: name(), slot, globals: globals.into() }),
        None => Ok(()),
    }
}

/// The parameters that any phase loads from and stores to.
fn accesses(ast: &Lowered) -> Accesses {
    let mut found = Accesses::default();
    for phase in &ast.phases {
        phase_accesses(phase, &mut found);
    }
    found
}

fn phase_accesses(phase: &Phase, found: &mut Accesses) {
    fn touch(slots: &mut BTreeSet<usize>, mem: Mem) {
        if let Mem::Param(param) = mem {
            slots.insert(param.index());
        }
    }
    let mut used = vec![false; phase.exprs.len()];
    let mut mark = |e: &ExprId| used[e.index()] = true;
    let mut stmts: Vec<&Stmt> = phase.body.iter().collect();
    while let Some(stmt) = stmts.pop() {
        match stmt {
            Stmt::Loop(_, body) => stmts.extend(body),
            Stmt::If(condition, body) => {
                mark(condition);
                stmts.extend(body);
            }
            Stmt::Store { to, index, value, valid } => {
                touch(&mut found.outs, *to);
                index.iter().chain([value]).chain(valid).for_each(&mut mark);
            }
            Stmt::Prefetch { .. } => {}
            Stmt::Micro(micro) => {
                touch(&mut found.ins, micro.a.mem);
                touch(&mut found.ins, micro.b.mem);
                touch(&mut found.outs, micro.c.mem);
                // Unless every tile starts from 0, the old content counts.
                if micro.start.as_const() != Some(0) {
                    touch(&mut found.ins, micro.c.mem);
                }
            }
        }
    }
    // Users come after their operands, so that one walk backwards reaches everything.
    let exprs: Vec<(ExprId, &Expr)> = phase.exprs.iter().collect();
    for (id, expr) in exprs.into_iter().rev() {
        if used[id.index()] {
            expr.operands().iter().for_each(|e| used[e.index()] = true);
            if let Expr::Load { from, .. } = expr {
                touch(&mut found.ins, *from);
            }
        }
    }
}

/// The kernel's variables, each once, and [`CORE_ID`].
fn variables(name: &str, ast: &Lowered) -> Result<Vec<Variable>, ProgramError> {
    let mut vars: Vec<Variable> = Vec::with_capacity(ast.vars.len() + 1);
    for var in &ast.vars {
        match vars.iter().find(|v| v.name() == var.name()) {
            None => vars.push(var.clone()),
            Some(known) if known == var => {}
            Some(known) => {
                return Err(ProgramError::VariableConflict {
                    name: name.into(),
                    variable: var.name().into(),
                    bounds: ((known.min(), known.max()), (var.min(), var.max())),
                });
            }
        }
    }
    if !vars.iter().any(|v| v.name() == CORE_ID) {
        let mut most = 1;
        for (phase, tasks) in ast.phases.iter().map(tasks).enumerate() {
            let bound = tasks.upper_bound().ok_or_else(|| ProgramError::Grid {
                name: name.into(),
                phase,
                kind: LaunchErrorKind::Overflow(format!("the number of tasks, {tasks},")),
            })?;
            most = most.max(bound);
        }
        vars.push(Variable::internal(CORE_ID, 0, most - 1).expect("0 is not above a bound of at least 1"));
    }
    Ok(vars)
}

/// Number of tasks of a phase.
fn tasks(phase: &Phase) -> Size {
    phase.grid.iter().map(|l| &l.extent).product()
}

fn launches_of(name: &str, ast: &Lowered, vars: &[Variable]) -> Result<Vec<LaunchSizes>, ProgramError> {
    let core_id = ast.vars.iter().find(|v| v.name() == CORE_ID).and_then(|v| vars.iter().find(|w| *w == v));
    let size = |phase: &Phase| match core_id {
        Some(v) if phase.grid.is_empty() => Size::from(v.max()) + 1,
        _ => tasks(phase),
    };
    let launch = |(phase, body): (usize, &Phase)| {
        let tasks = LaunchExpr::from_size(&size(body));
        tasks.map(LaunchSizes::tasks).map_err(|kind| ProgramError::Grid { name: name.into(), phase, kind })
    };
    ast.phases.iter().enumerate().map(launch).collect()
}
