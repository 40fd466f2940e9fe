//! Tensors from memory, constants, ranges and files.

use std::collections::BTreeMap;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use half::{bf16, f16};
use svod_device::safetensors::Safetensors;
use svod_device::{Buffer, DeviceSpec, Storage};
use svod_dtype::{Const, DEFAULT_FLOAT, DEFAULT_INT, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Device, Leaf, LeafClass, UOp};
use svod_ir::size::{BoundVariable, Size};
use svod_runtime::{Context, Memory};

use crate::derivative::{following, grad_enabled};
use crate::devices::even_cut;
use crate::error::{Result, TensorError, show};
use crate::memory::{bound_leaf, host, leaf_over};
use crate::operand::{Operand, checked_shape, common_dtype, size_value, sizes};
use crate::tensor::Tensor;
use crate::trace::Trace;

/// A Rust type whose values tensors hold.
pub trait Element: Copy {
    /// Its element type.
    const DTYPE: DType;
    /// The value's bytes, little endian.
    fn to_le(self) -> impl IntoIterator<Item = u8>;
    /// The value from as many bytes as the type has.
    fn from_le(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident;)*) => {$(
        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
            fn to_le(self) -> impl IntoIterator<Item = u8> {
                self.to_le_bytes()
            }
            fn from_le(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$ty>()];
                array.copy_from_slice(bytes);
                <$ty>::from_le_bytes(array)
            }
        }
    )*};
}
elements! {
    i8 => I8; i16 => I16; i32 => I32; i64 => I64;
    u8 => U8; u16 => U16; u32 => U32; u64 => U64;
    f16 => F16; bf16 => BF16; f32 => F32; f64 => F64;
}

impl Element for bool {
    const DTYPE: DType = DType::Bool;
    fn to_le(self) -> impl IntoIterator<Item = u8> {
        [u8::from(self)]
    }
    fn from_le(bytes: &[u8]) -> Self {
        bytes != [0]
    }
}

impl Tensor {
    /// A copy of these elements, in row-major order.
    pub fn from_slice<T: Element>(elements: &[T], shape: &[usize]) -> Result<Tensor> {
        let bytes: Vec<u8> = elements.iter().flat_map(|e| e.to_le()).collect();
        Tensor::from_bytes(&bytes, T::DTYPE, shape)
    }

    /// A copy of the elements whose memory, little endian and row-major, this is. A `Bool` byte
    /// is 0 or 1.
    pub fn from_bytes(bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Tensor::from_bytes_on(&DeviceSpec::CPU, bytes, dtype, shape)
    }

    /// [`Tensor::from_bytes`] on another device.
    pub fn from_bytes_on(device: &DeviceSpec, bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        check_bytes("tensor", bytes.len(), dtype, shape)?;
        if dtype.is_bool() && bytes.iter().any(|b| *b > 1) {
            return Err(TensorError::value("tensor", "a byte of a bool tensor is neither 0 nor 1"));
        }
        let device = Context::global().devices().get(device)?;
        let buffer = Buffer::from_bytes(device.allocator(), dtype, bytes)?;
        Tensor::from_buffer(Arc::new(buffer), LeafClass::Data, shape)
    }

    /// [`Tensor::from_bytes`] on no device: what is computed with it is wherever the other operands are.
    pub fn literal(bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        check_bytes("tensor", bytes.len(), dtype, shape)?;
        let buffer = Buffer::from_bytes(host()?.allocator(), dtype, bytes)?;
        Tensor::from_buffer(Arc::new(buffer), LeafClass::Literal, shape)
    }

    /// A buffer's elements. As `Data`, nothing may write the buffer any more.
    pub fn from_buffer(buffer: Arc<Buffer>, class: LeafClass, shape: &[usize]) -> Result<Tensor> {
        check_bytes("tensor", buffer.bytes(), buffer.dtype(), shape)?;
        Ok(Tensor::from_uop(leaf_over(buffer, class, sizes(shape).into())?))
    }

    /// A caller's memory, without a copy: the tensor, and what is computed from it, sees what the
    /// caller writes. `keep_alive` is dropped when nothing needs the memory any more.
    ///
    /// # Safety
    /// As [`Storage::borrowed`] says: valid until `keep_alive` is dropped, and not written while
    /// something that reads it is being realized or executed. A `Bool` byte is 0 or 1.
    pub unsafe fn borrowed(
        pointer: NonNull<u8>,
        dtype: DType,
        shape: &[usize],
        read_only: bool,
        keep_alive: Box<dyn Send + Sync>,
    ) -> Result<Tensor> {
        // SAFETY: the caller's promise.
        unsafe { Tensor::borrowed_on(&DeviceSpec::CPU, pointer, dtype, shape, read_only, keep_alive) }
    }

    /// [`Tensor::borrowed`] of a device's memory.
    ///
    /// # Safety
    /// As there; the memory is the device's.
    pub unsafe fn borrowed_on(
        device: &DeviceSpec,
        pointer: NonNull<u8>,
        dtype: DType,
        shape: &[usize],
        read_only: bool,
        keep_alive: Box<dyn Send + Sync>,
    ) -> Result<Tensor> {
        let device = Context::global().devices().get(device)?;
        let count = count_of("from_numpy", shape)?;
        let bytes = count.checked_mul(dtype.bytes()).ok_or_else(|| too_large("from_numpy", shape))?;
        // SAFETY: the caller's promise.
        let storage = unsafe { Storage::borrowed(device.allocator(), pointer, bytes, read_only, keep_alive) };
        let buffer = Buffer::over(storage, 0, dtype, count)?;
        Tensor::from_buffer(Arc::new(buffer), LeafClass::Borrowed, shape)
    }

    /// A scalar in this type, or in the default type of its kind.
    pub fn scalar(value: impl Into<Operand>, dtype: Option<DType>) -> Result<Tensor> {
        let value = value.into();
        let node = match dtype {
            Some(dtype) => value.in_type("scalar", dtype)?,
            None => value.typed("scalar")?,
        };
        Ok(Tensor::from_uop(node))
    }

    /// The left operand of an operation whose right one is `other`: a scalar, in the type in which both meet, becomes
    /// a 0-d tensor.
    pub fn beside(operand: Operand, other: &Operand) -> Result<Tensor> {
        match operand {
            Operand::Tensor(tensor) => Ok(tensor),
            Operand::Listed { rounded, exact } => {
                let dtype = common_dtype("list", &[Operand::Tensor(rounded.clone()), other.clone()])?;
                Ok(if dtype == exact.dtype() { exact } else { rounded })
            }
            scalar => {
                let dtype = common_dtype("scalar", &[scalar.clone(), other.clone()])?;
                Tensor::scalar(scalar, Some(dtype))
            }
        }
    }

    /// Operands of one operation as tensors of the type in which they meet, each of its own shape.
    pub fn promoted(operands: &[Operand]) -> Result<Vec<Tensor>> {
        let dtype = common_dtype("promoted", operands)?;
        operands.iter().map(|one| Ok(Tensor::from_uop(one.in_type("promoted", dtype)?))).collect()
    }

    /// Operands of one operation as tensors, each of its own type; floats that are written as numbers or lists have the
    /// precision of the tensors beside them.
    pub fn together(operands: &[Operand]) -> Result<Vec<Tensor>> {
        let is_double =
            |one: &&Operand| matches!(one, Operand::Tensor(t) if [DType::F64, DType::C128].contains(&t.dtype()));
        let double = operands.iter().find(is_double);
        let made = |one: &Operand| match double {
            Some(other) => Tensor::beside(one.clone(), other),
            None => Ok(Tensor::from_uop(one.typed("together")?)),
        };
        operands.iter().map(made).collect()
    }

    /// One value everywhere, in this type or in the default type of its kind.
    pub fn full<S: Clone + Into<Size>>(shape: &[S], value: impl Into<Operand>, dtype: Option<DType>) -> Result<Tensor> {
        let shape = checked_shape("full", sizes(shape))?;
        Ok(Tensor::from_uop(Tensor::scalar(value, dtype)?.uop().expand(shape)?))
    }

    /// Zeros.
    pub fn zeros<S: Clone + Into<Size>>(shape: &[S], dtype: DType) -> Result<Tensor> {
        Tensor::full(shape, 0, Some(dtype))
    }

    /// Ones.
    pub fn ones<S: Clone + Into<Size>>(shape: &[S], dtype: DType) -> Result<Tensor> {
        Tensor::full(shape, 1, Some(dtype))
    }

    /// Memory for elements of this shape, which may be symbolic, to be given as input of a plan. As
    /// long as nothing is, they are arbitrary.
    pub fn empty<S: Clone + Into<Size>>(shape: &[S], dtype: DType, values: &[BoundVariable]) -> Result<Tensor> {
        Tensor::empty_on(&DeviceSpec::CPU, shape, dtype, values)
    }

    /// [`Tensor::empty`] on another device.
    pub fn empty_on<S: Clone + Into<Size>>(
        device: &DeviceSpec,
        shape: &[S],
        dtype: DType,
        values: &[BoundVariable],
    ) -> Result<Tensor> {
        let shape = checked_shape("empty", sizes(shape))?;
        let buffer = Tensor::reserved("empty", device, &shape, dtype)?;
        let class = if device.is_disk() { LeafClass::File } else { LeafClass::Data };
        Ok(Tensor::from_uop(bound_leaf(buffer, class, shape, values)?))
    }

    /// What a function is traced with in place of this argument, from its `slot`-th on: an input of the plan
    /// that is made of it, without a value until then. It is spread over devices as the argument is, and takes
    /// as many slots as there are parts.
    pub fn placeholder_for(&self, shape: &[Size], slot: u32, trace: &Trace) -> Result<Tensor> {
        let Some(of) = self.sharding() else {
            // What a plan is given of a file lies on the CPU.
            let device = Some(self.device()).filter(|device| !device.is_file()).unwrap_or_else(Device::host);
            return Tensor::placeholder(&device.name().parse()?, shape, self.dtype(), slot, trace);
        };
        let of = match of.split() {
            Some(split) if shape.get(split.axis) != Some(&split.extent()) => even_cut(&of, shape.get(split.axis))
                .ok_or_else(|| {
                    let parts = "the parts of an axis whose extent is declared differ by at most 1, as `shard` cuts it";
                    let message = format!("shape {} for what is spread over {of}; {parts}", show(shape));
                    TensorError::shape("placeholder", message)
                })?,
            _ => of,
        };
        let part = |(i, device): (usize, &Device)| -> Result<UOp> {
            let shape = of.part_shape(shape, i);
            let slot = slot + i as u32;
            Ok(Tensor::placeholder(&device.name().parse()?, &shape, self.dtype(), slot, trace)?.uop())
        };
        let parts = of.devices().iter().enumerate().map(part).collect::<Result<Vec<_>>>()?;
        Ok(Tensor::from_uop(UOp::multi(&parts, &of)?))
    }

    /// What a function is traced with in place of its `slot`-th argument: an input of the plan that
    /// is made of it, without a value until then.
    pub fn placeholder<S: Clone + Into<Size>>(
        device: &DeviceSpec,
        shape: &[S],
        dtype: DType,
        slot: u32,
        trace: &Trace,
    ) -> Result<Tensor> {
        let shape = checked_shape("placeholder", sizes(shape))?;
        let buffer = Tensor::reserved("placeholder", device, &shape, dtype)?;
        let memory = Memory::new(buffer, LeafClass::Input(slot)).of_trace(trace.number());
        Ok(Tensor::from_uop(UOp::leaf(Leaf::new(Arc::new(memory), 0, dtype, shape))?))
    }

    /// Memory for a shape at its variables' maxima.
    fn reserved(op: &'static str, device: &DeviceSpec, shape: &[Size], dtype: DType) -> Result<Arc<Buffer>> {
        let count = if shape.contains(&Size::ZERO) { Size::ZERO } else { shape.iter().product() };
        let most = count
            .upper_bound()
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| TensorError::shape(op, format!("{count} elements have no upper bound")))?;
        let device = Context::global().devices().get(device)?;
        Ok(Arc::new(Buffer::new(device.allocator(), dtype, most)?))
    }

    /// [`Tensor::full_like`] in place of this tensor: by what this one follows from, its derivative is 0.
    ///
    /// # Errors
    /// Those of [`Tensor::full_like`].
    pub fn filled(&self, value: impl Into<Operand>) -> Result<Tensor> {
        let (made, old) = (self.full_like(value)?, self.uop());
        match old.is_watched() && grad_enabled() {
            true => Ok(Tensor::from_uop(following("fill_", &made.uop(), &[old])?)),
            false => Ok(made),
        }
    }

    /// One value in this tensor's shape and type, where this tensor is.
    pub fn full_like(&self, value: impl Into<Operand>) -> Result<Tensor> {
        Tensor::full(&self.shape(), value, Some(self.dtype()))?.placed_like(self)
    }

    /// The numbers from `start` on in steps of `step`, before `stop`; integers unless one of them
    /// is a float or a type is given.
    pub fn arange(start: Operand, stop: Operand, step: Operand, dtype: Option<DType>) -> Result<Tensor> {
        let op = "arange";
        let whole = |o: &Operand| match *o {
            Operand::Int(i) => i64::try_from(i).ok(),
            _ => None,
        };
        if let (Some(first), Some(last), Some(step)) = (start.size(), stop.size(), whole(&step))
            && (first.as_const().is_none() || last.as_const().is_none())
        {
            let distance = if step > 0 { last - first } else { first - last };
            let count = match step {
                0 => return Err(TensorError::value(op, "the step must not be 0")),
                _ => distance.ceil_div(step.saturating_abs()).max(0),
            };
            let numbers =
                Tensor::from_uop(UOp::range(count)?).with_values(&[start.values(), stop.values()].concat())?;
            return progression(numbers, start, step)?.cast(dtype.unwrap_or(DEFAULT_INT));
        }
        if let (Some(start), Some(stop), Some(step)) = (whole(&start), whole(&stop), whole(&step)) {
            let distance = i128::from(stop) - i128::from(start);
            let count = match step {
                0 => return Err(TensorError::value(op, "the step must not be 0")),
                _ => (distance + i128::from(step) - i128::from(step.signum())) / i128::from(step),
            };
            let count = i64::try_from(count.max(0)).map_err(|_| TensorError::value(op, "too many elements"))?;
            let numbers = progression(Tensor::from_uop(UOp::range(count)?), start.into(), step)?;
            return numbers.cast(dtype.unwrap_or(DEFAULT_INT));
        }
        let number = |o: &Operand| match *o {
            Operand::Int(i) => Ok(i as f64),
            Operand::Float(f) if f.is_finite() => Ok(f),
            _ => Err(TensorError::value(op, "takes finite numbers")),
        };
        let (start, stop, step) = (number(&start)?, number(&stop)?, number(&step)?);
        if step == 0.0 {
            return Err(TensorError::value(op, "the step must not be 0"));
        }
        let count = ((stop - start) / step).ceil().max(0.0);
        if count >= i64::MAX as f64 {
            return Err(TensorError::value(op, format!("{count} elements are too many")));
        }
        let numbers = Tensor::from_uop(UOp::range(count as i64)?).cast(DType::F64)?;
        numbers.mul(step)?.add(start)?.cast(dtype.unwrap_or(DEFAULT_FLOAT))
    }

    /// `count` numbers at equal distances from `start` to `stop`, both included; a single one is `start`.
    pub fn linspace(start: f64, stop: f64, count: impl Into<Size>, dtype: Option<DType>) -> Result<Tensor> {
        let count = count.into();
        checked_shape("linspace", vec![count.clone()])?;
        let step = match count.as_const() {
            Some(0 | 1) => Tensor::scalar(0.0, Some(DType::F64))?,
            Some(count) => Tensor::scalar((stop - start) / (count - 1) as f64, Some(DType::F64))?,
            None => {
                let steps = Tensor::from_uop(size_value(&(&count - 1).max(1))?);
                Tensor::scalar(stop - start, Some(DType::F64))?.div(steps.cast(DType::F64)?)?
            }
        };
        let index = Tensor::from_uop(UOp::range(count.clone())?);
        let numbers = index.cast(DType::F64)?.mul(step)?.add(start)?;
        // The last number is `stop` to the bit, unless it is the first one.
        let last = index.eq(&count - 1)?;
        let last = if count.bounds().0 > 1 { last } else { last.logical_and(index.gt(0)?)? };
        Tensor::select(&last, stop, numbers)?.cast(dtype.unwrap_or(DEFAULT_FLOAT))
    }

    /// `count` numbers at equal distances from `start` to before `stop`.
    pub fn linspace_open(start: f64, stop: f64, count: impl Into<Size>, dtype: Option<DType>) -> Result<Tensor> {
        let count = count.into();
        checked_shape("linspace", vec![count.clone()])?;
        Tensor::linspace(start, stop, &count + 1, dtype)?.narrow(0, 0, count)
    }

    /// Ones on the diagonal, zeros elsewhere.
    pub fn eye(rows: impl Into<Size>, columns: impl Into<Size>, dtype: DType) -> Result<Tensor> {
        Tensor::eye_at(rows, columns, 0, dtype)
    }

    /// Ones on a diagonal, which is so far to the right of the main one, zeros elsewhere.
    pub fn eye_at(rows: impl Into<Size>, columns: impl Into<Size>, diagonal: i64, dtype: DType) -> Result<Tensor> {
        let (rows, columns) = (rows.into(), columns.into());
        let shape: svod_ir::graph::Shape = [rows.clone(), columns.clone()].into();
        let row = Tensor::from_uop(UOp::range(rows.clone())?).add(diagonal)?.uop();
        let row = row.reshape([rows, Size::ONE])?.expand(shape.clone())?;
        let column = UOp::range(columns)?.expand(shape)?;
        Ok(Tensor::from_uop(UOp::alu(Alu::Eq, &[row, column])?.cast(dtype)?))
    }

    /// A size as a 0-d `int64`.
    pub fn from_size(size: impl Into<Size>) -> Result<Tensor> {
        Ok(Tensor::from_uop(size_value(&size.into())?))
    }

    /// A variable's value for this run as a 0-d `int64`.
    pub fn from_bound(variable: BoundVariable) -> Result<Tensor> {
        Ok(Tensor::from_uop(UOp::bind(variable)?))
    }

    /// The tensors of a safetensors file by name: its own pages, which are read when used, and which nothing is to write
    /// as long as they are in use. What is computed from them is of its own, as is a copy.
    pub fn load_safetensors(path: impl AsRef<Path>) -> Result<BTreeMap<String, Tensor>> {
        let file = Safetensors::open(path)?;
        let tensors = file.iter().map(|(name, view)| {
            let buffer = Arc::new(view.to_device(host()?.allocator())?);
            // Else it is a copy.
            let class = if buffer.storage().is_borrowed() { LeafClass::File } else { LeafClass::Data };
            Ok((name.to_owned(), Tensor::from_buffer(buffer, class, &view.shape)?))
        });
        tensors.collect()
    }

    /// One constant, 0-d.
    pub fn constant(value: Const) -> Result<Tensor> {
        Ok(Tensor::from_uop(UOp::constant(value)?))
    }
}

/// `start + step * n` of numbers `n`.
fn progression(numbers: Tensor, start: Operand, step: i64) -> Result<Tensor> {
    let steps = if step == 1 { numbers } else { numbers.mul(step)? };
    if matches!(start, Operand::Int(0)) { Ok(steps) } else { steps.add(start) }
}

fn too_large(op: &'static str, shape: &[usize]) -> TensorError {
    TensorError::shape(op, format!("the number of bytes of {shape:?} overflows"))
}

pub(crate) fn count_of(op: &'static str, shape: &[usize]) -> Result<usize> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape.iter().try_fold(1usize, |n, s| n.checked_mul(*s)).ok_or_else(|| too_large(op, shape))
}

fn check_bytes(op: &'static str, given: usize, dtype: DType, shape: &[usize]) -> Result<()> {
    let expected = count_of(op, shape)?.checked_mul(dtype.bytes()).ok_or_else(|| too_large(op, shape))?;
    match given == expected {
        true => Ok(()),
        false => {
            let message = format!("{given} bytes were given for {dtype}{shape:?}, which has {expected}");
            Err(TensorError::shape(op, message))
        }
    }
}
