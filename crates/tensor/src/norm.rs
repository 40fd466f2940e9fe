//! Normalisation over channels and groups of them. That over the last dimensions is in `nn`.

use svod_ir::size::Size;

use crate::error::{Result, TensorError, show_operands};
use crate::tensor::Tensor;

/// The dimension of channels: `[batch, channels, ..]`.
const CHANNELS: usize = 1;

impl Tensor {
    /// Each channel of `[batch, channels, ..]` less its `mean` and divided by the root of its
    /// `variance`, both of `[channels]`, then scaled and shifted (Ioffe and Szegedy 2015). Without
    /// them, those of this very batch are taken, see [`Tensor::channel_statistics`].
    pub fn batch_norm(
        &self,
        statistics: Option<(&Tensor, &Tensor)>,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        let op = "batch_norm";
        let x = self.as_float()?;
        let own;
        let (mean, variance) = match statistics {
            Some(given) => given,
            None => {
                own = self.channel_statistics()?;
                (&own.0, &own.1)
            }
        };
        let per_channel = |what: &str, t: &Tensor| self.per_channel(op, what, t);
        let (mean, variance) = (per_channel("mean", mean)?, per_channel("variance", variance)?);
        let scale = variance.widened()?.add(epsilon)?.rsqrt()?;
        let scale = match weight {
            Some(weight) => scale.mul(per_channel("weight", weight)?)?,
            None => scale,
        };
        let scaled = x.widened()?.sub(mean)?.mul(scale)?;
        let shifted = match bias {
            Some(bias) => scaled.add(per_channel("bias", bias)?)?,
            None => scaled,
        };
        shifted.cast(x.dtype())
    }

    /// Mean and variance of each channel of `[batch, channels, ..]`, the variance divided by the number
    /// of elements; at least `float32`.
    pub fn channel_statistics(&self) -> Result<(Tensor, Tensor)> {
        self.check_channels("batch_norm")?;
        let wide = self.as_float()?.widened()?;
        let axes: Vec<i64> = (0..self.rank()).filter(|d| *d != CHANNELS).map(|d| d as i64).collect();
        Ok((wide.mean(Some(&axes), false)?, wide.var(Some(&axes), 0.0, false)?))
    }

    /// `groups` groups of the channels of `[batch, channels, ..]`, each less its mean and divided by
    /// its standard deviation, then scaled and shifted by channel (Wu and He 2018).
    pub fn group_norm(
        &self,
        groups: i64,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        self.normalized_groups("group_norm", groups, weight, bias, epsilon)
    }

    /// Each channel of each item of `[batch, channels, ..]` less its mean and divided by its standard
    /// deviation, then scaled and shifted by channel (Ulyanov, Vedaldi and Lempitsky 2016).
    pub fn instance_norm(&self, weight: Option<&Tensor>, bias: Option<&Tensor>, epsilon: f64) -> Result<Tensor> {
        let op = "instance_norm";
        self.check_channels(op)?;
        let channels = self.shape()[CHANNELS].clone();
        match channels.as_const() {
            Some(channels) => self.normalized_groups(op, channels.max(1), weight, bias, epsilon),
            None => Err(TensorError::unsupported(op, format!("a symbolic number of channels, {channels}"))),
        }
    }

    fn normalized_groups(
        &self,
        op: &'static str,
        groups: i64,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        self.check_channels(op)?;
        let shape = self.shape();
        if groups < 1 || shape[CHANNELS].divisible_by(groups) != Some(true) {
            let given = show_operands(&[self.uop()]);
            let message = format!("{groups} groups do not divide the {} channels of {given}", shape[CHANNELS]);
            return Err(TensorError::shape(op, message));
        }
        let x = self.as_float()?;
        let rest: Size = shape[CHANNELS + 1..].iter().product();
        let members = shape[CHANNELS].floordiv(Size::from(groups));
        let rows = x.widened()?.reshape(&[shape[0].clone(), groups.into(), members * rest])?;
        let centred = rows.sub(rows.mean(Some(&[2]), true)?)?;
        let variance = centred.square()?.mean(Some(&[2]), true)?;
        let normal = centred.mul(variance.add(epsilon)?.rsqrt()?)?.reshape(&shape)?;
        let scaled = match weight {
            Some(weight) => normal.mul(self.per_channel(op, "weight", weight)?)?,
            None => normal,
        };
        let shifted = match bias {
            Some(bias) => scaled.add(self.per_channel(op, "bias", bias)?)?,
            None => scaled,
        };
        shifted.cast(x.dtype())
    }

    fn check_channels(&self, op: &'static str) -> Result<()> {
        if self.rank() > CHANNELS {
            return Ok(());
        }
        let given = show_operands(&[self.uop()]);
        Err(TensorError::shape(op, format!("needs [batch, channels, ..], not {given}")))
    }

    /// `[channels]` as `[channels, 1, ..]`, which broadcasts.
    fn per_channel(&self, op: &'static str, what: &str, given: &Tensor) -> Result<Tensor> {
        self.check_channels(op)?;
        let channels = self.shape()[CHANNELS].clone();
        if given.shape() != [channels.clone()] {
            let operands = show_operands(&[self.uop(), given.uop()]);
            return Err(TensorError::shape(op, format!("{operands}: the {what} must be [{channels}]")));
        }
        let mut shape = vec![Size::ONE; self.rank() - CHANNELS];
        shape[0] = channels;
        given.reshape(&shape)
    }
}
