/// A claim on a part of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Proportion among all parts, at most 2^20.
    pub weight: u64,
    /// What it gets at least, at most `most`.
    pub least: usize,
    /// What it gets at most.
    pub most: usize,
}

/// Splits `total` in proportion to the weights, within the bounds of each part, by largest remainders: no other split of the
/// same total has a smaller greatest difference to the exact proportions. Equal claims are met in order of `parts`.
///
/// `total` and the bounds are at most 2^20, and there are at most 2^10 parts, so that no number overflows. Gives everything that the bounds allow if `total` is above it, and the least of each if it is below. Costs the logarithm of
/// the numbers times the parts.
pub fn apportion(total: usize, parts: &[Part]) -> Vec<usize> {
    let split = Split::new(total, parts);
    let lift = split.highest_lift();
    let mut given = split.given(lift);
    // All that would get one more at the next lift have equal claims.
    let next = split.given(lift + 1);
    let mut remaining = total.saturating_sub(given.iter().sum());
    for (got, next) in given.iter_mut().zip(next) {
        let more = (next - *got).min(remaining);
        *got += more;
        remaining -= more;
    }
    given
}

/// A split in which every part gets its proportion and the same lift on top, rounded down and bounded.
struct Split<'a> {
    total: usize,
    sum: i64,
    parts: &'a [Part],
}

impl<'a> Split<'a> {
    fn new(total: usize, parts: &'a [Part]) -> Self {
        let sum: u64 = parts.iter().map(|part| part.weight).sum();
        Self { total, sum: i64::try_from(sum.max(1)).unwrap_or(i64::MAX), parts }
    }

    /// `lift` is in units of 1 / sum.
    fn given(&self, lift: i64) -> Vec<usize> {
        let total = signed(self.total);
        let part = |part: &Part| {
            let exact = (i64::try_from(part.weight).unwrap_or(i64::MAX) * total + lift)
                .div_euclid(self.sum);
            usize::try_from(exact.max(0)).unwrap_or(usize::MAX).clamp(part.least, part.most)
        };
        self.parts.iter().map(part).collect()
    }

    /// The highest lift at which no more than the total is given.
    fn highest_lift(&self) -> i64 {
        let most: usize = self.parts.iter().map(|part| part.most).sum();
        let bound = self.sum * signed(self.total + most + 1);
        let (mut low, mut high) = (-bound, bound);
        while low < high {
            let middle = low + (high - low + 1) / 2;
            let fits = self.given(middle).iter().sum::<usize>() <= self.total;
            if fits { low = middle } else { high = middle - 1 }
        }
        low
    }
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
