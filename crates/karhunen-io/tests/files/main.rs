//! Files of every format, good, damaged and malformed, as one program.

mod damage;
#[cfg(feature = "columnar")]
mod file_rows;
mod kinds;
#[cfg(not(all(feature = "columnar", feature = "hdf5", feature = "zarr")))]
mod left_out;
mod malformed;
#[cfg(feature = "hdf5")]
mod single_cell;
mod text;
mod values;
// Every store is compared with the same data in HDF5.
#[cfg(all(feature = "hdf5", feature = "zarr"))]
mod zarr;
