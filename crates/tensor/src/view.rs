//! Which handles stand for a part, or another shape, of another handle's value.
//!
//! A tensor is a value: writing to `h[0]` could not change `h`, from which it was taken. Who writes to it most
//! likely expects that it does, so that such a write is an error as long as somebody has the other tensor.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, Weak};

use svod_ir::graph::UOp;

use crate::error::{Result, TensorError};
use crate::pieces;
use crate::tensor::{Handle, Tensor};

/// What a handle was taken from, and what that was taken from.
pub(crate) struct View {
    /// The operation that took it.
    by: Cow<'static, str>,
    base: Weak<Handle>,
    of: Option<Arc<View>>,
    /// The node of what was no view itself, when the first one was taken.
    root: u64,
}

/// Lets go of tensors that nobody has but caches.
static RELEASE: OnceLock<fn()> = OnceLock::new();

/// Has this function called before a write to a view is refused: what is in use by caches alone, or by what a garbage
/// collector has yet to find, is not in use. The first one given stays.
pub fn before_refusals(release: fn()) {
    RELEASE.get_or_init(|| release);
}

impl Tensor {
    /// This value as a view of the tensor that it was taken from by `by`: it cannot be assigned to as long as
    /// that one, or one that it is itself a view of, is in use.
    ///
    /// ```
    /// use svod_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    /// let first = x.narrow(0, 0, 2)?.viewing(&x, "narrow");
    /// assert!(first.assign(0.0).is_err());
    /// drop(x);
    /// assert!(first.assign(0.0).is_ok());
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    pub fn viewing(self, base: &Tensor, by: impl Into<Cow<'static, str>>) -> Tensor {
        let view = base.handle().view();
        let root = view.map_or_else(|| base.with_node(UOp::id), |view| view.root);
        let (of, base) = (view.and_then(in_use), Arc::downgrade(base.handle()));
        self.with_view(Arc::new(View { by: by.into(), base, of, root }))
    }

    /// [`Tensor::viewing`] of the elements of `base` in another shape, which is no view where they would have to be copied for
    /// it: those of a transposed tensor do not lie in one row.
    ///
    /// ```
    /// use svod_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// let (rows, columns) = (x.clone(), x.t()?.viewing(&x, "transpose"));
    /// assert!(rows.reshape(&[4])?.viewing_in_shape(&rows, "reshape").assign(0.0).is_err());
    /// assert!(columns.reshape(&[4])?.viewing_in_shape(&columns, "reshape").assign(0.0).is_ok());
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    pub fn viewing_in_shape(self, base: &Tensor, by: &'static str) -> Tensor {
        let is_copy = base.handle().view().is_some_and(|view| !pieces::is_in_place(&self.uop(), view.root));
        if is_copy { self } else { self.viewing(base, by) }
    }

    /// [`Tensor::viewing`] of what moves the elements of `base`; of what computes with them, the value itself.
    ///
    /// ```
    /// use svod_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert!(x.t()?.viewing_where_moved(&x, "einsum").assign(0.0).is_err());
    /// assert!(x.exp()?.viewing_where_moved(&x, "einsum").assign(0.0).is_ok());
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    pub fn viewing_where_moved(self, base: &Tensor, by: &'static str) -> Tensor {
        if pieces::is_moved(&self.uop(), &base.uop()) { self.viewing(base, by) } else { self }
    }

    /// Whether the elements lie one after the other in the tensor that this is a view of; those of any other tensor do. Those
    /// of a transposed tensor, of a column and of an expanded one do not, until it is computed.
    ///
    /// ```
    /// use svod_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert!(x.is_dense() && x.narrow(0, 1, 1)?.viewing(&x, "narrow").is_dense());
    /// assert!(!x.t()?.viewing(&x, "transpose").is_dense() && !x.narrow(1, 1, 1)?.viewing(&x, "narrow").is_dense());
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    pub fn is_dense(&self) -> bool {
        self.handle().view().is_none_or(|view| pieces::is_dense(&self.uop(), view.root))
    }

    /// # Errors
    /// Where the handle is a view of a tensor in use, or its memory a file.
    pub(crate) fn check_writable(&self, op: &'static str) -> Result<()> {
        self.check_no_view(op)?;
        self.check_no_file(op)
    }

    /// Whether the handle is a view of a tensor that something has. What gathers a gradient of its own is a tensor of its
    /// own, as after `x.to(device).requires_grad_()`.
    fn is_view_in_use(&self) -> bool {
        self.handle().view().and_then(in_use).is_some() && !(self.requires_grad() && self.is_leaf())
    }

    /// Whether the handle may be written to, by what holds now.
    pub(crate) fn is_writable(&self) -> bool {
        !self.is_view_in_use() && self.check_no_file("assign").is_ok()
    }

    /// # Errors
    /// Where the handle is a view of a tensor in use.
    fn check_no_view(&self, op: &'static str) -> Result<()> {
        if !self.is_view_in_use() {
            return Ok(());
        }
        if let Some(release) = RELEASE.get() {
            release();
        }
        let Some(view) = self.handle().view().and_then(in_use) else { return Ok(()) };
        let Some(base) = view.base.upgrade() else { return Ok(()) };
        let of = Tensor::of_handle(base).described();
        let (by, instead) = match &*view.by {
            "[]" => ("an index", "index once, as in `h[0, 1] = 5` instead of `h[0][1] = 5`"),
            by => (by, "write to that one, by an index, as in `h[0, 1] = 5`"),
        };
        let message = format!(
            "this tensor is a view, by {by}, of another one, {of}, which keeps its value: {instead}; or write to a \
             `clone()` of the view"
        );
        Err(TensorError::value(op, message))
    }
}

/// The nearest view, of those that this one was taken through, of a handle that is in use.
fn in_use(view: &Arc<View>) -> Option<Arc<View>> {
    let mut at = Some(view);
    while let Some(view) = at {
        if view.base.strong_count() > 0 {
            return Some(view.clone());
        }
        at = view.of.as_ref();
    }
    None
}

/// One by one: views of views may be many.
impl Drop for View {
    fn drop(&mut self) {
        let mut of = self.of.take();
        while let Some(mut view) = of.and_then(Arc::into_inner) {
            of = view.of.take();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_view_of_a_view_is_one_of_what_is_in_use() {
        let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
        let row = x.get(&[0.into()]).unwrap().viewing(&x, "[]");
        let element = row.get(&[1.into()]).unwrap().viewing(&row, "[]");
        drop(row);
        let error = element.assign(5.0).unwrap_err().to_string();
        assert!(error.contains("float32[2, 2]") && error.contains("h[0, 1] = 5"), "{error}");
        drop(x);
        element.assign(5.0).unwrap();
        assert_eq!(element.item::<f32>().unwrap(), 5.0);
    }

    #[test]
    fn what_is_copied_for_another_shape_is_no_view() {
        let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let columns = x.narrow(1, 0, 2).unwrap().viewing(&x, "narrow");
        let flat = columns.reshape(&[4]).unwrap().viewing_in_shape(&columns, "reshape");
        flat.assign(7.0).unwrap();
        // A dimension of its own for each is none.
        let deep = columns.reshape(&[2, 1, 2]).unwrap().viewing_in_shape(&columns, "reshape");
        assert!(deep.assign(7.0).is_err());
        assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn what_is_no_view_is_dense_whatever_it_is_made_by() {
        let zeros = Tensor::full(&[2, 3], 0.0, Some(svod_dtype::DType::F32)).unwrap();
        let turned = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap().flip(Some(&[1])).unwrap();
        assert!(zeros.is_dense() && turned.is_dense());
        let row = turned.get(&[1.into()]).unwrap().viewing(&turned, "[]");
        assert!(row.is_dense() && zeros.get(&[1.into()]).unwrap().viewing(&zeros, "[]").is_dense());
        let spread = zeros.expand(&[4, 2, 3]).unwrap().viewing(&zeros, "expand");
        assert!(!spread.is_dense() && !zeros.t().unwrap().viewing(&zeros, "transpose").is_dense());
    }

    #[test]
    fn a_clone_of_a_view_is_no_view() {
        let x = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
        let own = x.detach().unwrap().viewing(&x, "detach").detach().unwrap();
        own.assign(5.0).unwrap();
        assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0]);
    }

    #[test]
    fn long_chains_of_views_are_dropped() {
        let mut all = vec![Tensor::from_slice(&[1.0f32], &[1]).unwrap()];
        for i in 0..100_000 {
            all.push(all[i].clone().viewing(&all[i], "view"));
        }
        drop(all.drain(..100_000));
        assert!(all[0].assign(2.0).is_ok());
    }
}
