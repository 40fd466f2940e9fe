//! Interpolation along axes: each element of a result is a weighted sum of a few elements, at positions that follow from the
//! extents and are computed here.

use svod_dtype::DType;
use svod_tensor::Tensor;

use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, extent_at, extents, invalid, one, unsupported};
use crate::error::Fault;

pub(super) const ROWS: &[Row] = &[row("Resize", 11, resize)];

/// Elements along an axis of a result at most: each has a position that is computed here.
const LONGEST: i64 = 1 << 24;

/// One axis that is resized.
struct Axis {
    from: i64,
    to: i64,
    scale: f64,
    /// The part that is looked at, relative to the extent.
    region: (f64, f64),
}

/// Where elements come from: positions and weights of each element of a result.
type Taps = Vec<Vec<(i64, f64)>>;

fn resize(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let own = extents(&x)?;
    let axes = match c.ints("axes")? {
        Some(axes) => axes.into_iter().map(|axis| axis_of(axis, own.len())).collect::<Result<Vec<_>, _>>()?,
        None => (0..own.len()).collect(),
    };
    let regions = if c.has(1) { c.floats(1)? } else { Vec::new() };
    let mode = c.text("coordinate_transformation_mode", "half_pixel")?;
    let crops = mode == "tf_crop_and_resize";
    let scales = if c.has(2) { c.floats(2)? } else { Vec::new() };
    let sizes = if c.has(3) { c.numbers(3)? } else { Vec::new() };
    if scales.len().max(sizes.len()) != axes.len() || (crops && regions.len() != 2 * axes.len()) {
        return invalid(format!("scales or sizes and regions should be given for {} axes", axes.len()));
    }
    let (sizes, scales) = by_policy(c, &axes, &own, sizes, scales)?;
    let mut result = if x.dtype().is_float() { x.clone() } else { x.cast(DType::F32)? };
    let mut outside: Option<Tensor> = None;
    for (i, at) in axes.iter().enumerate() {
        let region = if crops { (regions[i], regions[axes.len() + i]) } else { (0.0, 1.0) };
        let from = own[*at];
        let to = match sizes.get(i) {
            Some(size) => *size,
            None => (from as f64 * (region.1 - region.0) * scales[i]).floor() as i64,
        };
        let axis = Axis { from, to, scale: scales.get(i).map_or(to as f64 / from as f64, |s| *s), region };
        if !(0..=LONGEST).contains(&to) {
            return invalid(format!("dimension {at} would have extent {to}"));
        }
        if from == 0 && to > 0 {
            return invalid(format!("dimension {at} has no elements of which {to} could be made"));
        }
        if to == from && axis.scale == 1.0 && !crops {
            continue;
        }
        let places: Vec<f64> = (0..to).map(|place| position(mode, &axis, place as f64)).collect::<Result<_, _>>()?;
        let taps = taps(c, &axis, &places)?;
        result = sampled(&result, *at as i64, &taps)?;
        if crops {
            let beyond: Vec<bool> = places.iter().map(|p| *p < 0.0 || *p > (from - 1) as f64).collect();
            let beyond = Tensor::from_slice(&beyond, &[beyond.len()])?;
            let beyond = beyond.reshape(&extent_at(to.into(), *at, own.len()))?;
            outside = Some(match outside {
                Some(known) => known.logical_or(beyond)?,
                None => beyond,
            });
        }
    }
    if let Some(outside) = outside {
        let value = c.float("extrapolation_value", 0.0)?;
        result = Tensor::select(&outside, crate::constants::number(value, result.dtype())?, result)?;
    }
    let dtype = x.dtype();
    one(if dtype.is_float() { result } else { result.round()?.cast(dtype)? })
}

/// Sizes and scales where the ratio of extents is to be kept.
fn by_policy(
    c: &Call<'_>,
    axes: &[usize],
    own: &[i64],
    sizes: Vec<i64>,
    scales: Vec<f64>,
) -> Result<(Vec<i64>, Vec<f64>), Fault> {
    let policy = c.text("keep_aspect_ratio_policy", "stretch")?;
    if sizes.is_empty() || policy == "stretch" {
        return Ok((sizes, scales));
    }
    let ratios = sizes.iter().zip(axes).map(|(size, at)| *size as f64 / own[*at] as f64);
    let scale = match policy {
        "not_larger" => ratios.fold(f64::INFINITY, f64::min),
        "not_smaller" => ratios.fold(0.0, f64::max),
        other => return invalid(format!("attribute 'keep_aspect_ratio_policy' is '{other}'")),
    };
    let rounded = |at: &usize| (own[*at] as f64 * scale + 0.5).floor() as i64;
    Ok((axes.iter().map(rounded).collect(), vec![scale; axes.len()]))
}

/// Where an element of the result is in the operand.
fn position(mode: &str, axis: &Axis, place: f64) -> Result<f64, Fault> {
    let (from, to, scale) = (axis.from as f64, axis.to as f64, axis.scale);
    let exact = from * scale;
    Ok(match mode {
        "half_pixel" => (place + 0.5) / scale - 0.5,
        "half_pixel_symmetric" => {
            let adjusted = to / exact;
            let offset = from / 2.0 * (1.0 - adjusted);
            offset + (place + 0.5) / scale - 0.5
        }
        "pytorch_half_pixel" => {
            if exact.max(to) > 1.0 {
                (place + 0.5) / scale - 0.5
            } else {
                0.0
            }
        }
        "asymmetric" => place / scale,
        "tf_half_pixel_for_nn" => (place + 0.5) / scale,
        // As many steps as there are between the first and the last element.
        "align_corners" if exact == 1.0 || to == 1.0 => 0.0,
        "align_corners" => place * (from - 1.0) / (exact - 1.0),
        "tf_crop_and_resize" => {
            let (start, end) = axis.region;
            match to > 1.0 {
                true => start * (from - 1.0) + place * (end - start) * (from - 1.0) / (to - 1.0),
                false => 0.5 * (start + end) * (from - 1.0),
            }
        }
        other => return invalid(format!("attribute 'coordinate_transformation_mode' is '{other}'")),
    })
}

fn taps(c: &Call<'_>, axis: &Axis, places: &[f64]) -> Result<Taps, Fault> {
    let mode = c.text("mode", "nearest")?;
    let last = axis.from - 1;
    if mode == "nearest" {
        let how = c.text("nearest_mode", "round_prefer_floor")?;
        let nearest = |place: f64| match how {
            "round_prefer_ceil" => (place + 0.5).floor(),
            "floor" => place.floor(),
            "ceil" => place.ceil(),
            _ => (place - 0.5).ceil(),
        };
        return Ok(places.iter().map(|p| vec![((nearest(*p) as i64).clamp(0, last), 1.0)]).collect());
    }
    // Where the result is smaller, a filter against aliasing is wider by as much.
    let stretch = if c.flag("antialias", false)? { axis.scale.min(1.0) } else { 1.0 };
    let a = c.float("cubic_coeff_a", -0.75)?;
    let (reach, weight): (f64, Box<dyn Fn(f64) -> f64>) = match mode {
        "linear" => (1.0, Box::new(|d: f64| (1.0 - d.abs()).max(0.0))),
        "cubic" => (2.0, Box::new(move |d: f64| cubic(d.abs(), a))),
        other => return unsupported(format!("attribute 'mode' is '{other}'")),
    };
    let excludes = c.flag("exclude_outside", false)?;
    let of = |place: &f64| {
        let (first, end) = ((place - reach / stretch).floor() as i64 + 1, (place + reach / stretch).floor() as i64);
        let mut found: Vec<(i64, f64)> = Vec::new();
        for at in first..=end.max(first) {
            let inside = at.clamp(0, last);
            let share = weight((at as f64 - place) * stretch);
            let share = if excludes && inside != at { 0.0 } else { share };
            match found.last_mut().filter(|(known, _)| *known == inside) {
                Some((_, known)) => *known += share,
                None => found.push((inside, share)),
            }
        }
        let total: f64 = found.iter().map(|(_, share)| share).sum();
        if (excludes || stretch < 1.0) && total != 0.0 {
            found.iter_mut().for_each(|(_, share)| *share /= total);
        }
        found
    };
    Ok(places.iter().map(of).collect())
}

/// The weight of an element at a distance (Keys 1981).
fn cubic(d: f64, a: f64) -> f64 {
    match d {
        d if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
        d if d < 2.0 => ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a,
        _ => 0.0,
    }
}

/// The weighted sums of elements along an axis.
fn sampled(x: &Tensor, axis: i64, taps: &Taps) -> Result<Tensor, Fault> {
    let count = taps.iter().map(Vec::len).max().unwrap_or(0);
    let index = |tap: usize| -> Vec<i64> { taps.iter().map(|all| all.get(tap).map_or(0, |(at, _)| *at)).collect() };
    if count <= 1 && taps.iter().flatten().all(|(_, share)| *share == 1.0) {
        let at = index(0);
        return Ok(x.take(&Tensor::from_slice(&at, &[at.len()])?, axis)?);
    }
    let wide = if x.dtype().bits() < 32 { x.cast(DType::F32)? } else { x.clone() };
    let along = extent_at(taps.len().into(), axis as usize, x.rank());
    let mut sum: Option<Tensor> = None;
    for tap in 0..count {
        let (at, share): (Vec<i64>, Vec<f64>) =
            (index(tap), taps.iter().map(|all| all.get(tap).map_or(0.0, |(_, share)| *share)).collect());
        let share = Tensor::from_slice(&share, &[share.len()])?.cast(wide.dtype())?.reshape(&along)?;
        let part = wide.take(&Tensor::from_slice(&at, &[at.len()])?, axis)?.mul(share)?;
        sum = Some(match sum {
            Some(sum) => sum.add(part)?,
            None => part,
        });
    }
    match sum {
        Some(sum) => Ok(sum.cast(x.dtype())?),
        None => Ok(x.narrow(axis, 0, 0)?),
    }
}
