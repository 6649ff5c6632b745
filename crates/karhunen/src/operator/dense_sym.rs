//! A symmetric matrix in memory, such as a covariance or a Gram matrix.

use super::SymOp;
use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::dense::symmetric::symmetric_product;

/// A square matrix with equal triangles.
impl SymOp for Matrix {
    fn dim(&self) -> usize {
        self.n_rows()
    }

    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        symmetric_product(self, q, exec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Run;
    use crate::linalg::dense::small::{multiply, t_multiply};
    use crate::testing::test_matrices::gaussian;
    use crate::testing::test_matrices::max_difference;

    #[test]
    fn product_and_bits() {
        for (dim, l) in [(1, 1), (7, 3), (64, 8), (301, 16), (700, 9)] {
            let x = gaussian(dim + 1, dim, 1, 0);
            let a = t_multiply(&x, &x);
            let q = gaussian(dim, l, 2, 0);
            let one = a.apply(&q, &Exec::sequential()).unwrap();
            assert!(max_difference(&one, &multiply(&a, &q)) < 1e-11 * dim as f64);
            for threads in [2, 3] {
                let several = Exec::run(&Run::threads(threads), |exec| a.apply(&q, exec)).unwrap();
                assert_eq!(one, several);
            }
        }
    }
}
