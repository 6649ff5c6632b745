//! Models of every kind are written, read, and damaged.

mod categorical;
mod incomplete;
mod kernel;
mod nystrom;
mod pca;

use karhunen::record::Number;

use crate::OfFile;

use super::*;
use crate::checksum::sealed_again;
use crate::input::Bytes;
use crate::model_numbers;

/// How a file was read, with every field.
fn of_file() -> OfFile {
    OfFile {
        set_aside: vec!["class".to_owned()],
        id_column: Some("id".to_owned()),
        na: vec!["-999".to_owned()],
        transposed: true,
    }
}

/// The bytes of a file.
fn written(record: &Record<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    model_file::write(record, &mut bytes).unwrap();
    bytes
}

/// The model of a file of these bytes.
fn read<M: Stored>(bytes: Vec<u8>) -> Result<Saved<M>> {
    let path = Path::new("m");
    Saved::of(path, model_file::read(&Input { path: path.into(), bytes: Bytes::Owned(bytes) })?)
}

/// Puts an array in the place of another of its name.
fn replace<T: Number>(record: &mut Record<'_>, name: &str, shape: &[usize], values: Vec<T>) {
    record.arrays.retain(|old| old.name != name);
    record.put(name, shape, values);
}

/// A damage of a record, and the message that names it.
type Case = (fn(&mut Record<'_>), &'static str);

fn damage_is_named<M: Stored + std::fmt::Debug>(saved: &Saved<M>, cases: &[Case]) {
    for (change, message) in cases {
        let mut record = saved.record().unwrap();
        change(&mut record);
        let Err(error) = read::<M>(written(&record)) else { panic!("read all the same, not: {message}") };
        assert_eq!(error.to_string(), *message);
    }
}

/// No file cut or changed in one byte is read; with a checksum to match, those that are read can be used.
fn no_damaged_byte_passes<M: Stored>(saved: &Saved<M>, mut try_out: impl FnMut(&M)) {
    let whole = written(&saved.record().unwrap());
    assert!(read::<M>(whole.clone()).is_ok());
    for at in 0..whole.len() {
        for flip in [1, 1 << (at % 8), 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            assert!(read::<M>(bytes.clone()).is_err(), "byte {at}");
            if let Ok(saved) = read::<M>(sealed_again(bytes)) {
                try_out(&saved.model);
            }
        }
        assert!(read::<M>(whole[..at].to_vec()).is_err(), "cut to {at} bytes");
    }
}
