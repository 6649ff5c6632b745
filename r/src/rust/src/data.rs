//! R's matrices, data frames and sparse matrices as sources of rows. Values are borrowed.

use karhunen::source::{Block, Pass};
use karhunen::{Dense, Result, Source, Sparse};
use savvy::{ListSexp, NotAvailableValue, RealSexp, TypedSexp, savvy_err};

use crate::call::{element, text};

/// Vectors of R, which stay where they are until the call of R returns.
pub(crate) struct Given {
    form: Form,
    shape: (usize, usize),
}

enum Form {
    /// All values, column after column.
    Matrix(RealSexp),
    /// One vector for each column of a data frame, or for all of a matrix of integers.
    Columns(Vec<TypedSexp>),
    /// Compressed columns, as a `dgCMatrix` stores them.
    Sparse { pointers: TypedSexp, rows: TypedSexp, values: RealSexp },
}

impl Given {
    /// Reads the list that `engine_data` of the package makes.
    ///
    /// # Errors
    /// A list of another form.
    pub(crate) fn read(list: &ListSexp) -> savvy::Result<Self> {
        let dim = match element(list, "dim")?.into_typed() {
            TypedSexp::Integer(dim) => dim.to_vec(),
            _ => Vec::new(),
        };
        let &[n, p] = dim.as_slice() else {
            return Err(savvy_err!("internal error: data have two dimensions"));
        };
        let shape = (usize::try_from(n).unwrap_or(0), usize::try_from(p).unwrap_or(0));
        let values = |name: &str| element(list, name).and_then(RealSexp::try_from);
        let form = match text(list, "form")?.as_str() {
            "matrix" => Form::Matrix(values("values")?),
            "columns" => {
                let columns = ListSexp::try_from(element(list, "values")?)?;
                Form::Columns(columns.values_iter().map(|column| column.into_typed()).collect())
            }
            _ => Form::Sparse {
                pointers: element(list, "p")?.into_typed(),
                rows: element(list, "i")?.into_typed(),
                values: values("values")?,
            },
        };
        Ok(Self { form, shape })
    }

    /// The data as a source of rows.
    ///
    /// # Errors
    /// Vectors of another type; indices of a sparse matrix that are damaged.
    pub(crate) fn source(&self) -> savvy::Result<Box<dyn Source<f64> + Send + '_>> {
        let (n, p) = self.shape;
        match &self.form {
            Form::Matrix(values) => Ok(Box::new(Dense::column_major(values.as_slice(), n, p)?)),
            Form::Columns(vectors) => {
                let mut columns = Vec::with_capacity(p);
                for vector in vectors {
                    columns.extend(Column::all_of(vector, n)?);
                }
                Ok(Box::new(Columns { columns, n }))
            }
            Form::Sparse { pointers: TypedSexp::Integer(p_), rows: TypedSexp::Integer(i), values } => {
                Ok(Box::new(Sparse::csc(n, p, p_.as_slice(), i.as_slice(), values.as_slice())?))
            }
            Form::Sparse { .. } => Err(savvy_err!("internal error: indices are integers")),
        }
    }
}

/// A column of numbers, integers or truth values.
enum Column<'a> {
    Numbers(&'a [f64]),
    /// Integers, of which R's `NA` becomes the `NA` of doubles.
    Integers(&'a [i32]),
}

impl<'a> Column<'a> {
    /// The columns of `n` values that a vector holds, one after the other.
    fn all_of(vector: &'a TypedSexp, n: usize) -> savvy::Result<Vec<Self>> {
        let n = n.max(1);
        match vector {
            TypedSexp::Real(values) => Ok(values.as_slice().chunks_exact(n).map(Self::Numbers).collect()),
            TypedSexp::Integer(values) => Ok(values.as_slice().chunks_exact(n).map(Self::Integers).collect()),
            TypedSexp::Logical(values) => {
                Ok(values.as_slice_raw().chunks_exact(n).map(Self::Integers).collect())
            }
            _ => Err(savvy_err!("internal error: a column is not numeric")),
        }
    }

    /// Writes the values of some rows.
    fn read(&self, rows: std::ops::Range<usize>, out: &mut [f64]) {
        match self {
            Self::Numbers(values) => out.copy_from_slice(&values[rows]),
            Self::Integers(values) => {
                for (out, &value) in out.iter_mut().zip(&values[rows]) {
                    *out = if value.is_na() { f64::na() } else { f64::from(value) };
                }
            }
        }
    }
}

/// The columns of a data frame or of a matrix of integers, which a visit copies a block of rows at a time.
struct Columns<'a> {
    columns: Vec<Column<'a>>,
    n: usize,
}

impl Columns<'_> {
    /// Number of rows of a block, of about two megabytes.
    fn block_rows(&self) -> usize {
        const VALUES: usize = 1 << 18;
        (VALUES / self.columns.len().max(1)).clamp(1, self.n.max(1))
    }
}

impl Source<f64> for Columns<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.n, self.columns.len())
    }

    fn pass(&self) -> Pass {
        Pass::Memory
    }

    fn block_bytes(&self) -> f64 {
        (self.block_rows() * self.columns.len() * size_of::<f64>()) as f64
    }

    fn n_stored(&self) -> usize {
        self.n * self.columns.len()
    }

    fn is_sparse(&self) -> bool {
        false
    }

    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, f64>) -> Result<()>) -> Result<()> {
        let (step, p) = (self.block_rows(), self.columns.len());
        let mut values = vec![0.0; step * p];
        for first in (0..self.n).step_by(step) {
            let rows = step.min(self.n - first);
            let values = &mut values[..rows * p];
            for (column, out) in self.columns.iter().zip(values.chunks_exact_mut(rows)) {
                column.read(first..first + rows, out);
            }
            f(first, Block::Dense(Dense::column_major(values, rows, p)?))?;
        }
        Ok(())
    }
}
