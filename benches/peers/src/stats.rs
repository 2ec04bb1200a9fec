//! Medians, percentiles, spread and ratios.

/// Where a [`Curve`] is read.
pub const QUANTILES: [f64; 8] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 1.0];

/// A distribution, read at [`QUANTILES`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve(pub [f64; QUANTILES.len()]);

impl Curve {
    /// Of at least one sample.
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Curve(QUANTILES.map(|quantile| nearest_rank(&samples, quantile)))
    }

    /// The median of each point.
    pub fn median_of(curves: &[Curve]) -> Option<Self> {
        let at = |point: usize| median(curves.iter().map(|curve| curve.0[point]));
        (!curves.is_empty()).then(|| Curve(std::array::from_fn(at)))
    }

    /// Half of the samples are not above it.
    pub fn p50(&self) -> f64 {
        self.0[0]
    }

    /// 99 % of them.
    pub fn p99(&self) -> f64 {
        self.0[4]
    }

    /// 99.9 % of them.
    pub fn p999(&self) -> f64 {
        self.0[6]
    }
}

/// The smallest sample that at least this share of the samples does not exceed.
fn nearest_rank(sorted: &[f64], quantile: f64) -> f64 {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// The one in the middle, or the mean of the two; 0 of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The distance between the largest and the smallest, as a share of the median.
pub fn spread(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::MIN, f64::max);
    let smallest = values.iter().copied().fold(f64::MAX, f64::min);
    let median = median(values.iter().copied());
    if median > 0.0 { (largest - smallest) / median } else { 0.0 }
}

/// Which values are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times and sizes.
    Lower,
    /// Throughput.
    Higher,
}

/// Above 1 means that ours is better. Values below `floor` cannot be told from it.
pub fn ratio(better: Better, floor: f64, peer: f64, ours: f64) -> f64 {
    let (peer, ours) = (peer.max(floor), ours.max(floor));
    match better {
        Better::Lower => peer / ours,
        Better::Higher => ours / peer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_smallest_sample_that_so_many_do_not_exceed() {
        let curve = Curve::of((1..=1000).rev().map(f64::from).collect());
        assert_eq!((curve.p50(), curve.p99(), curve.p999()), (500.0, 990.0, 999.0));
        assert_eq!(curve.0[7], 1000.0);
        assert_eq!(Curve::of(vec![7.0]).0, [7.0; QUANTILES.len()]);
    }

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(median([9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([]), 0.0);
    }

    #[test]
    fn the_median_of_curves_is_taken_point_by_point() {
        let curves = [1.0, 9.0, 3.0].map(|value| Curve([value; QUANTILES.len()]));
        assert_eq!(Curve::median_of(&curves), Some(Curve([3.0; QUANTILES.len()])));
        assert_eq!(Curve::median_of(&[]), None);
    }

    #[test]
    fn the_spread_is_a_share_of_the_median() {
        assert_eq!(spread(&[8.0, 10.0, 13.0]), 0.5);
        assert_eq!(spread(&[0.0, 0.0]), 0.0);
    }

    #[test]
    fn a_ratio_above_1_means_that_ours_is_better() {
        assert_eq!(ratio(Better::Lower, 0.0, 30.0, 10.0), 3.0);
        assert_eq!(ratio(Better::Higher, 0.0, 30.0, 10.0), 1.0 / 3.0);
    }

    #[test]
    fn values_below_the_floor_are_equal() {
        assert_eq!(ratio(Better::Lower, 100.0, 3.0, 70.0), 1.0);
        assert_eq!(ratio(Better::Lower, 100.0, 200.0, 70.0), 2.0);
    }
}
