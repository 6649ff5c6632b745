//! Moments and scatter matrices as records. Of the matrix, the upper triangle is stored, row by row.

use crate::error::Result;
use crate::linalg::Matrix;
use crate::moments::packed::{PackedScatter, n_packed};
use crate::moments::{Moments, Scatter};
use crate::record::{Record, Recorded, damaged, in_array};

/// The name of the upper triangle of a scatter matrix.
const TRIANGLE: &str = "scatter";

/// The numbers of a scatter, as text.
#[derive(serde::Serialize, serde::Deserialize)]
struct Counts {
    n_samples: usize,
    n_features: usize,
    /// All weights are integers.
    whole: bool,
}

impl Recorded for Scatter {
    const KIND: &'static str = "scatter";

    fn to_record(&self) -> Result<Record<'_>> {
        self.check_shape()?;
        let mut record = Record::new(Self::KIND);
        self.moments.put(&mut record);
        self.put_matrix(&mut record);
        let Moments { n_samples, whole, ref mean, .. } = self.moments;
        record.put_json("counts", &Counts { n_samples, n_features: mean.len(), whole })?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let Counts { n_samples, n_features, whole } = record.json("counts")?;
        let moments = Moments::take(record, n_samples, n_features, whole)?;
        if n_samples == 0 && moments.weight > 0.0 {
            return Err(damaged("there are weights and no rows; the file is damaged, make it again".into()));
        }
        PackedScatter::take(record, moments)?.unpacked()
    }
}

impl Moments {
    /// Adds the arrays; the numbers of rows and columns, and `whole`, are for the caller.
    pub(crate) fn put<'a>(&'a self, record: &mut Record<'a>) {
        record.put_row("weights", vec![self.weight, self.weight_squared]);
        record.put_row("divisor", vec![self.divisor]);
        record.put_row("mean", &self.mean);
        record.put_row("mean_rest", &self.mean_rest);
        record.put_row("sum_of_squares", &self.sum_of_squares);
    }

    /// Takes the arrays out of a record.
    ///
    /// # Errors
    /// [`crate::Error::Record`] for arrays that are missing or damaged; [`Moments::check`].
    pub(crate) fn take(record: &mut Record<'_>, n_samples: usize, p: usize, whole: bool) -> Result<Self> {
        let weights = record.take_not_negative("weights", 2)?;
        let (weight, weight_squared) = (weights[0], weights[1]);
        // Files of version 0.2 and before have neither the divisor nor the rests of the means.
        let divisor = record.if_there("divisor", |record, name| record.take_not_negative(name, 1))?;
        let difference = if weight > 0.0 { (weight - weight_squared / weight).max(0.0) } else { 0.0 };
        let mean_rest = record.if_there("mean_rest", Record::take_any_row)?.unwrap_or_default();
        if !mean_rest.is_empty() && mean_rest.len() != p {
            return Err(in_array(
                "mean_rest",
                format!("has {} values for {p} columns; the file is damaged, make it again", mean_rest.len()),
            ));
        }
        if weight == 0.0 && weight_squared > 0.0 {
            let problem = format!("hold the sums 0 and {weight_squared}; the file is damaged, make it again");
            return Err(in_array("weights", problem));
        }
        let moments = Self {
            n_samples,
            weight,
            weight_squared,
            divisor: divisor
                .map_or(if difference > f64::EPSILON * weight { difference } else { 0.0 }, |d| d[0]),
            mean: record.take_row("mean", p)?,
            mean_rest,
            sum_of_squares: record.take_not_negative("sum_of_squares", p)?,
            whole,
        };
        moments.check()?;
        Ok(moments)
    }
}

impl Scatter {
    /// Adds the upper triangle of the matrix.
    pub(crate) fn put_matrix(&self, record: &mut Record<'_>) {
        record.put_row(TRIANGLE, upper(&self.matrix));
    }
}

impl PackedScatter {
    /// Adds the triangle.
    pub(crate) fn put_triangle<'a>(&'a self, record: &mut Record<'a>) {
        record.put_row(TRIANGLE, &self.triangle);
    }

    /// Takes the triangle out of a record.
    ///
    /// # Errors
    /// [`crate::Error::Record`] for a triangle that is missing or damaged.
    pub(crate) fn take(record: &mut Record<'_>, moments: Moments) -> Result<Self> {
        let p = moments.mean.len();
        let scatter = Self { moments, triangle: record.take_row(TRIANGLE, n_packed(p))? };
        let mut place = 0;
        for j in 0..p {
            let square = scatter.triangle[place];
            if square < 0.0 {
                let problem =
                    format!("holds a sum of squares of {square}; the file is damaged, make it again");
                return Err(in_array(TRIANGLE, problem));
            }
            place += p - j;
        }
        Ok(scatter)
    }
}

/// The upper triangle of a square matrix, row by row.
fn upper(matrix: &Matrix) -> Vec<f64> {
    let p = matrix.n_rows();
    let mut triangle = Vec::with_capacity(n_packed(p));
    (0..p).for_each(|i| triangle.extend_from_slice(&matrix.row(i)[i..]));
    triangle
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Run;
    use crate::linalg::Dense;

    fn scatter() -> Scatter {
        let x: Vec<f64> = (0..40).map(|e| f64::from((e * 7) % 11) + 0.25 * f64::from(e / 4)).collect();
        let weights: Vec<f64> = (0..10).map(|i| f64::from(i % 3)).collect();
        Scatter::of(&Dense::row_major(&x, 10, 4).unwrap(), Some(&weights), &Run::threads(1)).unwrap()
    }

    #[test]
    fn a_scatter_reads_back_bit_for_bit() {
        for scatter in [scatter(), Scatter::empty(3)] {
            let mut record = scatter.to_record().unwrap();
            assert_eq!(Scatter::from_record(&mut record).unwrap(), scatter);
        }
    }

    #[test]
    fn damage_is_an_error_that_names_the_array() {
        let scatter = scatter();
        let broken = |change: &dyn Fn(&mut Record<'_>)| {
            let mut record = scatter.to_record().unwrap();
            change(&mut record);
            Scatter::from_record(&mut record).unwrap_err().to_string()
        };
        let shorter = broken(&|record| {
            record.take_any_row("scatter").unwrap();
            record.put_row("scatter", vec![1.0; 9]);
        });
        assert!(shorter.contains("scatter") && shorter.contains("[9], expected [10]"), "{shorter}");
        let negative = broken(&|record| {
            record.take_any_row("scatter").unwrap();
            record.put_row("scatter", vec![-1.0; 10]);
        });
        assert!(negative.contains("a sum of squares of -1"), "{negative}");
        let weights = broken(&|record| {
            record.take_any_row("weights").unwrap();
            record.put_row("weights", vec![-1.0, 1.0]);
        });
        assert!(weights.contains("weights"), "{weights}");
        let zero = broken(&|record| {
            record.take_any_row("weights").unwrap();
            record.put_row("weights", vec![-0.0, 9.0]);
        });
        assert!(zero.contains("`weights`: hold the sums 0 and 9"), "{zero}");
        let huge = broken(&|record| {
            let counts = Counts { n_samples: 10, n_features: usize::MAX, whole: true };
            record.put_json("counts", &counts).unwrap();
        });
        assert!(huge.contains("mean"), "{huge}");
        let no_rows = broken(&|record| {
            record.put_json("counts", &Counts { n_samples: 0, n_features: 4, whole: true }).unwrap();
        });
        assert!(no_rows.contains("no rows"), "{no_rows}");
    }
}
