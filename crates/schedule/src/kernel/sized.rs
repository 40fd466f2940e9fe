//! A kernel whose variables have certain values.

use super::names::name;
use super::normalize::{normalize, squeeze};
use super::rewrite::rebuild;
use svod_ir::kernel::{Axis, Kernel};
use svod_ir::size::{Size, Variable};

/// The kernel where these variables have these values, with the same stages, axes and arguments.
pub(crate) fn with_values(mut kernel: Kernel, values: &[(Variable, i64)]) -> Kernel {
    let value = |v: &Variable| values.iter().find(|(known, _)| known == v).map(|(_, value)| Size::from(*value));
    let sized = |axis: &Axis| {
        let extent = axis.extent.substitute(&value);
        let most = Variable::max(&axis.var);
        let last = extent.upper_bound().map_or(most, |n| (n - 1).clamp(0, most));
        let var = Variable::internal(axis.var.name(), 0, last).unwrap_or_else(|_| axis.var.clone());
        Axis { var, extent }
    };
    let axes: Vec<Axis> = kernel.axes.iter().map(sized).collect();
    let old = std::mem::replace(&mut kernel.axes, axes.clone());
    let counter = |v: &Variable| old.iter().position(|axis| axis.var == *v).map(|at| Size::from(&axes[at].var));
    let mut made = rebuild(kernel, &|v| value(v).or_else(|| counter(v)), &|_, index| index.to_vec());
    let shapes = made.params.iter_mut().flat_map(|param| &mut param.shape);
    shapes.for_each(|size| *size = size.substitute(&value));
    made.vars.retain(|v| value(v).is_none());
    made
}

/// The kernel where its variables have these values: as it would have been made had they been numbers. Its arguments are the
/// same, in the same memory.
pub fn at_values(kernel: &Kernel, values: &[(Variable, i64)]) -> Kernel {
    let made = normalize(squeeze(with_values(kernel.clone(), values)));
    Kernel { name: name(&made), ..made }
}

/// Where a kernel's variables have their greatest values.
pub(crate) fn greatest(kernel: &Kernel) -> Vec<(Variable, i64)> {
    kernel.vars.iter().map(|v| (v.clone(), Variable::max(v))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PRODUCT: &str = "kernel matmul
var n = 1..=64
param p0: f32[n, 96]
param p1: f32[96, 128]
param p2: f32[n, 128]
axis a0 < n
axis a1 < 128
axis a2 < 96

stage s0[a0, a1] = reduce a2
  carry.0: f32 = sum(p0[a0, a2] * p1[a2, a1])
  s0 = carry.0

stage out[a0, a1] = map
  p2[a0, a1] = s0[a0, a1] + f32(1.0)
";

    #[test]
    fn it_is_the_kernel_of_these_sizes() {
        let kernel = Kernel::parse(PRODUCT).unwrap();
        let at = |n: i64| at_values(&kernel, &[(kernel.vars[0].clone(), n)]);
        let same = PRODUCT.replace("var n = 1..=64\n", "").replace("[n,", "[7,").replace("a0 < n", "a0 < 7");
        let same = same.replace("kernel matmul", "kernel matmul_7x128x96");
        assert_eq!(at(7).to_string(), normalize(Kernel::parse(&same).unwrap()).to_string());
        // One row is none.
        assert_eq!(at(1).params.iter().map(|p| p.shape.len()).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(greatest(&kernel)[0].1, 64);
    }
}
