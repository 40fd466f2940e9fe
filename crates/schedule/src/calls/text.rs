//! The text form of a schedule, in which one process leaves it for another.
//!
//! ```text
//! var n = 1..=16
//! kernel 312                      # so many bytes of a kernel's own text follow
//! buffer f32 n;768 @ CPU
//! numbers i64(1) i64(2)
//! call 0 kernel 0 @ L0 L1 B0 @ @ @ @ 3 4
//! output B0
//! bind n 4
//! ```
//!
//! A call has its number and what it does, then its arguments, what it reads from and follows, the values of loops'
//! variables, and the nodes that it computes. What was decided on the way is left out.

use super::preschedule::{BufferSpec, Item, KernelInvocation, PreSchedule, Slot};
use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;
use svod_ir::graph::{Device, Shape};
use svod_ir::kernel::Kernel;
use svod_ir::size::{Size, Variable};

impl PreSchedule {
    /// The text; none where that would not give the same schedule again.
    pub fn to_text(&self) -> Option<String> {
        let text = self.written_out()?;
        let again = PreSchedule::parse(&text)?.written_out()?;
        (again == text).then_some(text)
    }

    fn written_out(&self) -> Option<String> {
        let mut text = String::new();
        for var in self.variables()? {
            let _ = writeln!(text, "var {var} = {}..={}", Variable::min(&var), Variable::max(&var));
        }
        for kernel in &self.kernels {
            let kernel = kernel.to_string();
            let _ = write!(text, "kernel {}\n{kernel}\n", kernel.len());
        }
        for BufferSpec { dtype, shape, device } in &self.buffers {
            let device = device.as_ref().map_or("", Device::name);
            let _ = writeln!(text, "buffer {} {} @ {device}", dtype.short(), sizes(shape));
        }
        for numbers in &self.numbers {
            let _ = writeln!(text, "numbers {}", listed(numbers));
        }
        for call in &self.invocations {
            let fixed: Vec<String> = call.fixed.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let _ = writeln!(
                text,
                "call {} {} @ {} @ {} @ {} @ {} @ {}",
                call.call,
                item(&call.item),
                listed(&call.args.iter().map(slot).collect::<Vec<_>>()),
                listed(&call.dependencies),
                listed(&call.after),
                listed(&fixed),
                listed(&call.nodes),
            );
        }
        for output in &self.outputs {
            let _ = writeln!(text, "output {}", slot(output));
        }
        for bound in &self.bindings {
            let _ = writeln!(text, "bind {} {}", bound.variable(), bound.value());
        }
        Some(text)
    }

    /// What [`PreSchedule::to_text`] has written; none of another text.
    pub fn parse(text: &str) -> Option<PreSchedule> {
        let mut read = PreSchedule::default();
        let mut vars: Vec<Variable> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (line, behind) = rest.split_once('\n')?;
            rest = behind;
            let (kind, line) = line.split_once(' ')?;
            match kind {
                "var" => {
                    let (name, range) = line.split_once(" = ")?;
                    let (min, max) = range.split_once("..=")?;
                    vars.push(Variable::internal(name, min.parse().ok()?, max.parse().ok()?).ok()?);
                }
                "kernel" => {
                    let (kernel, behind) = rest.split_at_checked(line.parse().ok()?)?;
                    read.kernels.push(Arc::new(Kernel::parse(kernel).ok()?));
                    rest = behind.strip_prefix('\n')?;
                }
                "buffer" => {
                    let (about, device) = line.split_once(" @ ")?;
                    let (dtype, shape) = about.split_once(' ')?;
                    let device = if device.is_empty() { None } else { Some(Device::new(device)) };
                    let shape = read_sizes(shape, &vars)?;
                    read.buffers.push(BufferSpec { dtype: dtype.parse().ok()?, shape, device });
                }
                "numbers" => read.numbers.push(items(line)?),
                "call" => read.invocations.push(read_call(line, &vars)?),
                "output" => read.outputs.push(read_slot(line)?),
                "bind" => {
                    let (name, value) = line.split_once(' ')?;
                    let var = vars.iter().find(|var| var.name() == name)?;
                    read.bindings.push(var.bind(value.parse().ok()?).ok()?);
                }
                _ => return None,
            }
        }
        Some(read)
    }

    /// The variables of sizes and values, each once; none where two have one name.
    fn variables(&self) -> Option<Vec<Variable>> {
        let of = |sizes: &[Size]| sizes.iter().flat_map(Size::variables).collect::<Vec<_>>();
        let of_item = |item: &Item| match item {
            Item::Row { var, each } => [vec![var.clone()], each.variables()].concat(),
            Item::Host { shapes, .. } => shapes.iter().flat_map(|shape| of(shape)).collect(),
            Item::Kernel(_) | Item::Copy | Item::View { .. } => Vec::new(),
        };
        let mut all: Vec<Variable> = self.bindings.iter().map(|bound| bound.variable().clone()).collect();
        all.extend(self.buffers.iter().flat_map(|buffer| of(&buffer.shape)));
        all.extend(self.invocations.iter().flat_map(|call| of_item(&call.item)));
        all.sort();
        all.dedup();
        let named_alike = all.windows(2).any(|pair| pair[0].name() == pair[1].name());
        (!named_alike).then_some(all)
    }
}

fn listed<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn items<T: FromStr>(text: &str) -> Option<Vec<T>> {
    text.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// Extents; a shape without any is an empty text.
fn sizes(shape: &[Size]) -> String {
    shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(";")
}

fn read_sizes(text: &str, vars: &[Variable]) -> Option<Vec<Size>> {
    let of = |name: &str| vars.iter().find(|var| var.name() == name).cloned();
    let parts = text.split(';').filter(|part| !part.is_empty());
    parts.map(|part| Size::parse(part, &of).ok()).collect()
}

fn slot(slot: &Slot) -> String {
    match slot {
        Slot::Leaf(at) => format!("L{at}"),
        Slot::Buffer(at) => format!("B{at}"),
        Slot::Numbers(at) => format!("N{at}"),
    }
}

fn read_slot(text: &str) -> Option<Slot> {
    let (kind, at) = text.split_at_checked(1)?;
    let at = at.parse().ok()?;
    match kind {
        "L" => Some(Slot::Leaf(at)),
        "B" => Some(Slot::Buffer(at)),
        "N" => Some(Slot::Numbers(at)),
        _ => None,
    }
}

fn item(item: &Item) -> String {
    match item {
        Item::Kernel(kernel) => format!("kernel {kernel}"),
        Item::Copy => "copy ".to_owned(),
        Item::View { offset } => format!("view {offset}"),
        Item::Row { var, each } => format!("row {var} {each}"),
        Item::Host { function, outputs, shapes } => {
            let shapes: String = shapes.iter().map(|shape| format!("|{}", sizes(shape))).collect();
            format!("host {function} {outputs} {shapes}")
        }
    }
}

fn read_item(text: &str, vars: &[Variable]) -> Option<Item> {
    let (kind, rest) = text.split_once(' ')?;
    Some(match kind {
        "kernel" => Item::Kernel(rest.parse().ok()?),
        "copy" => Item::Copy,
        "view" => Item::View { offset: rest.parse().ok()? },
        "row" => {
            let (name, each) = rest.split_once(' ')?;
            let [each] = <[Size; 1]>::try_from(read_sizes(each, vars)?).ok()?;
            Item::Row { var: vars.iter().find(|var| var.name() == name)?.clone(), each }
        }
        "host" => {
            let (function, rest) = rest.split_once(' ')?;
            let (outputs, shapes) = rest.split_once(' ')?;
            let shape = |text: &str| Some(Shape::from(read_sizes(text, vars)?));
            let shapes = shapes.split('|').skip(1).map(shape).collect::<Option<_>>()?;
            Item::Host { function: function.parse().ok()?, outputs: outputs.parse().ok()?, shapes }
        }
        _ => return None,
    })
}

fn read_call(line: &str, vars: &[Variable]) -> Option<KernelInvocation> {
    let mut parts = line.split(" @ ");
    let (call, what) = parts.next()?.split_once(' ')?;
    let slots = parts.next()?.split_whitespace().map(read_slot).collect::<Option<_>>()?;
    let (dependencies, after) = (items(parts.next()?)?, items(parts.next()?)?);
    let fixed = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    let fixed = parts.next()?.split_whitespace().map(fixed).collect::<Option<_>>()?;
    let nodes = items(parts.next()?)?;
    let (item, call) = (read_item(what, vars)?, call.parse().ok()?);
    Some(KernelInvocation { item, args: slots, call, dependencies, after, fixed, nodes })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use svod_dtype::{Const, DType};

    fn example() -> PreSchedule {
        let n = Variable::new("n", 1, 16).unwrap();
        let row = Variable::internal("loop.0", 0, 3).unwrap();
        let kernel = "kernel map\nvar n = 1..=16\nparam p0: f32[n]\nparam p1: f32[n]\naxis i < n\n\nstage out[i] = map\n  p1[i] = exp(p0[i])\n";
        let call = |call, item, args: &[Slot]| KernelInvocation {
            item,
            args: args.to_vec(),
            call,
            dependencies: if call > 0 { vec![call - 1] } else { vec![] },
            after: vec![],
            fixed: vec![],
            nodes: vec![call as u32],
        };
        let (leaf, own) = (Slot::Leaf(0), Slot::Buffer(0));
        let shapes = vec![Shape::from(vec![]), Shape::from(vec![Size::from(&n), Size::from(3)])];
        let fixed = vec![("loop.0".to_owned(), 2)];
        PreSchedule {
            kernels: vec![Arc::new(Kernel::parse(kernel).unwrap())],
            buffers: vec![
                BufferSpec { dtype: DType::F32, shape: vec![Size::from(&n) * 2, Size::from(3)], device: None },
                BufferSpec { dtype: DType::Bool, shape: vec![], device: Some(Device::new("CPU:1")) },
            ],
            numbers: vec![vec![Const::f64(DType::F32, 0.1), Const::f64(DType::F32, f64::NAN)], vec![]],
            invocations: vec![
                call(0, Item::Kernel(0), &[leaf, own]),
                call(1, Item::Copy, &[own, leaf]),
                call(2, Item::View { offset: 7 }, &[own, leaf]),
                KernelInvocation { fixed, ..call(3, Item::Row { var: row, each: Size::from(&n) }, &[own, leaf]) },
                call(4, Item::Host { function: 1, outputs: 1, shapes }, &[own, Slot::Numbers(0)]),
            ],
            outputs: vec![own, leaf],
            bindings: vec![n.bind(4).unwrap()],
            decisions: vec![],
        }
    }

    #[test]
    fn a_schedule_is_read_as_it_was_written() {
        let text = example().to_text().unwrap();
        assert_eq!(PreSchedule::parse(&text).unwrap().to_text().unwrap(), text);
    }

    #[test]
    fn other_texts_are_none() {
        let text = example().to_text().unwrap();
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let whole = |read: PreSchedule| read.bindings.len() + read.outputs.len() == 3;
            assert!(!PreSchedule::parse(&text[..cut]).is_some_and(whole), "cut to {cut}");
        }
        assert!(PreSchedule::parse("call x kernel 0 @ @ @ @ @ \n").is_none());
    }

    #[test]
    fn two_variables_of_one_name_have_no_text() {
        let mut given = example();
        given.buffers[1].shape.push(Size::from(&Variable::new("n", 1, 17).unwrap()));
        assert_eq!(given.to_text(), None);
    }
}
