//! New values for a handle: whole, in part, or from the host.
//!
//! What was built on the earlier value keeps it: nothing that anybody else can see is written in place.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Shape, Sharding, UOp};
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show, show_typed};
use crate::in_place;
use crate::index::{Index, Selection, Slice, flags_apart, is_flag, positions, with_dimensions_of_flags};
use crate::memory::device_of;
use crate::operand::Operand;
use crate::output;
use crate::tensor::Tensor;

impl Tensor {
    /// Makes the tensor stand for this value, broadcast to its shape and cast to its type.
    pub fn assign(&self, value: impl Into<Operand>) -> Result<()> {
        let shape = self.shape_arc();
        let value = self.converted("assign", value.into(), &shape)?;
        self.stand_for("assign", value)
    }

    /// [`Tensor::assign`] of what an operation computed of the tensor, which has to be of its shape, and of a type that is
    /// no wider in kind: integers do not become floats.
    pub fn become_same_kind(&self, op: &'static str, value: &Tensor) -> Result<()> {
        let (own, given) = (self.dtype(), value.dtype());
        let is_wider = match own.is_float() {
            true => given.is_complex(),
            false => given.is_inexact() && !own.is_complex() || own.is_bool() && !given.is_bool(),
        };
        if is_wider {
            let message = format!(
                "the result is {given}, which {} cannot hold: write `x = x.{}(...)`, or cast first",
                self.described(),
                op.trim_end_matches('_')
            );
            return Err(TensorError::dtype(op, message));
        }
        if self.shape() != value.shape() {
            let message = format!("the result is {}, which {} cannot hold", value.described(), self.described());
            return Err(TensorError::shape(op, message));
        }
        self.assign(value)
    }

    /// Makes the tensor stand for its value in another type or another place, so that whoever holds the tensor goes on with
    /// that, as optimizers do with the parameters of a module. The gradient that was gathered is the caller's to change.
    /// False, and nothing done, for a tensor that can be given no value: a view of another one, or a file's.
    pub fn become_moved(&self, value: &Tensor) -> Result<bool> {
        let is_writable = self.check_writable("to").is_ok();
        if is_writable {
            self.write("to", value.uop())?;
        }
        Ok(is_writable)
    }

    /// Makes the tensor stand for new elements, given as their memory.
    pub fn copy_in(&self, bytes: &[u8]) -> Result<()> {
        let device = device_of(&self.uop())?;
        let fresh = Tensor::from_bytes_on(device.spec(), bytes, self.dtype(), &self.dims_for("copy_in")?)?;
        self.write("copy_in", fresh.uop())
    }

    /// `self[index] = value`, the value broadcast and cast. Where tensors of positions name an element
    /// several times, the last one in row-major order stays. A bool mask over leading dimensions may
    /// take any value that fits the elements it selects; with a scalar nothing has to be computed now. Nor has it of a
    /// single bool, beside which the rest of the index says what is written, if anything is.
    pub fn set(&self, index: &[Index], value: impl Into<Operand>) -> Result<()> {
        let op = "setitem";
        if let Some((flag, rest)) = flags_apart(index)? {
            return self.set_if(op, &flag, index, &rest, value.into());
        }
        let index = without_rest(index);
        if let [Index::Tensor(mask)] = index
            && mask.dtype().is_bool()
        {
            let value = value.into();
            let several = |t: &Tensor| t.uop().numel() != Size::ONE;
            let scalar = !matches!(&value, Operand::Tensor(t) | Operand::Listed { rounded: t, .. } if several(t));
            return if scalar {
                self.set_masked(op, mask, value)
            } else {
                self.set(&positions(op, self, index)?, value)
            };
        }
        let index = &*positions(op, self, index)?;
        // No handle to the value beside the tensor's own, which may be the only one.
        let extents = self.shape_arc();
        let selection = Selection::new(op, &extents, index)?;
        let value = value.into();
        if selection.has_lookups() {
            if let Some((known, from)) = in_place::known_positions(index, &extents)? {
                let selection = Selection::new(op, &extents, &known)?;
                let slices: Vec<&Slice> = selection.slices().collect();
                if in_place::write(self, &slices, &written_shape(&selection, &extents), &value, &from)? {
                    return Ok(());
                }
            }
            let at = Tensor::from_uop(UOp::full(Const::bool(true), &self.shape_arc())?).get(index)?;
            let value = self.converted(op, value, &at.shape_arc())?;
            return self.stand_for(op, self.with_set(op, index, &value)?);
        }
        let slices: Vec<&Slice> = selection.slices().collect();
        let sliced = lengths(&slices, &extents);
        let shape = selection.result(&sliced);
        if in_place::write(self, &slices, &shape, &value, &[])? {
            return Ok(());
        }
        let value = self.converted(op, value, &shape.into())?.reshape(sliced.clone())?;
        if slices.iter().all(|s| s.is_full()) {
            return self.stand_for(op, value);
        }
        if slices.iter().any(|slice| matches!(slice, Slice::Every { .. }))
            && let Some(number) = value.uniform()
            && let Some(written) = inside(&slices, &extents)?
        {
            let number = UOp::full(number, &extents)?;
            return self.stand_for(op, UOp::alu(Alu::Where, &[written, number, self.uop()])?);
        }
        let place = |mut part: UOp| -> Result<UOp> {
            for (axis, slice) in slices.iter().enumerate() {
                part = slice.placed(&part, axis, &extents[axis], Const::zero(part.dtype()))?;
            }
            Ok(part)
        };
        let written = place(UOp::full(Const::bool(true), &sliced.into())?)?;
        self.stand_for(op, UOp::alu(Alu::Where, &[written, place(value)?, self.uop()])?)
    }

    /// `self[rest] = value` where a single bool is true; `index` is the whole index, with it.
    fn set_if(&self, op: &'static str, flag: &Tensor, index: &[Index], rest: &[Index], value: Operand) -> Result<()> {
        let leads = index.first().is_some_and(is_flag);
        let value = match value {
            // As many as the bool selects: none; or of a shape that its dimension is within.
            Operand::Tensor(t) if t.uop().numel() == Size::ZERO || (!leads && t.rank() > 0) => {
                let Some((part, index)) = with_dimensions_of_flags(op, &Tensor::from_uop(self.uop()), index)? else {
                    return Ok(());
                };
                part.set(&index, t)?;
                return self.stand_for(op, part.uop().reshape(self.shape())?);
            }
            other => other,
        };
        let written = Tensor::from_uop(self.uop());
        written.set(rest, value)?;
        let flag = self.here(op, Operand::Tensor(flag.clone()), DType::Bool)?;
        let flag = flag.reshape(vec![Size::ONE; self.rank()])?.expand(self.shape_arc())?;
        self.stand_for(op, UOp::alu(Alu::Where, &[flag, written.uop(), self.uop()])?)
    }

    fn set_masked(&self, op: &'static str, mask: &Tensor, value: Operand) -> Result<()> {
        let (shape, mask_shape) = (self.shape(), mask.shape());
        if !shape.starts_with(&mask_shape) {
            let message = format!("a mask of {} for a tensor of {}", show(&mask_shape), show(&shape));
            return Err(TensorError::Mask { op, message });
        }
        let value = self.here(op, value, self.dtype())?;
        let ones = vec![Size::ONE; shape.len() - mask_shape.len()];
        let mask = mask.reshape(&[mask_shape, ones].concat())?.expand(&shape)?;
        let value = value.reshape([])?.expand(self.shape_arc())?;
        self.stand_for(op, UOp::alu(Alu::Where, &[mask.uop(), value, self.uop()])?)
    }

    /// Makes the tensor stand for the value that this has now, where the tensor is itself.
    fn stand_for(&self, op: &'static str, value: UOp) -> Result<()> {
        let value = Tensor::from_uop(output::kept(value)?).placed_like(self)?;
        self.write(op, value.uop())
    }

    /// A value in a type, on this tensor's device or devices.
    fn here(&self, op: &'static str, value: Operand, dtype: DType) -> Result<UOp> {
        let mut value = value.in_type(op, dtype)?;
        if let (Some(_), Some(device)) = (value.device(), self.with_node(|node| node.device().cloned())) {
            value = value.copy_to(&device)?;
        }
        if let (Some(_), Some(of)) = (value.device(), self.sharding()) {
            let each = Sharding::new(of.devices().to_vec(), None).map_err(|e| TensorError::value(op, e.to_string()))?;
            value = value.shard(&each)?;
        }
        Ok(value)
    }

    /// A value in this tensor's type and in a shape, on its device or devices.
    fn converted(&self, op: &'static str, value: Operand, shape: &Shape) -> Result<UOp> {
        let value = self.here(op, value, self.dtype())?;
        // Leading dimensions of extent 1 that the target does not have are dropped, as in NumPy.
        let excess = value.rank().saturating_sub(shape.len());
        let given = show_typed(value.dtype(), value.shape());
        let misfit = || TensorError::shape(op, format!("a value {given} does not fit the shape {}", show(shape)));
        if value.shape()[..excess].iter().any(|n| *n != Size::ONE) {
            return Err(misfit());
        }
        let trimmed = value.reshape(value.shape()[excess..].to_vec())?;
        trimmed.expand(shape.clone()).map_err(|_| misfit())
    }
}

/// How many positions slices select of each dimension.
fn lengths(slices: &[&Slice], extents: &Shape) -> Vec<Size> {
    slices.iter().zip(extents.iter()).map(|(s, n)| s.len(n)).collect()
}

/// The shape of what an index of slices selects.
fn written_shape(selection: &Selection, extents: &Shape) -> Vec<Size> {
    let slices: Vec<&Slice> = selection.slices().collect();
    selection.result(&lengths(&slices, extents))
}

/// An index without what a mask in front has behind it that selects all.
fn without_rest(index: &[Index]) -> &[Index] {
    let is_all = |entry: &Index| matches!(entry, Index::Ellipsis | Index::Slice { start: None, stop: None, step: 1 });
    match index {
        [Index::Tensor(mask), rest @ ..] if mask.dtype().is_bool() && rest.iter().all(is_all) => &index[..1],
        _ => index,
    }
}

/// Whether each element of these extents is in all slices, as arithmetic on its position: where parts begin, end and how far
/// their elements are apart are constants of one structure, which kernels take as arguments where they change. None of
/// slices that are not numbers.
fn inside(slices: &[&Slice], extents: &Shape) -> Result<Option<UOp>> {
    let Some(places) =
        slices.iter().zip(extents.iter()).map(|(s, n)| s.places(n.as_usize()?)).collect::<Option<Vec<_>>>()
    else {
        return Ok(None);
    };
    let mut inside: Option<UOp> = None;
    for (axis, (places, slice)) in places.iter().zip(slices).enumerate().filter(|(_, (_, slice))| !slice.is_full()) {
        let places = places.ascending();
        let mut along = vec![Size::ONE; extents.len()];
        along[axis] = extents[axis].clone();
        let position = UOp::range(extents[axis].clone())?.reshape(along)?.expand(extents.clone())?;
        let number = |value: i64| UOp::full(Const::i64(DType::I64, value), extents);
        let offset = UOp::alu(Alu::Sub, &[position, number(places.first as i64)?])?;
        let mut conditions = vec![
            UOp::alu(Alu::Le, &[number(0)?, offset.clone()])?,
            UOp::alu(Alu::Lt, &[offset.clone(), number(places.count as i64 * places.step)?])?,
        ];
        if matches!(slice, Slice::Every { .. }) {
            let behind = UOp::alu(Alu::Rem, &[offset, number(places.step)?])?;
            conditions.push(UOp::alu(Alu::Eq, &[behind, number(0)?])?);
        }
        for condition in conditions {
            inside = Some(match inside {
                Some(before) => UOp::alu(Alu::And, &[before, condition])?,
                None => condition,
            });
        }
    }
    Ok(inside)
}
