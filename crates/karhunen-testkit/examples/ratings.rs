//! Writes the entries of a catalogue of ratings for other programs: `rows.npy`, `columns.npy` (int32),
//! `values.npy` (float32).
//!
//! `ratings N_SAMPLES N_FEATURES N_ENTRIES N_COMPONENTS SEED FOLDER`

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use karhunen_testkit::Catalogue;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [samples, features, entries, components, seed, folder] = arguments.as_slice() else {
        return Err("usage: ratings N_SAMPLES N_FEATURES N_ENTRIES N_COMPONENTS SEED FOLDER".into());
    };
    let catalogue = Catalogue {
        n_components: components.parse()?,
        seed: seed.parse()?,
        ..Catalogue::new(samples.parse()?, features.parse()?, entries.parse()?)
    };
    let ratings = catalogue.make();
    let folder = Path::new(folder);
    fs::create_dir_all(folder)?;
    write(&folder.join("rows.npy"), "<i4", &ratings.samples, |x| x.to_le_bytes())?;
    write(&folder.join("columns.npy"), "<i4", &ratings.features, |x| x.to_le_bytes())?;
    write(&folder.join("values.npy"), "<f4", &ratings.values, |x| x.to_le_bytes())
}

/// Writes a file of numpy, version 1.0: a magic number, the length of the header, the header padded to 64 bytes,
/// values.
fn write<T: Copy>(path: &Path, descr: &str, values: &[T], bytes: impl Fn(T) -> [u8; 4]) -> Outcome<()> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let header = format!("{dict:<117}\n");
    let length = u16::try_from(header.len())?;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&length.to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for value in values {
        file.write_all(&bytes(*value))?;
    }
    file.flush()?;
    Ok(())
}
