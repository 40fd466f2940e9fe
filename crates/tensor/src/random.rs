//! Values drawn from the counter-based generator.
//!
//! Key and offset are drawn when the tensor is created and are part of it, as memory: realizing it
//! twice gives the same values. They are drawn where the configuration says, else where they are used, and all random
//! tensors of one shape share one schedule. In a traced function they are inputs of its plan, and each call draws
//! them ([`Draws`]): it gives the numbers that the function would give if it were called.

use std::cell::RefCell;
use std::f64::consts;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use svod_dtype::{DEFAULT_FLOAT, DEFAULT_INT, DType};
use svod_ir::graph::UOp;
use svod_ir::size::Size;
use svod_runtime::PrepareConfig;

use crate::error::{Result, TensorError};
use crate::movement::part;
use crate::operand::{checked_shape, sizes};
use crate::tensor::Tensor;
use crate::trace::Trace;

/// Starts the default generator anew, so that what is drawn from here on can be repeated. In a traced function each call
/// does.
pub fn manual_seed(seed: u64) {
    DEFAULT.set_state(State { key: seed, offset: 0 });
}

/// A source of random numbers. Its clones are the same source.
#[derive(Clone, Debug)]
pub struct Generator(Arc<Mutex<State>>);

/// What the numbers that a generator gives next follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// What it was started with.
    pub key: u64,
    /// Number of the first element that is not drawn yet.
    pub offset: u64,
}

static DEFAULT: LazyLock<Generator> = LazyLock::new(Generator::unseeded);

thread_local! {
    /// What this thread draws from, where a scope says so.
    static CURRENT: RefCell<Option<Generator>> = const { RefCell::new(None) };
}

impl Generator {
    /// A generator whose numbers follow from a seed.
    pub fn new(seed: u64) -> Generator {
        Generator(Arc::new(Mutex::new(State { key: seed, offset: 0 })))
    }

    /// A generator whose numbers nobody can know before.
    pub fn unseeded() -> Generator {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
        let many = COUNT.fetch_add(1, Ordering::Relaxed).rotate_left(48);
        Generator::new(now ^ u64::from(std::process::id()).rotate_left(32) ^ many)
    }

    /// Draws from this generator within a function, on this thread.
    pub fn within<R>(&self, draw: impl FnOnce() -> R) -> R {
        struct Scope(Option<Generator>);
        impl Drop for Scope {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _scope = Scope(CURRENT.replace(Some(self.clone())));
        draw()
    }

    /// The state, by which later numbers can be repeated.
    ///
    /// # Errors
    /// In a traced function, whose calls have states of their own.
    pub fn state(&self) -> Result<State> {
        match Trace::is_traced_here() {
            true => Err(TensorError::value("get_state", "a traced function has no state of a generator to look at")),
            false => Ok(*self.0.lock()),
        }
    }

    /// Goes on from a state. In a traced function each call does.
    pub fn set_state(&self, state: State) {
        if !Trace::set_generator(self, state) {
            *self.0.lock() = state;
        }
    }

    fn current() -> Generator {
        CURRENT.with_borrow(Clone::clone).unwrap_or_else(|| DEFAULT.clone())
    }
}

impl State {
    /// The state before as many elements are drawn.
    fn draw(&mut self, count: u64) -> State {
        let before = *self;
        self.offset = before.offset.wrapping_add(count);
        before
    }

    /// What random bits are computed from: 2 numbers of `U64`.
    fn bytes(self) -> Vec<u8> {
        [self.key.to_le_bytes(), self.offset.to_le_bytes()].concat()
    }
}

/// What a traced function does with generators: steps, which each call takes, those of a generator as one.
#[derive(Clone, Debug, Default)]
pub struct Draws(Vec<(Generator, Step)>);

#[derive(Clone, Copy, Debug)]
enum Step {
    Draw(u64),
    Set(State),
}

impl Draws {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the steps, and gives what each draw gets, 2 numbers of `U64`, and what takes the steps back.
    pub fn take(&self) -> Result<(Vec<Tensor>, Taken)> {
        let mut drawn = Vec::with_capacity(self.0.len());
        let mut taken = Taken::default();
        for steps in self.0.chunk_by(|(a, _), (b, _)| Arc::ptr_eq(&a.0, &b.0)) {
            let mut generator = steps[0].0.0.lock();
            let before = *generator;
            for (_, step) in steps {
                match *step {
                    Step::Draw(count) => drawn.push(generator.draw(count)),
                    Step::Set(state) => *generator = state,
                }
            }
            taken.0.push((steps[0].0.clone(), before, *generator));
        }
        let states = drawn.into_iter().map(|state| Tensor::from_bytes(&state.bytes(), DType::U64, &[2]));
        Ok((states.collect::<Result<_>>()?, taken))
    }

    pub(crate) fn draw(&mut self, generator: &Generator, count: u64) {
        self.0.push((generator.clone(), Step::Draw(count)));
    }

    pub(crate) fn set(&mut self, generator: &Generator, state: State) {
        self.0.push((generator.clone(), Step::Set(state)));
    }
}

/// What a call has done with generators: each with its state before and after that.
#[derive(Debug, Default)]
pub struct Taken(Vec<(Generator, State, State)>);

impl Taken {
    /// Lets the generators be as they were before a call that failed, but for those that others have drawn from since.
    pub fn undo(&self) {
        for (generator, before, after) in self.0.iter().rev() {
            let mut now = generator.0.lock();
            if *now == *after {
                *now = *before;
            }
        }
    }
}

impl Tensor {
    /// The state of the generator, of which follows what is drawn next: 2 numbers of `U64`. In a traced function it is that of
    /// each call.
    pub fn generator_state() -> Result<Tensor> {
        generator_state(0)?.kept()
    }

    /// Has the generator go on from the state that this is, in a traced function in each call.
    ///
    /// # Errors
    /// What is not 2 numbers of `U64`.
    pub fn set_generator_state(&self) -> Result<()> {
        let op = "set_rng_state";
        if self.dtype() != DType::U64 || self.shape() != [2.into()] {
            return Err(TensorError::value(op, format!("a state is uint64[2], not {}", self.described())));
        }
        if let [key, offset] = self.to_vec::<u64>()?[..] {
            DEFAULT.set_state(State { key, offset });
        }
        Ok(())
    }

    /// Uniformly distributed in [0, 1); of complex numbers, each part.
    pub fn rand<S: Clone + Into<Size>>(shape: &[S], dtype: Option<DType>) -> Result<Tensor> {
        if let Some(part) = part_of(dtype) {
            return Tensor::complex(Tensor::rand(shape, Some(part))?, Tensor::rand(shape, Some(part))?);
        }
        let (dtype, carried) = float("rand", dtype)?;
        uniform(draw("rand", sizes(shape), carried)?, carried, dtype)?.cast(dtype)
    }

    /// Normally distributed with mean 0 and deviation 1 (Box and Muller 1958); of complex numbers, each part has half the
    /// variance.
    pub fn randn<S: Clone + Into<Size>>(shape: &[S], dtype: Option<DType>) -> Result<Tensor> {
        if let Some(part) = part_of(dtype) {
            let half = || Tensor::randn(shape, Some(part))?.mul(consts::FRAC_1_SQRT_2);
            return Tensor::complex(half()?, half()?);
        }
        let (dtype, carried) = float("randn", dtype)?;
        let shape = sizes(shape);
        let pair = uniform(draw("randn", [&[2.into()], &*shape].concat(), carried)?, carried, carried)?;
        let part = |i: i64| pair.narrow(0, i, 1)?.reshape(&shape);
        // In (0, 1], whose logarithm is finite.
        let radius = part(0)?.rsub(1)?.log()?.mul(-2)?.sqrt()?;
        radius.mul(part(1)?.mul(consts::TAU)?.cos()?)?.cast(dtype)
    }

    /// Integers uniformly distributed in `low..high`, at most 2^32 of them; in a type of floats, the nearest ones.
    ///
    /// # Errors
    /// Of a range that is empty, larger, or outside of the type's; of a type that is not one of real numbers.
    pub fn randint<S: Clone + Into<Size>>(low: i64, high: i64, shape: &[S], dtype: Option<DType>) -> Result<Tensor> {
        let (op, dtype) = ("randint", dtype.unwrap_or(DEFAULT_INT));
        let span = i128::from(high) - i128::from(low);
        if span < 1 {
            return Err(TensorError::value(op, format!("{low}..{high} holds no integer")));
        }
        if !dtype.is_int() && !dtype.is_float() {
            return Err(TensorError::dtype(op, format!("gives integers, not {dtype}")));
        }
        let range = dtype.int_range().filter(|_| dtype.is_int());
        if let Some((least, most)) = range
            && (i128::from(low) < least || i128::from(high) - 1 > most)
        {
            return Err(TensorError::value(op, format!("{low}..{high} is outside of {dtype}'s {least}..={most}")));
        }
        // The high half of bits * span is in 0..span, uniform up to span / 2^32, or / 2^64.
        let above = if span <= 1 << 32 {
            draw(op, sizes(shape), DType::F32)?.cast(DType::U64)?.mul(span)?.shr(32)?
        } else {
            high_half(&draw(op, sizes(shape), DType::F64)?, span)?
        };
        above.cast(DType::I64)?.add(low)?.cast(dtype)
    }

    /// Uniformly distributed in [low, high).
    pub fn uniform<S: Clone + Into<Size>>(shape: &[S], low: f64, high: f64, dtype: Option<DType>) -> Result<Tensor> {
        Tensor::rand(shape, dtype)?.mul(high - low)?.add(low)
    }

    /// Normally distributed.
    pub fn normal<S: Clone + Into<Size>>(
        shape: &[S],
        mean: f64,
        deviation: f64,
        dtype: Option<DType>,
    ) -> Result<Tensor> {
        Tensor::randn(shape, dtype)?.mul(deviation)?.add(mean)
    }
}

/// The high 64 of the 128 bits of the products of 64-bit numbers and one: long multiplication in halves.
fn high_half(bits: &Tensor, by: i128) -> Result<Tensor> {
    const LOW: i128 = 0xffff_ffff;
    let (high, low) = (bits.shr(32)?, bits.bitwise_and(LOW)?);
    let (by_high, by_low) = (by >> 32, by & LOW);
    let across = [high.mul(by_low)?, low.mul(by_high)?];
    let carried = low.mul(by_low)?.shr(32)?;
    let carried = carried.add(across[0].bitwise_and(LOW)?)?.add(across[1].bitwise_and(LOW)?)?.shr(32)?;
    high.mul(by_high)?.add(across[0].shr(32)?)?.add(across[1].shr(32)?)?.add(carried)
}

/// The type of a complex type's parts.
fn part_of(dtype: Option<DType>) -> Option<DType> {
    dtype.filter(|dtype| dtype.is_complex()).map(DType::real)
}

fn float(op: &'static str, dtype: Option<DType>) -> Result<(DType, DType)> {
    let dtype = dtype.unwrap_or(DEFAULT_FLOAT);
    match dtype {
        DType::F64 => Ok((dtype, DType::F64)),
        _ if dtype.is_float() => Ok((dtype, DType::F32)),
        _ => Err(TensorError::dtype(op, format!("gives floats, not {dtype}"))),
    }
}

/// Random bits: 32 for each element, or 64 for those of `F64`.
fn draw(op: &'static str, shape: Vec<Size>, carried: DType) -> Result<Tensor> {
    let shape = checked_shape(op, shape)?;
    let words = if carried == DType::F64 { 2 } else { 1 };
    let drawn: Vec<Size> = if words == 2 { [&[2.into()], &*shape].concat() } else { shape.to_vec() };
    let count = drawn.iter().product::<Size>();
    let Some(most) = count.upper_bound() else {
        return Err(TensorError::shape(op, format!("{count} elements have no upper bound")));
    };
    let state = generator_state(most.max(0) as u64)?.uop();
    let word = |i: usize| part(&state, 0, i.into(), (i + 1).into()).and_then(|w| Ok(w.reshape([])?));
    let bits = UOp::rand(&word(0)?, &word(1)?, drawn.into())?;
    if words == 1 {
        return Ok(Tensor::from_uop(bits));
    }
    let wide = Tensor::from_uop(bits).cast(DType::U64)?;
    let half = |i: i64| wide.narrow(0, i, 1)?.reshape(&shape);
    half(0)?.shl(32)?.bitwise_or(half(1)?)
}

/// The state before as many elements are drawn: 2 numbers of `U64`.
fn generator_state(count: u64) -> Result<Tensor> {
    let (device, generator) = (PrepareConfig::of_reads().device.clone(), Generator::current());
    if let Some(input) = Trace::draw(&generator, count, device.as_ref())? {
        return Ok(input);
    }
    let bytes = generator.0.lock().draw(count).bytes();
    match device {
        Some(device) => Tensor::from_bytes_on(&device, &bytes, DType::U64, &[2]),
        None => Tensor::literal(&bytes, DType::U64, &[2]),
    }
}

/// Bits as floats in [0, 1): as many leading ones as the significand of `dtype` holds, so that rounding to it does not
/// give 1.
fn uniform(bits: Tensor, carried: DType, dtype: DType) -> Result<Tensor> {
    let held = svod_dtype::float::significand(dtype).expect("the type of random floats is a float");
    let drawn = if carried == DType::F64 { 64 } else { 32 };
    bits.shr(drawn - i64::from(held))?.cast(carried)?.mul((-f64::from(held)).exp2())
}
