//! The errors for Parquet and Arrow in a build without the feature `columnar`.

use crate::input::Input;
use crate::{Cause, Error, Result};

/// The error of a file of the format `what`.
fn refuse<R>(what: &'static str, input: &Input) -> Result<R> {
    Err(Error::new(&input.path, Cause::LeftOut { what, feature: "columnar" }))
}

pub(crate) mod arrow {
    use karhunen::Scalar;

    use super::refuse;
    use crate::categories::{CategoryTable, ColumnKinds};
    use crate::input::Input;
    use crate::triples::{Entries, Wanted};
    use crate::{ReadOptions, Result, Table};

    pub(crate) fn read(input: Input, _: &ReadOptions) -> Result<Table> {
        refuse("Arrow", &input)
    }

    pub(crate) fn read_categories(
        input: Input,
        _: ColumnKinds<'_>,
        _: &ReadOptions,
    ) -> Result<CategoryTable> {
        refuse("Arrow", &input)
    }

    pub(crate) fn read_triples<T: Scalar>(input: Input, _: &Wanted, _: &ReadOptions) -> Result<Entries<T>> {
        refuse("Arrow", &input)
    }
}

pub(crate) mod parquet {
    use std::io::Write;

    use karhunen::Scalar;

    use super::refuse;
    use crate::categories::{CategoryTable, ColumnKinds};
    use crate::input::Input;
    use crate::table::Written;
    use crate::triples::{Entries, Wanted};
    use crate::{ReadOptions, Result, Table};

    pub(crate) fn read(input: Input, _: &ReadOptions) -> Result<Table> {
        refuse("Parquet", &input)
    }

    pub(crate) fn read_categories(
        input: Input,
        _: ColumnKinds<'_>,
        _: &ReadOptions,
    ) -> Result<CategoryTable> {
        refuse("Parquet", &input)
    }

    pub(crate) fn read_triples<T: Scalar>(input: Input, _: &Wanted, _: &ReadOptions) -> Result<Entries<T>> {
        refuse("Parquet", &input)
    }

    /// Fails; [`crate::check_table_path`] refuses the name of the file before.
    pub(crate) fn write<T: Scalar>(_: &mut (dyn Write + Send), _: &dyn Written<T>) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

pub(crate) mod pairs {
    use super::refuse;
    use crate::input::Input;
    use crate::mapped::Mapped;
    use crate::triples::Wanted;
    use crate::triples::pair_block::Visitor;
    use crate::{Error, ReadOptions, Result};

    /// A file with two columns of ids. There is none.
    pub(crate) enum ColumnPairs {}

    impl ColumnPairs {
        pub(crate) fn of_parquet(input: Input, _: &ReadOptions, _: &Wanted) -> Result<(Self, [String; 2])> {
            refuse("Parquet", &input)
        }

        pub(crate) fn of_arrow(input: Input, _: &ReadOptions, _: &Wanted) -> Result<(Self, [String; 2])> {
            refuse("Arrow", &input)
        }

        pub(crate) fn mapped(&self) -> Option<Mapped> {
            match *self {}
        }

        pub(crate) fn visit<X, E: From<Error>>(
            &self,
            _: &mut Visitor<'_, X, E>,
            _: &dyn Fn(),
        ) -> std::result::Result<(), E> {
            match *self {}
        }
    }
}
