//! Pictures: values between elements, regions, and windows put together again.

use svod_dtype::DType;
use svod_tensor::{Operand, Tensor};

use super::conv::{Windows, channels_first, spatial};
use super::{Row, row};
use crate::call::{
    Call, Outcome, counting, counting_along, extents, invalid, one, ranked, spatial_extents, unsupported,
};
use crate::error::Fault;

pub(super) const ROWS: &[Row] = &[
    row("AffineGrid", 20, affine_grid),
    row("Col2Im", 18, col2im),
    row("DeformConv", 19, deform_conv),
    row("GridSample", 16, grid_sample),
    row("NonMaxSuppression", 10, non_max_suppression),
    row("RoiAlign", 10, roi_align),
];

/// What is beyond the elements.
#[derive(Clone, Copy, PartialEq)]
enum Beyond {
    Zeros,
    Border,
    /// Mirrored at the last elements, or half an element behind them.
    Mirror {
        at_elements: bool,
    },
}

/// How values between elements are made.
#[derive(Clone, Copy, PartialEq)]
enum Between {
    Nearest,
    Linear,
    Cubic,
}

impl Between {
    /// The elements around a position that count, relative to the one before it.
    fn taps(self) -> std::ops::Range<i64> {
        match self {
            Between::Nearest => 0..1,
            Between::Linear => 0..2,
            Between::Cubic => -1..3,
        }
    }

    /// The weights of these elements, of a position so far behind the one before it.
    fn weights(self, far: &Tensor) -> svod_tensor::Result<Vec<Tensor>> {
        let near = |d: &Tensor| {
            // Keys (1981), with a = -3/4.
            let a = -0.75;
            d.mul(a + 2.0)?.sub(a + 3.0)?.mul(d)?.mul(d)?.add(1.0)
        };
        let wide = |d: &Tensor| {
            let a = -0.75;
            d.mul(a)?.sub(5.0 * a)?.mul(d)?.add(8.0 * a)?.mul(d)?.sub(4.0 * a)
        };
        Ok(match self {
            Between::Nearest => vec![far.full_like(1)?],
            Between::Linear => vec![far.rsub(1)?, far.clone()],
            Between::Cubic => {
                let other = far.rsub(1)?;
                vec![wide(&far.add(1)?)?, near(far)?, near(&other)?, wide(&other.add(1)?)?]
            }
        })
    }
}

/// Positions mirrored into `0..=extent - 1`.
fn mirrored(x: &Tensor, extent: i64, at_elements: bool) -> svod_tensor::Result<Tensor> {
    let (low, high) = if at_elements { (0.0, (extent - 1) as f64) } else { (-0.5, extent as f64 - 0.5) };
    let range = high - low;
    if range <= 0.0 {
        return x.full_like(0);
    }
    let along = x.sub(low)?.abs()?.modulo(2.0 * range)?;
    let back = Tensor::select(&along.gt(range)?, along.rsub(2.0 * range)?, &along)?.add(low)?;
    within(&back, extent)
}

fn within(x: &Tensor, extent: i64) -> svod_tensor::Result<Tensor> {
    x.clamp(Some(Operand::Int(0)), Some(Operand::Int(i128::from(extent - 1))))
}

/// One neighbour of positions along a dimension: where it is, what it counts, and whether it is there.
struct Neighbour {
    at: Tensor,
    weight: Tensor,
    is_there: Option<Tensor>,
}

fn neighbours(x: &Tensor, extent: i64, between: Between, beyond: Beyond) -> svod_tensor::Result<Vec<Neighbour>> {
    let x = match beyond {
        // Weights are those of the position itself; only the elements that they are for are looked for inside.
        _ if between == Between::Cubic => x.clone(),
        Beyond::Border => within(x, extent)?,
        Beyond::Mirror { at_elements } => mirrored(x, extent, at_elements)?,
        Beyond::Zeros => x.clone(),
    };
    let first = if between == Between::Nearest { x.round()? } else { x.floor()? };
    let weights = between.weights(&x.sub(&first)?)?;
    let one = |(tap, weight): (i64, Tensor)| {
        let at = first.add(tap)?;
        let (at, is_there) = match beyond {
            Beyond::Zeros => (within(&at, extent)?, Some(at.ge(0)?.bitwise_and(at.lt(extent)?)?)),
            Beyond::Border => (within(&at, extent)?, None),
            Beyond::Mirror { at_elements } => (mirrored(&at, extent, at_elements)?, None),
        };
        Ok(Neighbour { at: at.cast(DType::I64)?, weight, is_there })
    };
    between.taps().zip(weights).map(one).collect()
}

/// The products of weights and elements at positions `[batch, count]`, one for each dimension, of `[batch, channels, ..]`: for each
/// combination of neighbours `[batch, channels, count]`.
fn around(x: &Tensor, positions: &[Tensor], between: Between, beyond: Beyond) -> Result<Vec<Tensor>, Fault> {
    let shape = spatial_extents(x)?;
    let over = &shape[2..];
    let flat = x.flatten(2, -1)?;
    let mut all: Vec<(Tensor, Tensor, Option<Tensor>)> = Vec::new();
    for (extent, position) in over.iter().zip(positions) {
        if *extent < 1 {
            return invalid("there is nothing between whose elements values could be");
        }
        let next = neighbours(position, *extent, between, beyond)?;
        if all.is_empty() {
            all = next.into_iter().map(|n| (n.at, n.weight, n.is_there)).collect();
            continue;
        }
        let mut longer = Vec::with_capacity(all.len() * next.len());
        for (at, weight, is_there) in &all {
            for n in &next {
                let there = match (is_there, &n.is_there) {
                    (Some(a), Some(b)) => Some(a.bitwise_and(b)?),
                    _ => None,
                };
                longer.push((at.mul(*extent)?.add(&n.at)?, weight.mul(&n.weight)?, there));
            }
        }
        all = longer;
    }
    let rows = |t: &Tensor| {
        let [batch, count] = ranked(t)?;
        Ok::<_, Fault>(t.unsqueeze(1)?.expand(&[batch, shape[1], count])?)
    };
    let mut products = Vec::with_capacity(all.len());
    for (at, weight, is_there) in all {
        let found = flat.gather(2, &rows(&at)?)?.mul(weight.unsqueeze(1)?.cast(x.dtype())?)?;
        products.push(match is_there {
            Some(is_there) => Tensor::select(&is_there.unsqueeze(1)?, found, 0)?,
            None => found,
        });
    }
    Ok(products)
}

/// The values at positions.
fn sampled(x: &Tensor, positions: &[Tensor], between: Between, beyond: Beyond) -> Result<Tensor, Fault> {
    let mut products = around(x, positions, between, beyond)?.into_iter();
    let Some(first) = products.next() else { return invalid("there is no dimension to look along") };
    Ok(products.try_fold(first, |sum, next| sum.add(next))?)
}

fn grid_sample(c: &Call<'_>) -> Outcome {
    let (x, grid) = (c.tensor(0)?, c.tensor(1)?);
    let dtype = x.dtype();
    let at_corners = c.flag("align_corners", false)?;
    let between = match c.text("mode", "linear")? {
        "nearest" => Between::Nearest,
        "linear" | "bilinear" => Between::Linear,
        "cubic" | "bicubic" => Between::Cubic,
        other => return invalid(format!("attribute 'mode' is '{other}'")),
    };
    let beyond = match c.text("padding_mode", "zeros")? {
        "zeros" => Beyond::Zeros,
        "border" => Beyond::Border,
        "reflection" => Beyond::Mirror { at_elements: at_corners },
        other => return invalid(format!("attribute 'padding_mode' is '{other}'")),
    };
    let (own, to) = (extents(&x)?, extents(&grid)?);
    let rank = own.len().saturating_sub(2);
    if rank == 0 || to.len() != own.len() || to[rank + 1] != rank as i64 {
        return invalid(format!("{} is no grid for {}", grid.described(), x.described()));
    }
    let wide = grid.cast(DType::F32)?;
    let mut positions = Vec::with_capacity(rank);
    for d in 0..rank {
        // The last dimension comes first.
        let relative = wide.narrow(-1, (rank - 1 - d) as i64, 1)?.reshape(&[to[0], -1])?;
        let extent = own[2 + d] as f64;
        positions.push(if at_corners {
            relative.add(1)?.mul((extent - 1.0) / 2.0)?
        } else {
            relative.add(1)?.mul(extent)?.sub(1)?.div(2.0)?
        });
    }
    let wide = if dtype.is_float() { x.clone() } else { x.cast(DType::F32)? };
    let values = sampled(&wide, &positions, between, beyond)?;
    one(values.reshape(&[&own[..2], &to[1..=rank]].concat())?.cast(dtype)?)
}

/// Where a linear map takes the positions of a picture of this size, in coordinates from -1 to 1.
fn affine_grid(c: &Call<'_>) -> Outcome {
    let (theta, size) = (c.tensor(0)?, c.numbers(1)?);
    ranked::<3>(&theta)?;
    let Some(over) = size.get(2..).filter(|over| !over.is_empty()) else { return invalid("a size of rank 4 or 5") };
    let dtype = theta.dtype();
    let at_corners = c.flag("align_corners", false)?;
    let rank = over.len();
    let mut columns = Vec::with_capacity(rank + 1);
    for d in (0..rank).rev() {
        let n = over[d];
        let numbers = counting_along(n, d, rank)?.cast(dtype)?;
        let along = if at_corners {
            numbers.mul(2.0 / (n - 1).max(1) as f64)?.sub(1)?
        } else {
            numbers.mul(2.0)?.add(1)?.div(n as f64)?.sub(1)?
        };
        columns.push(along.expand(over)?);
    }
    columns.push(Tensor::ones(over, dtype)?);
    let places = Tensor::stack(&columns.iter().collect::<Vec<_>>(), -1)?.reshape(&[-1, rank as i64 + 1])?;
    let moved = places.matmul(&theta.transpose(1, 2)?)?;
    one(moved.reshape(&[&[size[0]], over, &[rank as i64]].concat())?)
}

/// A convolution whose taps are moved by offsets, and weighted by a mask (Zhu et al. 2019).
fn deform_conv(c: &Call<'_>) -> Outcome {
    let (x, weight, offset) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let (own, kernel, moved) = (spatial_extents(&x)?, extents(&weight)?, extents(&offset)?);
    let (group, offsets) = (c.int("group", 1)?, c.int("offset_group", 1)?);
    let rank = own.len().saturating_sub(2);
    if group < 1 || offsets < 1 || kernel.len() != own.len() || moved.len() != own.len() {
        return invalid("operands, groups and offsets do not fit each other");
    }
    let windows = Windows::of(c, &spatial(c, &x)?, &kernel[2..])?;
    let (taps, over) = (kernel[2..].iter().product::<i64>(), &moved[2..]);
    let count: i64 = over.iter().product();
    // `[batch, offset groups, taps, dimensions, positions]`.
    let by_tap = offset.reshape(&[own[0], offsets, taps, rank as i64, count])?;
    let mut positions = Vec::with_capacity(rank);
    for d in 0..rank {
        let tap = counting_along(kernel[2 + d], d, rank)?.mul(windows.dilation[d])?.expand(&kernel[2..])?;
        let first = counting_along(over[d], d, rank)?.mul(windows.stride[d])?.sub(windows.padding[d].0)?;
        let first = first.expand(over)?;
        let regular = tap.reshape(&[taps, 1])?.add(first.reshape(&[1, count])?)?.cast(x.dtype())?;
        let own_offset = by_tap.narrow(3, d as i64, 1)?.squeeze(Some(&[3]))?;
        positions.push(own_offset.add(regular)?.reshape(&[own[0] * offsets, taps * count])?);
    }
    let parts = x.reshape(&[&[own[0] * offsets, own[1] / offsets], &own[2..]].concat())?;
    let mut values = sampled(&parts, &positions, Between::Linear, Beyond::Zeros)?;
    if let Some(mask) = c.optional(4)? {
        values = values.mul(mask.reshape(&[own[0] * offsets, 1, taps * count])?)?;
    }
    let columns = values.reshape(&[own[0], group, own[1] / group * taps, count])?;
    let weight = weight.reshape(&[1, group, kernel[0] / group, kernel[1] * taps])?;
    let mut result = weight.matmul(&columns)?.reshape(&[&[own[0], kernel[0]], over].concat())?;
    if let Some(bias) = c.optional(3)? {
        result = result.add(channels_first(&bias, rank)?)?;
    }
    one(result)
}

/// Windows `[batch, channels·taps, positions]` added up where they were taken from.
fn col2im(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let (image, block) = (c.numbers(1)?, c.numbers(2)?);
    let [batch, rows, columns] = ranked(&x)?;
    let windows = Windows::of(c, &image, &block)?;
    let (taps, area) = (block.iter().product::<i64>().max(1), image.iter().product::<i64>());
    let positions: Vec<i64> = (0..image.len())
        .map(|d| {
            let (before, after) = windows.padding[d];
            (image[d] + before + after - windows.dilation[d] * (block[d] - 1) - 1) / windows.stride[d] + 1
        })
        .collect();
    if positions.iter().product::<i64>() != columns || rows % taps != 0 || positions.iter().any(|n| *n < 1) {
        return invalid(format!("{} has not the windows {block:?} of an image {image:?}", x.described()));
    }
    // Where each tap of each window is in the image; behind it what is in the padding.
    let mut at: Option<(Tensor, Tensor)> = None;
    for d in 0..image.len() {
        let along = |axis: usize, n: i64| counting_along(n, axis, 2 * image.len());
        let tap = along(d, block[d])?.mul(windows.dilation[d])?;
        let place = along(image.len() + d, positions[d])?.mul(windows.stride[d])?;
        let place = place.add(tap)?.sub(windows.padding[d].0)?;
        let inside = place.ge(0)?.bitwise_and(place.lt(image[d])?)?;
        at = Some(match at {
            Some((flat, all)) => (flat.mul(image[d])?.add(place)?, all.bitwise_and(inside)?),
            None => (place, inside),
        });
    }
    let Some((flat, inside)) = at else { return invalid("an image without dimensions") };
    let flat = Tensor::select(&inside, flat, area)?.reshape(&[1, 1, -1])?;
    let channels = rows / taps;
    let values = x.reshape(&[batch, channels, taps * columns])?;
    let zeros = Tensor::zeros(&[batch, channels, area + 1], x.dtype())?;
    let sums = zeros.scatter_add(2, &flat.expand(&[batch, channels, taps * columns])?, &values)?;
    one(sums.narrow(2, 0, area)?.reshape(&[&[batch, channels], &image[..]].concat())?)
}

/// The most values or samples along a dimension of a region.
const MOST_VALUES: i64 = 1 << 12;

/// Regions of pictures, each as so many values, of which each is the mean or the maximum of some samples (He et al. 2017).
fn roi_align(c: &Call<'_>) -> Outcome {
    let (x, regions, batch) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let [count, 4] = ranked(&regions)? else { return invalid("regions should be of 4 numbers") };
    ranked::<4>(&x)?;
    let (height, width) = (c.int("output_height", 1)?, c.int("output_width", 1)?);
    let ratio = c.int("sampling_ratio", 0)?;
    if ![height, width].iter().all(|n| (1..=MOST_VALUES).contains(n)) || !(0..=MOST_VALUES).contains(&ratio) {
        return invalid(format!("{height} by {width} values of {ratio} samples"));
    }
    let scale = c.float("spatial_scale", 1.0)?;
    let pictures = x.take(&batch, 0)?;
    let scaled = regions.mul(scale)?;
    if ratio > 0 {
        return one(aligned(c, &pictures, &scaled, (height, width), (ratio, ratio))?);
    }
    // As many samples as a region has elements for a value: each region has its own.
    let limits = scaled.cast(DType::F64)?.to_vec::<f64>()?;
    let mut parts = Vec::with_capacity(limits.len() / 4);
    for (at, limit) in (0..count).zip(limits.chunks_exact(4)) {
        let samples = |span: f64, values: i64| ((span / values as f64).ceil() as i64).clamp(1, MOST_VALUES);
        let samples = (samples(limit[3] - limit[1], height), samples(limit[2] - limit[0], width));
        parts.push(aligned(c, &pictures.narrow(0, at, 1)?, &scaled.narrow(0, at, 1)?, (height, width), samples)?);
    }
    match parts.is_empty() {
        true => unsupported("no region at all"),
        false => one(Tensor::cat(&parts.iter().collect::<Vec<_>>(), 0)?),
    }
}

fn aligned(
    c: &Call<'_>,
    pictures: &Tensor,
    regions: &Tensor,
    (height, width): (i64, i64),
    (rows, columns): (i64, i64),
) -> Result<Tensor, Fault> {
    let [count, channels, picture_rows, picture_columns] = ranked(pictures)?;
    let halves = c.text("coordinate_transformation_mode", "half_pixel")? == "half_pixel";
    let shift = if halves { 0.5 } else { 0.0 };
    let limit = |at: i64| regions.narrow(1, at, 1)?.sub(shift);
    // Where samples are along a dimension, and whether they are in the picture or next to it.
    let along = |first: Tensor, last: Tensor, values: i64, samples: i64, extent: i64| {
        let span = last.sub(&first)?;
        let span = if halves { span } else { span.maximum(1)? };
        let step = span.div((values * samples) as f64)?;
        let at = counting(values * samples)?.cast(regions.dtype())?.add(0.5)?.mul(step)?.add(first)?;
        let is_there = at.ge(-1)?.bitwise_and(at.le(extent)?)?;
        Ok::<_, svod_tensor::TensorError>((within(&at, extent)?, is_there))
    };
    let (y, inside_y) = along(limit(1)?, limit(3)?, height, rows, picture_rows)?;
    let (x, inside_x) = along(limit(0)?, limit(2)?, width, columns, picture_columns)?;
    let grid = [count, height * rows, width * columns];
    let flat = |t: Tensor, at: i64| t.unsqueeze(at)?.expand(&grid)?.reshape(&[count, -1]);
    let inside = flat(inside_y, -1)?.bitwise_and(flat(inside_x, 1)?)?.unsqueeze(1)?;
    let positions = [flat(y, -1)?, flat(x, 1)?];
    let by_sample = |t: Tensor| t.reshape(&[count, channels, height, rows, width, columns]);
    let axes: Option<&[i64]> = Some(&[3, 5]);
    if c.text("mode", "avg")? != "max" {
        let values = sampled(pictures, &positions, Between::Linear, Beyond::Border)?;
        return Ok(by_sample(Tensor::select(&inside, values, 0)?)?.mean(axes, false)?);
    }
    // The greatest of the weighted elements, as the reference has it, not of their sums.
    let mut most: Option<Tensor> = None;
    for part in around(pictures, &positions, Between::Linear, Beyond::Border)? {
        most = Some(match most {
            Some(most) => most.maximum(part)?,
            None => part,
        });
    }
    match most {
        Some(most) => Ok(by_sample(Tensor::select(&inside, most, 0)?)?.max(axes, false)?),
        None => invalid("there is no dimension to look along"),
    }
}

/// Boxes in the order of their scores, without those that cover one before them for the most part.
fn non_max_suppression(c: &Call<'_>) -> Outcome {
    let (boxes, scores) = (c.tensor(0)?, c.tensor(1)?);
    let [batches, classes, count] = ranked(&scores)?;
    if extents(&boxes)? != [batches, count, 4] {
        return invalid(format!("{} are no boxes for {}", boxes.described(), scores.described()));
    }
    let number = |at: usize, default: f64| if c.has(at) { c.number(at) } else { Ok(default) };
    let (most, overlap, least) = (number(2, 0.0)?, number(3, 0.0)?, number(4, f64::NEG_INFINITY)?);
    let centred = c.flag("center_point_box", false)?;
    let boxes = boxes.cast(DType::F64)?.to_vec::<f64>()?;
    let scores = scores.cast(DType::F64)?.to_vec::<f64>()?;
    // Lower and upper corners.
    let corners = |b: &[f64]| match centred {
        true => [b[1] - b[3] / 2.0, b[0] - b[2] / 2.0, b[1] + b[3] / 2.0, b[0] + b[2] / 2.0],
        false => [b[0].min(b[2]), b[1].min(b[3]), b[0].max(b[2]), b[1].max(b[3])],
    };
    let mut selected: Vec<i64> = Vec::new();
    let count = count as usize;
    for (row, own) in scores.chunks_exact(count.max(1)).enumerate().take((batches * classes) as usize) {
        let (batch, class) = (row / classes as usize, row % classes as usize);
        let places: Vec<[f64; 4]> = boxes[batch * count * 4..][..count * 4].chunks_exact(4).map(corners).collect();
        let mut order: Vec<usize> = (0..count).filter(|at| own[*at] > least).collect();
        order.sort_by(|a, b| own[*b].total_cmp(&own[*a]));
        let mut kept: Vec<usize> = Vec::new();
        for at in order {
            if kept.len() as f64 >= most {
                break;
            }
            if kept.iter().all(|known| shared(&places[*known], &places[at]) <= overlap) {
                kept.push(at);
                selected.extend([batch as i64, class as i64, at as i64]);
            }
        }
    }
    one(Tensor::from_slice(&selected, &[selected.len() / 3, 3])?)
}

/// The area that two boxes share, by that which they cover together.
fn shared(a: &[f64; 4], b: &[f64; 4]) -> f64 {
    let side = |low: usize, high: usize| (a[high].min(b[high]) - a[low].max(b[low])).max(0.0);
    let area = |x: &[f64; 4]| (x[2] - x[0]) * (x[3] - x[1]);
    let common = side(0, 2) * side(1, 3);
    let all = area(a) + area(b) - common;
    if all > 0.0 { common / all } else { 0.0 }
}
