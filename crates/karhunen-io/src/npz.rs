//! NPZ: a zip archive of NPY arrays, or the sparse matrix that `scipy.sparse.save_npz` writes as several arrays.

use std::fs::File;
use std::io::{Cursor, Read, Write};

use karhunen::error::Phrase;
use karhunen::memory;
use zip::ZipArchive;

use crate::disk_space;
use crate::input::{Bytes, Input, copying_failed};
use crate::mapped::Mapped;
use crate::option_names;
use crate::zip_archive::{MOST_INFLATED, zip_cause};
use crate::{Cause, Error, ObservedData, Place, ReadOptions, Result, Table};
use crate::{foreign, npy, npz_sparse, packed};

/// Reads the only array of an archive, the array that [`ReadOptions::array`] names, or a sparse matrix.
///
/// # Errors
/// [`Cause::Format`] for archives and arrays that are damaged or not supported, [`Cause::Option`] if an array must
/// be chosen.
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    options.allow_only(&input.path, "NPZ", &[option_names::TRANSPOSE, option_names::ARRAY])?;
    let mut archive = Archive::open(&input, options)?;
    if let Some(name) = &options.array {
        return archive.dense(name);
    }
    if archive.is_sparse() {
        return npz_sparse::read(archive, options);
    }
    let names = archive.names.clone();
    match &names[..] {
        [name] => archive.dense(name),
        [] => {
            let kind = foreign::of_archive(archive.zip.file_names().flatten());
            let message = kind.map(|kind| kind.message(&input.path));
            let message = message.unwrap_or_else(|| "the archive holds no NPY array".to_owned());
            Err(Error::new(&input.path, Cause::format(message)))
        }
        _ => {
            let message = Phrase::new("holds several arrays; choose one with ")
                .option(option_names::ARRAY)
                .text(format!(": {}", crate::names::list(&names)));
            Err(Error::new(&input.path, Cause::option(message)))
        }
    }
}

/// The stored entries of a sparse matrix, with repeated entries averaged; `None` for other archives.
///
/// # Errors
/// As [`read`].
pub(crate) fn averaged(input: &Input, options: &ReadOptions) -> Result<Option<ObservedData>> {
    options.allow_only(&input.path, "NPZ", &[option_names::TRANSPOSE, option_names::ARRAY])?;
    let archive = Archive::open(input, options)?;
    if options.array.is_some() || !archive.is_sparse() {
        return Ok(None);
    }
    npz_sparse::averaged(archive, options).map(Some)
}

/// An open archive and the names of its arrays.
pub(crate) struct Archive<'a> {
    pub(crate) input: &'a Input,
    zip: ZipArchive<Cursor<&'a [u8]>>,
    pub(crate) names: Vec<String>,
    options: &'a ReadOptions,
}

impl<'a> Archive<'a> {
    fn open(input: &'a Input, options: &'a ReadOptions) -> Result<Self> {
        let refuse = |error| Error::new(&input.path, zip_cause(error));
        let zip = ZipArchive::new(Cursor::new(input.as_slice())).map_err(refuse)?;
        let mut names = Vec::new();
        for name in zip.file_names() {
            if let Some(name) = name.map_err(refuse)?.strip_suffix(".npy") {
                names.push(name.to_owned());
            }
        }
        Ok(Self { input, zip, names, options })
    }

    /// Returns true if the archive holds a sparse matrix.
    fn is_sparse(&self) -> bool {
        ["format", "shape"].iter().all(|part| self.names.iter().any(|name| name == part))
    }

    /// An error in one array.
    pub(crate) fn error(&self, name: &str, cause: Cause) -> Error {
        Error::at(&self.input.path, Place { name: Some(name.to_owned()), ..Place::default() }, cause)
    }

    fn dense(&mut self, name: &str) -> Result<Table> {
        if !self.names.iter().any(|known| known == name) {
            return Err(Error::new(
                &self.input.path,
                Cause::Column {
                    option: option_names::ARRAY,
                    wanted: name.to_owned(),
                    problem: format!("there is no such array; there are {}", crate::names::list(&self.names)),
                },
            ));
        }
        let Unpacked { input, file } = self.unpack(name)?;
        let transpose = self.options.transpose;
        match file {
            Some(file) => npy::spooled_table(&input, file, self.options, "NPZ"),
            None => npy::array_table(input, transpose, "NPZ").map_err(|cause| self.error(name, cause)),
        }
    }

    /// Decompresses a member: at most its declared size, and at most the size that its compressed bytes can hold. A
    /// member beyond the memory limit goes to a temporary file.
    pub(crate) fn unpack(&mut self, name: &str) -> Result<Unpacked> {
        let Self { input, zip, options, .. } = self;
        let most_unpacked = options.most_unpacked();
        let place = || Place { name: Some(name.to_owned()), ..Place::default() };
        let refuse = |cause| Error::at(&input.path, place(), cause);
        let member = zip.by_name(&format!("{name}.npy")).map_err(|error| refuse(zip_cause(error)))?;
        let (declared, packed) = (member.size(), member.compressed_size());
        let lying = || {
            refuse(Cause::format(format!(
                "declares {declared} bytes, which its {packed} packed bytes do not hold; the archive is damaged"
            )))
        };
        if declared > packed.saturating_mul(MOST_INFLATED) || packed > input.as_slice().len() as u64 {
            return Err(lying());
        }
        if declared > packed.max(most_unpacked) {
            return Err(refuse(packed::too_much(most_unpacked)));
        }
        let damaged = |error: std::io::Error| {
            refuse(Cause::format(format!("cannot be unpacked, the archive is damaged ({error})")))
        };
        let mut content = member.take(declared.saturating_add(1));
        let path = input.path.clone();
        if options.memory_limit.is_some_and(|limit| declared > limit) {
            let file = spooled(input, &mut content, declared, options, &damaged)?;
            let failed = |source| copying_failed(&path, &options.copies(), source);
            let map = Mapped::open(&path, file.try_clone().map_err(failed)?).map_err(failed)?;
            let map = map.ok_or_else(|| failed(std::io::ErrorKind::Unsupported.into()))?;
            if map.len() as u64 != declared {
                return Err(lying());
            }
            return Ok(Unpacked { input: Input { path, bytes: Bytes::Mapped(map) }, file: Some(file) });
        }
        let mut bytes = Vec::new();
        let capacity = usize::try_from(declared).map_err(|_| lying())?;
        let advice = || vec![karhunen::error::Advice::RaiseLimit, "write an archive of less".into()];
        memory::ask("unpacking it", declared as f64, advice).map_err(|error| refuse(error.into()))?;
        bytes.reserve_exact(capacity);
        content.read_to_end(&mut bytes).map_err(damaged)?;
        if bytes.len() as u64 != declared {
            return Err(lying());
        }
        Ok(Unpacked { input: Input { path, bytes: Bytes::Owned(bytes) }, file: None })
    }
}

/// A decompressed member, and the temporary file that holds it, if it is beyond the memory limit.
pub(crate) struct Unpacked {
    pub(crate) input: Input,
    pub(crate) file: Option<File>,
}

/// Copies a member to a temporary file without a name.
fn spooled(
    input: &Input,
    content: &mut dyn Read,
    declared: u64,
    options: &ReadOptions,
    damaged: &dyn Fn(std::io::Error) -> Error,
) -> Result<File> {
    let (path, folder) = (&input.path, options.copies());
    disk_space::ask(path, &folder, declared as f64)?;
    let failed = |source| copying_failed(path, &folder, source);
    let mut file = tempfile::tempfile_in(&folder).map_err(failed)?;
    let mut part = vec![0; 1 << 20];
    loop {
        let n = content.read(&mut part).map_err(damaged)?;
        if n == 0 {
            return Ok(file);
        }
        file.write_all(&part[..n]).map_err(failed)?;
        // The packed bytes that were read take no memory any more.
        input.mapped().iter().for_each(Mapped::release);
    }
}

#[cfg(test)]
mod tests {
    use karhunen::matrix::{Major, SparseMatrix};
    use zip::CompressionMethod;
    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;
    use crate::{Data, Values};

    fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn of_i32(values: &[i32]) -> Vec<u8> {
        npy("<i4", &format!("({},)", values.len()), bytemuck::cast_slice(values))
    }

    fn of_i64(values: &[i64]) -> Vec<u8> {
        npy("<i8", &format!("({},)", values.len()), bytemuck::cast_slice(values))
    }

    fn of_f32(values: &[f32]) -> Vec<u8> {
        npy("<f4", &format!("({},)", values.len()), bytemuck::cast_slice(values))
    }

    fn archive(method: CompressionMethod, members: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in members {
            let options = SimpleFileOptions::default().compression_method(method);
            zip.start_file(format!("{name}.npy"), options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn read_bytes(bytes: Vec<u8>, options: &ReadOptions) -> Result<Table> {
        read(Input { path: "x.npz".into(), bytes: Bytes::Owned(bytes) }, options)
    }

    fn error(bytes: Vec<u8>) -> String {
        read_bytes(bytes, &ReadOptions::default()).unwrap_err().to_string()
    }

    /// [[1, 0, 2], [0, 3, 0]] by rows, the first row unsorted and its 2 in two parts.
    fn csr() -> Vec<(&'static str, Vec<u8>)> {
        vec![
            ("indices", of_i32(&[2, 0, 2, 1])),
            ("indptr", of_i64(&[0, 3, 4])),
            ("format", npy("|S3", "()", b"csr")),
            ("shape", of_i64(&[2, 3])),
            ("data", of_f32(&[0.5, 1.0, 1.5, 3.0])),
        ]
    }

    fn with(name: &str, bytes: Vec<u8>) -> Vec<u8> {
        let mut members = csr();
        let place = members.iter().position(|member| member.0 == name).unwrap();
        members[place].1 = bytes;
        archive(CompressionMethod::Stored, &members)
    }

    fn sparse(table: &Table) -> String {
        let Data::F32(Values::Sparse(matrix)) = &table.data else { panic!("not sparse f32: {table:?}") };
        format!("{matrix:?}")
    }

    /// Columns and values of each row.
    fn entries(table: &Table) -> Vec<(Vec<u32>, Vec<f32>)> {
        let observed = table.data.observed(&karhunen::Run::default()).unwrap();
        let ObservedData::F32(observed) = observed else { panic!("double precision") };
        (0..observed.n_samples()).map(|i| (observed.row(i).0.to_vec(), observed.row(i).1.to_vec())).collect()
    }

    /// Returns the matrix or its transpose with sorted indices, compressed along `major`.
    fn expected(major: Major, transpose: bool) -> String {
        let (n_rows, n_cols) = if transpose { (3, 2) } else { (2, 3) };
        let by_rows = (major == Major::Rows) != transpose;
        let matrix = if by_rows {
            SparseMatrix::canonical(major, n_rows, n_cols, &[0i32, 2, 3], &[0i32, 2, 1], &[1.0f32, 2.0, 3.0])
        } else {
            SparseMatrix::canonical(
                major,
                n_rows,
                n_cols,
                &[0i32, 1, 2, 3],
                &[0i32, 1, 0],
                &[1.0f32, 3.0, 2.0],
            )
        };
        format!("{:?}", matrix.unwrap())
    }

    #[test]
    fn one_array_or_the_one_that_is_named() {
        let a = npy("|u1", "(1, 2)", &[1, 2]);
        let b = npy("|u1", "(2, 1)", &[1, 2]);
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let one = read_bytes(archive(method, &[("a", a.clone())]), &ReadOptions::default()).unwrap();
            assert_eq!((one.data.shape(), one.format), ((1, 2), "NPZ"));
            let two = archive(method, &[("a", a.clone()), ("b", b.clone())]);
            assert_eq!(error(two.clone()), "x.npz: holds several arrays; choose one with `array`: `a`, `b`");
            let options = ReadOptions { array: Some("b".into()), ..Default::default() };
            assert_eq!(read_bytes(two.clone(), &options).unwrap().data.shape(), (2, 1));
            let options = ReadOptions { array: Some("c".into()), ..Default::default() };
            assert_eq!(
                read_bytes(two, &options).unwrap_err().to_string(),
                "x.npz: array = c: there is no such array; there are `a`, `b`"
            );
        }
        assert_eq!(error(archive(CompressionMethod::Stored, &[])), "x.npz: the archive holds no NPY array");
    }

    #[test]
    fn sparse_layouts_agree() {
        let shape = ("shape", of_i64(&[2, 3]));
        let csc = vec![
            ("indices", of_i64(&[0, 1, 0])),
            ("indptr", of_i32(&[0, 1, 2, 3])),
            ("format", npy("<U3", "()", b"c\0\0\0s\0\0\0c\0\0\0")),
            shape.clone(),
            ("data", of_f32(&[1.0, 3.0, 2.0])),
        ];
        let coo = vec![
            ("row", of_i32(&[1, 0, 0])),
            ("col", of_i32(&[1, 2, 0])),
            ("format", npy("|S3", "()", b"coo")),
            shape,
            ("data", of_f32(&[3.0, 2.0, 1.0])),
        ];
        // The transpose of compressed rows is compressed columns; triples always become rows.
        for (members, major, flips, n_notes) in
            [(csr(), Major::Rows, true, 2), (csc, Major::Columns, true, 0), (coo, Major::Rows, false, 0)]
        {
            for transpose in [false, true] {
                let options = ReadOptions { transpose, ..Default::default() };
                let table = read_bytes(archive(CompressionMethod::Deflated, &members), &options).unwrap();
                let major = match (major, transpose && flips) {
                    (major, false) => major,
                    (Major::Rows, true) => Major::Columns,
                    (Major::Columns, true) => Major::Rows,
                };
                assert_eq!(sparse(&table), expected(major, transpose));
                assert_eq!(table.notes.len(), n_notes, "{:?}", table.notes);
                // Beyond the limit, rows of a temporary copy.
                let options = ReadOptions { memory_limit: Some(1), ..options };
                let copied = read_bytes(archive(CompressionMethod::Deflated, &members), &options).unwrap();
                assert!(matches!(&copied.data, Data::F32(Values::InFile(_))), "{:?}", copied.data);
                assert_eq!(copied.data.shape(), table.data.shape());
                assert_eq!(entries(&copied), entries(&table));
                assert_eq!(copied.notes.len(), usize::from(n_notes > 0), "{:?}", copied.notes);
            }
        }
    }

    #[test]
    fn arrays_beyond_the_limit_stay_in_a_temporary_file() {
        let bytes = archive(
            CompressionMethod::Deflated,
            &[("a", npy("<f4", "(2, 1)", &[0, 0, 128, 63, 0, 0, 0, 64]))],
        );
        for (transpose, shape) in [(false, (2, 1)), (true, (1, 2))] {
            let options = ReadOptions { memory_limit: Some(1), transpose, ..Default::default() };
            let table = read_bytes(bytes.clone(), &options).unwrap();
            let Data::F32(Values::InFile(rows)) = &table.data else { panic!("{:?}", table.data) };
            assert_eq!((rows.shape(), table.format), (shape, "NPZ"));
            let all: Vec<f32> = entries(&table).into_iter().flat_map(|row| row.1).collect();
            assert_eq!(all, [1.0, 2.0]);
        }
    }

    #[test]
    fn damaged_matrices_beyond_the_limit_are_refused() {
        let options = ReadOptions { memory_limit: Some(1), ..Default::default() };
        for (name, bytes) in [
            ("indptr", of_i64(&[0, 3])),
            ("indptr", of_i64(&[0, 5, 4])),
            ("indptr", of_i64(&[1, 3, 4])),
            ("indices", of_i32(&[2, 0, 3, 1])),
            ("indices", of_i32(&[2, 0, -1, 1])),
            ("indices", of_i32(&[2, 0, 2])),
        ] {
            let error = read_bytes(with(name, bytes), &options).unwrap_err();
            assert!(matches!(*error.cause, Cause::Format(_)), "{name}: {error}");
        }
    }

    #[test]
    fn entries_in_one_place_are_averaged_where_they_are_observed() {
        let coo = vec![
            ("row", of_i32(&[1, 0, 0, 0])),
            ("col", of_i32(&[1, 2, 0, 2])),
            ("format", npy("|S3", "()", b"coo")),
            ("shape", of_i64(&[2, 3])),
            ("data", of_f32(&[3.0, 2.0, 0.0, 7.0])),
        ];
        let csr = vec![
            ("indices", of_i64(&[2, 0, 2, 1])),
            ("indptr", of_i32(&[0, 3, 4])),
            ("format", npy("|S3", "()", b"csr")),
            ("shape", of_i64(&[2, 3])),
            ("data", of_f32(&[2.0, 0.0, 7.0, 3.0])),
        ];
        let read = |members: &[(&'static str, Vec<u8>)], transpose| {
            let options = ReadOptions { missing: true, transpose, ..Default::default() };
            let input = Input {
                path: "x.npz".into(),
                bytes: Bytes::Owned(archive(CompressionMethod::Deflated, members)),
            };
            super::averaged(&input, &options).map(|data| match data {
                Some(ObservedData::F32(data)) => data,
                other => panic!("{other:?}"),
            })
        };
        for members in [coo, csr.clone()] {
            let data = read(&members, false).unwrap();
            assert_eq!(data.shape(), (2, 3));
            assert_eq!(data.row(0), (&[0, 2][..], &[0.0, 4.5][..]));
            assert_eq!(data.row(1), (&[1][..], &[3.0][..]));
            assert_eq!(read(&members, true).unwrap().row(2), (&[0][..], &[4.5][..]));
        }
        for pointers in [&[0, 3][..], &[0, 5, 4], &[1, 3, 4], &[0, -1, 4], &[], &[0, i32::MAX, 4]] {
            let mut members = csr.clone();
            members[1].1 = of_i32(pointers);
            let error = read(&members, false).unwrap_err();
            assert!(matches!(*error.cause, Cause::Format(_)), "{pointers:?}: {error}");
        }
        let mut members = csr;
        members[0].1 = of_i64(&[3, 0, 2, 1]);
        assert!(read(&members, false).is_err());
        let dense = archive(CompressionMethod::Stored, &[("a", npy("|u1", "(1, 2)", &[1, 2]))]);
        let input = Input { path: "x.npz".into(), bytes: Bytes::Owned(dense) };
        assert!(super::averaged(&input, &ReadOptions::default()).unwrap().is_none());
    }

    #[test]
    fn malformed_matrices_and_their_errors() {
        let again = "write it again with scipy.sparse.save_npz";
        let without = |name: &str| {
            let members: Vec<_> = csr().into_iter().filter(|member| member.0 != name).collect();
            archive(CompressionMethod::Stored, &members)
        };
        let cases = [
            (without("indptr"), format!("x.npz: `indptr`: is missing from the sparse matrix; {again}")),
            (
                with("format", npy("|S3", "()", b"bsr")),
                "x.npz: `format`: is `bsr`, which is not read (csr, csc and coo are); save x.tocsr() instead".into(),
            ),
            (
                with("shape", of_i64(&[2, 3, 4])),
                format!("x.npz: `shape`: is not two lengths, the rows and the columns; {again}"),
            ),
            (
                with("shape", of_i64(&[-2, 3])),
                format!("x.npz: `shape`: is not two lengths, the rows and the columns; {again}"),
            ),
            (
                with("indices", of_f32(&[0.0; 4])),
                format!("x.npz: `indices`: does not hold integers of 32 or 64 bits; {again}"),
            ),
            (
                with("data", npy("<c8", "(4,)", &[0; 32])),
                "x.npz: `data`: holds complex numbers (dtype `<c8`); PCA here is of real ones: save the real and \
                 imaginary parts"
                    .into(),
            ),
            (
                with("data", npy("<f4", "(4,)", &[0; 15])),
                "x.npz: `data`: is truncated: shape (4,) needs 16 bytes, 15 are there; copy or save it again".into(),
            ),
        ];
        for (bytes, expected) in cases {
            assert_eq!(error(bytes), expected);
        }
        for bytes in [
            with("indptr", of_i64(&[0, 3, 5])),
            with("indptr", of_i64(&[0, 4])),
            with("indptr", of_i64(&[0, -3, 4])),
            with("indices", of_i32(&[2, 0, 3, 1])),
            with("indices", of_i32(&[2, 0, -1, 1])),
            with("data", of_f32(&[0.0; 5])),
            with("shape", of_i64(&[i64::MAX, 3])),
        ] {
            let error = read_bytes(bytes, &ReadOptions::default()).unwrap_err();
            assert!(matches!(*error.cause, Cause::Format(_)), "{error}");
        }
    }

    #[test]
    fn archives_that_lie_are_refused() {
        let honest = archive(CompressionMethod::Deflated, &[("a", npy("|u1", "(40, 1)", &[7; 40]))]);
        assert!(read_bytes(honest.clone(), &ReadOptions::default()).is_ok());
        let central = honest.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        let declare = |size: u32| {
            let mut bytes = honest.clone();
            bytes[central + 24..central + 28].copy_from_slice(&size.to_le_bytes());
            error(bytes)
        };
        assert!(declare(4_000_000_000).contains("`a`: declares 4000000000 bytes, which its "));
        assert!(declare(120).ends_with("packed bytes do not hold; the archive is damaged"));
        let mut damaged = honest.clone();
        let local = damaged.windows(5).position(|w| w == b"a.npy").unwrap();
        damaged[local + 20] ^= 0xff;
        assert!(error(damaged).starts_with("x.npz: `a`: "));
        assert_eq!(
            error(honest[..honest.len() - 10].to_vec()).split('(').next(),
            Some("x.npz: is not a whole zip archive ")
        );
    }

    #[test]
    fn damaged_archives_never_panic() {
        let whole = archive(CompressionMethod::Deflated, &csr());
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                let _ = read_bytes(bytes, &ReadOptions::default());
            }
            let _ = read_bytes(whole[..at].to_vec(), &ReadOptions::default());
        }
    }
}
