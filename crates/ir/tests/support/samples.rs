//! Kernels written by hand, used by tests and proofs of several crates.
//!
//! Each takes its sizes as [`Size`]s, whose variables become the kernel's, and says which buffer
//! arguments it has, in order; outputs come last.

// No file of tests has use for all of them.
#![allow(dead_code)]

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem, ParamId, TempId};
use svod_ir::kernel::{Axis, AxisId, Body, Carry, Emit, Kernel, Monoid, Out, Param, Stage};
use svod_ir::size::{Size, Variable};

const F32: DType = DType::F32;

/// Builds a kernel stage by stage.
struct Builder(Kernel);

impl Builder {
    fn new(name: &str) -> Self {
        Builder(Kernel { name: name.to_owned(), ..Kernel::default() })
    }

    fn axis(&mut self, name: &str, extent: &Size) -> AxisId {
        let largest = extent.bounds().1.saturating_sub(1).max(0);
        let var = Variable::internal(name, 0, largest).expect("samples name their axes by letters");
        self.0.vars.extend(extent.variables());
        self.0.vars.sort();
        self.0.vars.dedup();
        self.0.axes.push(Axis { var, extent: extent.clone() });
        AxisId(self.0.axes.len() as u32 - 1)
    }

    /// A buffer argument over some axes.
    fn param(&mut self, dtype: DType, axes: &[AxisId]) -> ParamId {
        let shape = axes.iter().map(|a| self.0.axes[a.index()].extent.clone()).collect();
        self.0.params.push(Param { dtype, shape, constant: false });
        ParamId(self.0.params.len() as u32 - 1)
    }

    fn point(&mut self, axes: &[AxisId]) -> Vec<ExprId> {
        axes.iter().map(|a| self.0.exprs.index(&self.0.axes[a.index()].var)).collect()
    }

    fn read(&mut self, param: ParamId, axes: &[AxisId]) -> ExprId {
        let index = self.point(axes);
        self.0.exprs.load(self.0.params[param.index()].dtype, Mem::Param(param), &index)
    }

    fn temp(&mut self, stage: TempId, field: u8, axes: &[AxisId]) -> ExprId {
        let index = self.point(axes);
        let value = self.0.stages[stage.index()].body.values()[usize::from(field)];
        self.0.exprs.load(self.0.exprs.dtype(value), Mem::Temp(stage, field), &index)
    }

    fn op(&mut self, op: Alu, args: &[ExprId]) -> ExprId {
        self.0.exprs.alu(op, args)
    }

    fn float(&mut self, value: f64) -> ExprId {
        self.0.exprs.constant(Const::f64(F32, value))
    }

    fn size(&mut self, size: &Size) -> ExprId {
        let index = self.0.exprs.index(size);
        self.0.exprs.cast(F32, index)
    }

    fn node(&mut self, node: Expr, dtype: DType) -> ExprId {
        self.0.exprs.add(node, dtype)
    }

    /// The elements of some axes of a buffer argument as destination.
    fn to(&mut self, param: ParamId, axes: &[AxisId]) -> Out {
        Out::Param { param, index: self.point(axes) }
    }

    fn stage(&mut self, name: &str, over: &[AxisId], body: Body, outs: Vec<Out>) -> TempId {
        self.0.stages.push(Stage { name: name.to_owned(), over: over.to_vec(), body, outs });
        TempId(self.0.stages.len() as u32 - 1)
    }

    /// A reduction to one value, which is the first carry.
    fn reduce(&mut self, name: &str, over: &[AxisId], axis: AxisId, op: Monoid, element: ExprId) -> TempId {
        let dtype = self.0.exprs.dtype(element);
        let results = vec![self.node(Expr::Carry(0, dtype), dtype)];
        let carries = vec![Carry { dtype, element, op, fix: None }];
        let body = Body::Reduce { axes: vec![axis], carries, emit: Emit::Last, results };
        self.stage(name, over, body, vec![Out::Temp])
    }

    /// The carries of an online softmax over `score`: the running maximum m; the sum of
    /// p = exp(score - m), rescaled as m moves; and, for each of `values`, the sum of p times it.
    ///
    /// A score of -inf weighs 0 even while m is -inf itself.
    fn online_softmax(&mut self, score: ExprId, values: &[ExprId]) -> Vec<Carry> {
        let (old, new) = (self.node(Expr::Old(0, F32), F32), self.node(Expr::New(0, F32), F32));
        let moved = self.op(Alu::Sub, &[old, new]);
        let fix = Some(self.op(Alu::Exp, &[moved]));
        let below = self.op(Alu::Sub, &[score, new]);
        let (power, zero, least) = (self.op(Alu::Exp, &[below]), self.float(0.0), self.float(f64::NEG_INFINITY));
        let masked = self.op(Alu::Eq, &[score, least]);
        let weight = self.op(Alu::Where, &[masked, zero, power]);
        let mut carries = vec![
            Carry { dtype: F32, element: score, op: Monoid::Max, fix: None },
            Carry { dtype: F32, element: weight, op: Monoid::Sum, fix },
        ];
        for value in values {
            let element = self.op(Alu::Mul, &[weight, *value]);
            carries.push(Carry { dtype: F32, element, op: Monoid::Sum, fix });
        }
        carries
    }
}

/// `out[i, j] = exp(x[i, j] - max x[i]) / sum exp(x[i] - max x[i])`, in three stages `peak`,
/// `total`, `out`. Arguments: x, out: `f32[rows, cols]`.
pub fn softmax(rows: &Size, cols: &Size) -> Kernel {
    softmax_of("softmax", rows, cols, false)
}

/// As [`softmax`] over the first dimension. Arguments: x, out: `f32[cols, rows]`.
pub fn softmax_columns(rows: &Size, cols: &Size) -> Kernel {
    softmax_of("softmax_columns", rows, cols, true)
}

fn softmax_of(name: &str, rows: &Size, cols: &Size, columns: bool) -> Kernel {
    let mut b = Builder::new(name);
    let (i, j) = (b.axis("i", rows), b.axis("j", cols));
    let point = if columns { [j, i] } else { [i, j] };
    let (x, out) = (b.param(F32, &point), b.param(F32, &point));
    let value = b.read(x, &point);
    let peak = b.reduce("peak", &[i], j, Monoid::Max, value);
    let peak = b.temp(peak, 0, &[i]);
    let below = b.op(Alu::Sub, &[value, peak]);
    let power = b.op(Alu::Exp, &[below]);
    let total = b.reduce("total", &[i], j, Monoid::Sum, power);
    let total = b.temp(total, 0, &[i]);
    let quotient = b.op(Alu::Div, &[power, total]);
    let to = b.to(out, &point);
    b.stage("out", &point, Body::map(quotient), vec![to]);
    b.0
}

/// `out[i, j] = x[i, j] + y[j, i]`. Arguments: x: `f32[rows, cols]`, y: `f32[cols, rows]`, out: `f32[rows, cols]`.
pub fn add_transposed(rows: &Size, cols: &Size) -> Kernel {
    let mut b = Builder::new("add_transposed");
    let (i, j) = (b.axis("i", rows), b.axis("j", cols));
    let (x, y, out) = (b.param(F32, &[i, j]), b.param(F32, &[j, i]), b.param(F32, &[i, j]));
    let (left, right) = (b.read(x, &[i, j]), b.read(y, &[j, i]));
    let sum = b.op(Alu::Add, &[left, right]);
    let to = b.to(out, &[i, j]);
    b.stage("out", &[i, j], Body::map(sum), vec![to]);
    b.0
}

/// As [`softmax`], with maximum and sum in one reduction, `stats` (Milakov and Gimelshein 2018).
pub fn online_softmax(rows: &Size, cols: &Size) -> Kernel {
    let mut b = Builder::new("online_softmax");
    let (i, j) = (b.axis("i", rows), b.axis("j", cols));
    let (x, out) = (b.param(F32, &[i, j]), b.param(F32, &[i, j]));
    let value = b.read(x, &[i, j]);
    let carries = b.online_softmax(value, &[]);
    let results = vec![b.node(Expr::Carry(0, F32), F32), b.node(Expr::Carry(1, F32), F32)];
    let body = Body::Reduce { axes: vec![j], carries, emit: Emit::Last, results };
    let stats = b.stage("stats", &[i], body, vec![Out::Temp, Out::Temp]);
    let (peak, total) = (b.temp(stats, 0, &[i]), b.temp(stats, 1, &[i]));
    let below = b.op(Alu::Sub, &[value, peak]);
    let power = b.op(Alu::Exp, &[below]);
    let quotient = b.op(Alu::Div, &[power, total]);
    let to = b.to(out, &[i, j]);
    b.stage("out", &[i, j], Body::map(quotient), vec![to]);
    b.0
}

/// `out[i, j] = (x[i, j] - mean x[i]) / sqrt(var x[i] + 1e-5) * gain[j] + bias[j]`, in stages
/// `mean`, `variance`, `out`. Arguments: x: `f32[rows, cols]`, gain, bias: `f32[cols]`, out.
pub fn layernorm(rows: &Size, cols: &Size) -> Kernel {
    let mut b = Builder::new("layernorm");
    let (i, j) = (b.axis("i", rows), b.axis("j", cols));
    let (x, gain, bias) = (b.param(F32, &[i, j]), b.param(F32, &[j]), b.param(F32, &[j]));
    let out = b.param(F32, &[i, j]);
    let (value, count) = (b.read(x, &[i, j]), b.size(cols));
    let sum = b.reduce("mean", &[i], j, Monoid::Sum, value);
    let sum = b.temp(sum, 0, &[i]);
    let mean = b.op(Alu::Div, &[sum, count]);
    let centred = b.op(Alu::Sub, &[value, mean]);
    let square = b.op(Alu::Mul, &[centred, centred]);
    let squares = b.reduce("variance", &[i], j, Monoid::Sum, square);
    let squares = b.temp(squares, 0, &[i]);
    let variance = b.op(Alu::Div, &[squares, count]);
    let epsilon = b.float(1e-5);
    let shifted = b.op(Alu::Add, &[variance, epsilon]);
    let deviation = b.op(Alu::Sqrt, &[shifted]);
    let normal = b.op(Alu::Div, &[centred, deviation]);
    let (gain, bias) = (b.read(gain, &[j]), b.read(bias, &[j]));
    let result = b.op(Alu::MulAdd, &[normal, gain, bias]);
    let to = b.to(out, &[i, j]);
    b.stage("out", &[i, j], Body::map(result), vec![to]);
    b.0
}

/// Mean and population variance of each row in one reduction, `moments` (Welford 1962). Arguments:
/// x: `f32[rows, cols]`, mean, variance: `f32[rows]`.
pub fn mean_variance(rows: &Size, cols: &Size) -> Kernel {
    let mut b = Builder::new("mean_variance");
    let (i, j) = (b.axis("i", rows), b.axis("j", cols));
    let (x, mean, variance) = (b.param(F32, &[i, j]), b.param(F32, &[i]), b.param(F32, &[i]));
    let element = b.read(x, &[i, j]);
    let carries = vec![Carry { dtype: F32, element, op: Monoid::Welford, fix: None }; 3];
    let [count, average, squares] = [0, 1, 2].map(|n| b.node(Expr::Carry(n, F32), F32));
    let results = vec![average, b.op(Alu::Div, &[squares, count])];
    let outs = vec![b.to(mean, &[i]), b.to(variance, &[i])];
    let body = Body::Reduce { axes: vec![j], carries, emit: Emit::Last, results };
    b.stage("moments", &[i], body, outs);
    b.0
}

/// Scaled dot-product attention per head: `softmax(q kᵀ / sqrt(depth)) v`, in stages `scores` and
/// `out`, the latter one reduction over the keys. With `causal`, query i of the last `queries` sees keys
/// up to its own place. Arguments: q: `f32[heads, queries, depth]`, k, v: `f32[heads, keys, depth]`,
/// out: `f32[heads, queries, depth]`.
pub fn attention(heads: &Size, queries: &Size, keys: &Size, depth: &Size, causal: bool) -> Kernel {
    let mut b = Builder::new("attention");
    let (h, i, j) = (b.axis("h", heads), b.axis("i", queries), b.axis("j", keys));
    let (d, c) = (b.axis("d", depth), b.axis("c", depth));
    let (q, k, v) = (b.param(F32, &[h, i, d]), b.param(F32, &[h, j, d]), b.param(F32, &[h, j, c]));
    let out = b.param(F32, &[h, i, c]);
    let (query, key) = (b.read(q, &[h, i, d]), b.read(k, &[h, j, d]));
    let product = b.op(Alu::Mul, &[query, key]);
    let dot = b.node(Expr::Carry(0, F32), F32);
    let depth = b.size(depth);
    let root = b.op(Alu::Sqrt, &[depth]);
    let mut score = b.op(Alu::Div, &[dot, root]);
    if causal {
        let [_, i, j, ..] = b.0.axes.as_slice() else { unreachable!("five axes were made above") };
        let (place, at) = (Size::from(&i.var) + (keys - queries), Size::from(&j.var));
        let (place, at) = (b.0.exprs.index(place), b.0.exprs.index(at));
        let (seen, least) = (b.op(Alu::Le, &[at, place]), b.float(f64::NEG_INFINITY));
        score = b.op(Alu::Where, &[seen, score, least]);
    }
    let carries = vec![Carry { dtype: F32, element: product, op: Monoid::Sum, fix: None }];
    let body = Body::Reduce { axes: vec![d], carries, emit: Emit::Last, results: vec![score] };
    let scores = b.stage("scores", &[h, i, j], body, vec![Out::Temp]);
    let (score, value) = (b.temp(scores, 0, &[h, i, j]), b.read(v, &[h, j, c]));
    let carries = b.online_softmax(score, &[value]);
    let (total, sum) = (b.node(Expr::Carry(1, F32), F32), b.node(Expr::Carry(2, F32), F32));
    let results = vec![b.op(Alu::Div, &[sum, total])];
    let to = b.to(out, &[h, i, c]);
    b.stage("out", &[h, i, c], Body::Reduce { axes: vec![j], carries, emit: Emit::Last, results }, vec![to]);
    b.0
}

/// Running sums along each row; with `exclusive`, of what comes before. Arguments:
/// x, out: `f32[rows, cols]`.
pub fn cumsum(rows: &Size, cols: &Size, exclusive: bool) -> Kernel {
    let mut b = Builder::new("cumsum");
    let (i, j) = (b.axis("i", rows), b.axis("j", cols));
    let (x, out) = (b.param(F32, &[i, j]), b.param(F32, &[i, j]));
    let element = b.read(x, &[i, j]);
    let carries = vec![Carry { dtype: F32, element, op: Monoid::Sum, fix: None }];
    let results = vec![b.node(Expr::Carry(0, F32), F32)];
    let emit = if exclusive { Emit::Exclusive } else { Emit::Inclusive };
    let to = b.to(out, &[i, j]);
    b.stage("out", &[i], Body::Reduce { axes: vec![j], carries, emit, results }, vec![to]);
    b.0
}

/// `out[i, j] = sum over k of a[i, k] * b[k, j], + bias[j]`, in stages `product` and `out`; with
/// `gelu`, that activation (through erf) on top. Arguments: a: `f32[m, k]`, b: `f32[k, n]`, constant,
/// bias: `f32[n]`, out: `f32[m, n]`.
pub fn matmul_bias(m: &Size, n: &Size, k: &Size, gelu: bool) -> Kernel {
    let mut b = Builder::new(if gelu { "matmul_bias_gelu" } else { "matmul_bias" });
    let (i, j, k) = (b.axis("i", m), b.axis("j", n), b.axis("k", k));
    let (left, right, bias) = (b.param(F32, &[i, k]), b.param(F32, &[k, j]), b.param(F32, &[j]));
    b.0.params[right.index()].constant = true;
    let out = b.param(F32, &[i, j]);
    let (left, right) = (b.read(left, &[i, k]), b.read(right, &[k, j]));
    let element = b.op(Alu::Mul, &[left, right]);
    let product = b.reduce("product", &[i, j], k, Monoid::Sum, element);
    let (product, bias) = (b.temp(product, 0, &[i, j]), b.read(bias, &[j]));
    let mut result = b.op(Alu::Add, &[product, bias]);
    if gelu {
        let (scale, one, half) = (b.float(std::f64::consts::FRAC_1_SQRT_2), b.float(1.0), b.float(0.5));
        let scaled = b.op(Alu::Mul, &[result, scale]);
        let erf = b.op(Alu::Erf, &[scaled]);
        let gate = b.op(Alu::Add, &[erf, one]);
        let halved = b.op(Alu::Mul, &[result, half]);
        result = b.op(Alu::Mul, &[halved, gate]);
    }
    let to = b.to(out, &[i, j]);
    b.stage("out", &[i, j], Body::map(result), vec![to]);
    b.0
}

/// One spatial dimension of a convolution.
#[derive(Clone, Copy, Debug)]
pub struct Slide {
    /// Points of the input.
    pub size: i64,
    /// Points of the window.
    pub taps: i64,
    /// Distance between windows.
    pub stride: i64,
    /// Zeros on either side.
    pub padding: i64,
    /// Distance between a window's points.
    pub dilation: i64,
}

impl Slide {
    /// A window that lies dense, without strides and padding.
    pub fn new(size: i64, taps: i64) -> Slide {
        Slide { size, taps, stride: 1, padding: 0, dilation: 1 }
    }

    /// Number of windows.
    pub fn windows(&self) -> i64 {
        (self.size + 2 * self.padding - self.dilation * (self.taps - 1) - 1) / self.stride + 1
    }
}

/// A convolution with bias and rectifier, in stages `conv` and `out`: `groups` groups of
/// `channels` to `filters` channels each, windows over `dims`. There is no axis of extent 1.
/// Arguments: x: `dtype[batch, groups * channels, size ...]`, weights: `dtype[groups * filters,
/// channels, taps ...]`, constant, bias: `f32[groups * filters]`, out: `f32[batch, groups * filters,
/// windows ...]`.
pub fn convolution(dtype: DType, batch: &Size, [groups, channels, filters]: [i64; 3], dims: &[Slide]) -> Kernel {
    let mut b = Builder::new("convolution");
    let mut over = Vec::new();
    let mut summed = Vec::new();
    // Where an axis stands: 0 where it has one point.
    let axis = |b: &mut Builder, list: &mut Vec<AxisId>, name: &str, extent: &Size| {
        if extent.as_const() == Some(1) {
            return Size::ZERO;
        }
        list.push(b.axis(name, extent));
        Size::from(&b.0.axes[list[list.len() - 1].index()].var)
    };
    let size = |n: i64| Size::from(n);
    let n = axis(&mut b, &mut over, "n", batch);
    let g = axis(&mut b, &mut over, "g", &size(groups));
    let o = axis(&mut b, &mut over, "o", &size(filters));
    let mut at = Vec::new();
    let letter = |d: usize| ["x", "y", "z"][dims.len() - 1 - d];
    for (d, s) in dims.iter().enumerate() {
        at.push(axis(&mut b, &mut over, letter(d), &size(s.windows())));
    }
    let c = axis(&mut b, &mut summed, "c", &size(channels));
    let mut taps = Vec::new();
    for (d, s) in dims.iter().enumerate() {
        taps.push(axis(&mut b, &mut summed, &format!("k{}", letter(d)), &size(s.taps)));
    }
    let mut param = |dtype, shape: Vec<Size>, constant| {
        b.0.params.push(Param { dtype, shape, constant });
        ParamId(b.0.params.len() as u32 - 1)
    };
    let sizes = |of: &dyn Fn(&Slide) -> i64| dims.iter().map(|s| size(of(s))).collect::<Vec<_>>();
    let x = param(dtype, [vec![batch.clone(), size(groups * channels)], sizes(&|s| s.size)].concat(), false);
    let weights = param(dtype, [vec![size(groups * filters), size(channels)], sizes(&|s| s.taps)].concat(), true);
    let bias = param(F32, vec![size(groups * filters)], false);
    let out = param(F32, [vec![batch.clone(), size(groups * filters)], sizes(&|s| s.windows())].concat(), false);

    let (filter, channel) = (&g * filters + &o, &g * channels + &c);
    let mut index = vec![n.clone(), channel];
    let mut valid = None;
    for (s, (at, tap)) in dims.iter().zip(at.iter().zip(&taps)) {
        let point = at * s.stride + tap * s.dilation - s.padding;
        if s.padding > 0 {
            let (zero, end) = (b.0.exprs.index(0), b.0.exprs.index(s.size));
            let here = b.0.exprs.index(point.clone());
            for bound in [b.op(Alu::Le, &[zero, here]), b.op(Alu::Lt, &[here, end])] {
                valid = Some(valid.map_or(bound, |v| b.op(Alu::And, &[v, bound])));
            }
        }
        index.push(point);
    }
    let mut indices = |sizes: Vec<Size>| sizes.into_iter().map(|s| b.0.exprs.index(s)).collect::<Vec<_>>();
    let from = indices(index);
    let tap = indices([vec![filter.clone(), c.clone()], taps].concat());
    let filter_at = indices(vec![filter.clone()]);
    let to = indices([vec![n, filter], at].concat());
    let value = b.0.exprs.load_valid(dtype, Mem::Param(x), &from, valid, Const::zero(dtype));
    let weight = b.0.exprs.load(dtype, Mem::Param(weights), &tap);
    let (value, weight) = (b.0.exprs.cast(F32, value), b.0.exprs.cast(F32, weight));
    let element = b.op(Alu::Mul, &[value, weight]);
    let results = vec![b.node(Expr::Carry(0, F32), F32)];
    let carries = vec![Carry { dtype: F32, element, op: Monoid::Sum, fix: None }];
    let body = Body::Reduce { axes: summed, carries, emit: Emit::Last, results };
    let sum = b.stage("conv", &over, body, vec![Out::Temp]);
    let (sum, bias, zero) = (b.temp(sum, 0, &over), b.0.exprs.load(F32, Mem::Param(bias), &filter_at), b.float(0.0));
    let sum = b.op(Alu::Add, &[sum, bias]);
    let result = b.op(Alu::Max, &[sum, zero]);
    b.stage("out", &over, Body::map(result), vec![Out::Param { param: out, index: to }]);
    b.0
}

/// The first index of the greatest value of each row. Arguments: x: `f32[rows, cols]`,
/// out: `i64[rows]`.
pub fn argmax(rows: &Size, cols: &Size) -> Kernel {
    let mut b = Builder::new("argmax");
    let (i, j) = (b.axis("i", rows), b.axis("j", cols));
    let (x, out) = (b.param(F32, &[i, j]), b.param(DType::I64, &[i]));
    let (value, at) = (b.read(x, &[i, j]), b.point(&[j])[0]);
    let index = b.0.exprs.cast(DType::I64, at);
    let carries = vec![
        Carry { dtype: F32, element: value, op: Monoid::Max, fix: None },
        Carry { dtype: DType::I64, element: index, op: Monoid::ArgMax, fix: None },
    ];
    let results = vec![b.node(Expr::Carry(1, DType::I64), DType::I64)];
    let to = b.to(out, &[i]);
    b.stage("out", &[i], Body::Reduce { axes: vec![j], carries, emit: Emit::Last, results }, vec![to]);
    b.0
}

/// `out[i, j] = table[ids[i], j]`, 0 where the id is out of range. Arguments: ids: `i64[count]`,
/// table: `f32[rows, cols]`, out: `f32[count, cols]`.
pub fn embedding(count: &Size, rows: &Size, cols: &Size) -> Kernel {
    let mut b = Builder::new("embedding");
    let (i, r, j) = (b.axis("i", count), b.axis("r", rows), b.axis("j", cols));
    let (ids, table) = (b.param(DType::I64, &[i]), b.param(F32, &[r, j]));
    let out = b.param(F32, &[i, j]);
    let (id, column) = (b.read(ids, &[i]), b.point(&[j])[0]);
    let row = b.0.exprs.cast(DType::Index, id);
    let (zero, end) = (b.0.exprs.index(0), b.0.exprs.index(rows));
    let (above, below) = (b.op(Alu::Le, &[zero, row]), b.op(Alu::Lt, &[row, end]));
    let valid = b.op(Alu::And, &[above, below]);
    let value = b.0.exprs.load_valid(F32, Mem::Param(table), &[row, column], Some(valid), Const::zero(F32));
    let to = b.to(out, &[i, j]);
    b.stage("out", &[i, j], Body::map(value), vec![to]);
    b.0
}

/// `out[ids[i]] += x[i]` from 0; ids out of range are dropped. Arguments: ids: `i64[count]`,
/// x: `f32[count]`, out: `f32[bins]`.
pub fn scatter_add(count: &Size, bins: &Size) -> Kernel {
    let mut b = Builder::new("scatter_add");
    let (i, bin) = (b.axis("i", count), b.axis("bin", bins));
    let (ids, x) = (b.param(DType::I64, &[i]), b.param(F32, &[i]));
    let param = b.param(F32, &[bin]);
    let (id, value) = (b.read(ids, &[i]), b.read(x, &[i]));
    let (zero, to) = (b.0.exprs.constant(Const::zero(F32)), b.to(param, &[bin]));
    b.stage("start", &[bin], Body::map(zero), vec![to]);
    let index = vec![b.0.exprs.cast(DType::Index, id)];
    let body = Body::Scatter { value, combine: Some(Monoid::Sum) };
    b.stage("out", &[i], body, vec![Out::Param { param, index }]);
    b.0
}

/// Every sample with sizes of a few elements, for tests that hold for any kernel.
pub fn all_small() -> Vec<Kernel> {
    let [a, b, c, d] = [2, 3, 5, 4].map(Size::from);
    vec![
        softmax(&b, &c),
        softmax_columns(&b, &c),
        add_transposed(&b, &c),
        online_softmax(&b, &c),
        layernorm(&b, &c),
        mean_variance(&b, &c),
        attention(&a, &b, &c, &d, false),
        attention(&a, &b, &c, &d, true),
        cumsum(&b, &c, false),
        cumsum(&b, &c, true),
        matmul_bias(&b, &c, &d, false),
        matmul_bias(&b, &c, &d, true),
        convolution(F32, &a, [1, 3, 5], &[Slide { padding: 1, ..Slide::new(4, 3) }]),
        argmax(&b, &c),
        embedding(&d, &b, &c),
        scatter_add(&c, &b),
    ]
}
