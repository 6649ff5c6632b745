//! Arrow IPC, as a file (Feather version 2) or as a stream: columns are used in place in the mapped file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, CompressionType, Message, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};
use karhunen::Scalar;
use rayon::prelude::*;

use super::batches::Batches;
use super::columns::{self, Columns};
use super::triples;
use crate::categories::{CategoryTable, ColumnKinds};
use crate::csv::in_pool;
use crate::decoder;
use crate::input::Input;
use crate::mapped::Mapped;
use crate::option_names;
use crate::triples::{Entries, Wanted};
use crate::{ReadOptions, Result, Table};

/// The first and last bytes of an Arrow IPC file.
pub(crate) const FILE_MAGIC: &[u8] = b"ARROW1";
/// Marker before the length of a message, since version 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// LZ4 expands a byte to at most 255 bytes; a buffer that declares more is damaged or hostile.
const MOST_FROM_LZ4: u64 = 255;
/// A block of zstd takes four bytes or more and holds 128 KiB or less.
const MOST_FROM_ZSTD: u64 = 1 << 15;

/// Reads the columns of numbers, the columns that the options exclude, and the names of the rows.
///
/// # Errors
/// Same errors as [`Columns::table`].
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    with_columns(input, options, |columns| columns.table(options))
}

/// Reads a table of categories and numbers.
///
/// # Errors
/// Same errors as [`Columns::categories`].
pub(crate) fn read_categories(
    input: Input,
    kinds: ColumnKinds<'_>,
    options: &ReadOptions,
) -> Result<CategoryTable> {
    with_columns(input, options, |columns| columns.categories(kinds, options))
}

/// Opens the file and passes its columns to `read`.
fn with_columns<R: Send>(
    input: Input,
    options: &ReadOptions,
    read: impl FnOnce(&Columns<'_>) -> Result<R> + Send,
) -> Result<R> {
    let n_bytes = input.as_slice().len() as u64;
    let Input { path, bytes } = input;
    options.allow_only(
        &path,
        "Arrow",
        &[option_names::ROW_NAMES, option_names::LABELS, option_names::WEIGHTS_COLUMN],
    )?;
    let mapped = bytes.mapped();
    let bytes = columns::shared(bytes);
    let work = || {
        if options.memory_limit.is_some() && bytes.starts_with(FILE_MAGIC) {
            let release = || mapped.iter().for_each(Mapped::release);
            let (batches, schema, n_rows) = open_batches(&path, &bytes, &release)?;
            if options.stay_in_file((n_rows, schema.fields().len()), 4) {
                let (format, batches) = ("Arrow IPC file", Arc::new(batches));
                return read(&Columns { path: &path, format, schema, n_rows, batches, n_bytes, mapped });
            }
        }
        let (file, schema, format) = open(&path, bytes)?;
        let (n_rows, batches) = (file.n_rows(), Arc::new(file));
        read(&Columns { path: &path, format, schema, n_rows, batches, n_bytes, mapped })
    };
    in_pool(&path, options, work)?
}

/// Reads a table of triples.
///
/// # Errors
/// Same errors as [`triples::File::entries`].
pub(crate) fn read_triples<T: Scalar>(
    input: Input,
    wanted: &Wanted,
    options: &ReadOptions,
) -> Result<Entries<T>> {
    let Input { path, bytes } = input;
    options.allow_for_triples(&path, &[])?;
    let work = || {
        let (file, schema, _) = open(&path, columns::shared(bytes))?;
        let n_rows = file.n_rows();
        triples::File { path: &path, schema: &schema, n_rows, batches: &file }.entries(wanted)
    };
    in_pool(&path, options, work)?
}

/// Returns the batches, the names and types of the columns, and the name of the format (file or stream).
fn open(path: &Path, bytes: bytes::Bytes) -> Result<(File, SchemaRef, &'static str)> {
    let is_file = bytes.starts_with(FILE_MAGIC);
    let (schema, batches) =
        if is_file { decode_file(path, bytes)? } else { decoder::run(path, || decode_stream(bytes))? };
    let format = if is_file { "Arrow IPC file" } else { "Arrow IPC stream" };
    Ok((File { path: path.to_owned(), batches }, schema, format))
}

type Decoded = std::result::Result<(SchemaRef, Vec<RecordBatch>), ArrowError>;

fn decode_file(path: &Path, bytes: bytes::Bytes) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let (schema, decoder, blocks) = decoder::run(path, || open_file(&bytes, &|| {}))?;
    // Each thread calls `decoder::run`, which catches only the panics of its own thread.
    let batch = |(block, content): &(Block, bytes::Bytes)| {
        decoder::run(path, || decoder.read_record_batch(block, &content.clone().into()))
    };
    let batches: Vec<Result<Option<RecordBatch>>> = blocks.par_iter().map(batch).collect();
    let batches: Vec<Option<RecordBatch>> = batches.into_iter().collect::<Result<_>>()?;
    Ok((schema, batches.into_iter().flatten().collect()))
}

/// The schema, a decoder that has read the dictionaries, and the batches with their bytes.
type Opened = (SchemaRef, FileDecoder, Vec<(Block, bytes::Bytes)>);

/// Calls `release`, which gives the memory of the file back, after each batch whose buffers were checked.
fn open_file(bytes: &bytes::Bytes, release: &dyn Fn()) -> std::result::Result<Opened, ArrowError> {
    let trailer = bytes.last_chunk::<10>().ok_or_else(cut_off)?;
    let footer_end = bytes.len() - trailer.len();
    let footer_begin = footer_end.checked_sub(read_footer_length(*trailer)?).ok_or_else(cut_off)?;
    let footer = root_as_footer(&bytes[footer_begin..footer_end])
        .map_err(|error| ArrowError::ParseError(format!("the footer: {error}")))?;
    let schema =
        footer.schema().ok_or_else(|| ArrowError::ParseError("the footer has no schema".to_owned()))?;
    let schema = Arc::new(try_fb_to_schema(schema)?);
    let mut decoder = FileDecoder::new(schema.clone(), footer.version());
    let content = |block: &Block| {
        let (begin, metadata, body) = (block.offset(), block.metaDataLength(), block.bodyLength());
        let begin = usize::try_from(begin).ok();
        let length = usize::try_from(metadata).ok().zip(usize::try_from(body).ok());
        let end = begin.zip(length).and_then(|(begin, (m, b))| begin.checked_add(m)?.checked_add(b));
        match (begin, end) {
            (Some(begin), Some(end)) if end <= footer_begin => {
                let block = bytes.slice(begin..end);
                let (message, _) = first_message(&block)?.ok_or_else(cut_off)?;
                check_buffers(message, &block[metadata as usize..])?;
                Ok(block)
            }
            _ => Err(ArrowError::ParseError("the footer points outside of the file".to_owned())),
        }
    };
    for block in footer.dictionaries().iter().flatten() {
        decoder.read_dictionary(block, &content(block)?.into())?;
    }
    let mut blocks = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        blocks.push((*block, content(block)?));
        release();
    }
    Ok((schema, decoder, blocks))
}

/// Checks the buffers of a stream, and returns the number of rows that its batches declare. Calls `release`, which
/// gives the memory of the file back, after each message.
fn check_stream(bytes: &[u8], release: &dyn Fn()) -> std::result::Result<usize, ArrowError> {
    let (mut at, mut n_rows) = (0, 0usize);
    while let Some((message, length)) = first_message(&bytes[at..])? {
        let body = usize::try_from(message.bodyLength()).ok();
        let body = body.and_then(|body| bytes[at + length..].get(..body));
        check_buffers(message, body.ok_or_else(cut_off)?)?;
        n_rows = n_rows.saturating_add(batch_rows(&bytes[at..])?);
        at += length + message.bodyLength() as usize;
        release();
    }
    Ok(n_rows)
}

fn decode_stream(bytes: bytes::Bytes) -> Decoded {
    check_stream(&bytes, &|| {})?;
    let mut decoder = StreamDecoder::new();
    let mut rest = bytes.into();
    let mut batches = Vec::new();
    while let Some(batch) = decoder.decode(&mut rest)? {
        batches.push(batch);
    }
    decoder.finish()?;
    Ok((decoder.schema().ok_or_else(no_schema)?, batches))
}

fn no_schema() -> ArrowError {
    ArrowError::ParseError("the stream has no schema".to_owned())
}

fn cut_off() -> ArrowError {
    ArrowError::ParseError("the file is cut off".to_owned())
}

/// The message at the start of `bytes` and the number of bytes before its body; `None` at the end of a stream.
fn first_message(bytes: &[u8]) -> std::result::Result<Option<(Message<'_>, usize)>, ArrowError> {
    let prefix = if bytes.starts_with(&CONTINUATION) { CONTINUATION.len() } else { 0 };
    let Some(length) = bytes[prefix..].first_chunk::<4>() else {
        return if bytes.is_empty() { Ok(None) } else { Err(cut_off()) };
    };
    let (begin, length) = (prefix + length.len(), u32::from_le_bytes(*length) as usize);
    if length == 0 {
        return Ok(None);
    }
    let message = bytes[begin..].get(..length).ok_or_else(cut_off)?;
    let message =
        root_as_message(message).map_err(|error| ArrowError::ParseError(format!("a message: {error}")))?;
    Ok(Some((message, begin + length)))
}

/// Refuses buffers outside the body, and compressed buffers that declare a length their bytes cannot expand to:
/// the decoder would allocate that length first.
fn check_buffers(message: Message<'_>, body: &[u8]) -> std::result::Result<(), ArrowError> {
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let Some(batch) = message.header_as_record_batch().or(dictionary) else { return Ok(()) };
    let lying = || ArrowError::ParseError("a buffer is larger than its content".to_owned());
    for buffer in batch.buffers().iter().flatten() {
        let begin = usize::try_from(buffer.offset()).map_err(|_| lying())?;
        let length = usize::try_from(buffer.length()).map_err(|_| lying())?;
        let content = body.get(begin..).and_then(|rest| rest.get(..length)).ok_or_else(lying)?;
        let most = match batch.compression().map(|compression| compression.codec()) {
            None => continue,
            Some(CompressionType::LZ4_FRAME) => MOST_FROM_LZ4,
            Some(_) => MOST_FROM_ZSTD,
        };
        // A compressed buffer begins with its uncompressed length, or -1 if it is stored uncompressed.
        let declared = content.first_chunk::<8>().map_or(0, |bytes| i64::from_le_bytes(*bytes));
        if u64::try_from(declared).is_ok_and(|declared| declared > (length as u64).saturating_mul(most)) {
            return Err(lying());
        }
    }
    Ok(())
}

/// The batches of a file, decoded again in every visit.
pub(crate) struct Undecoded {
    path: PathBuf,
    decoder: FileDecoder,
    blocks: Vec<(Block, bytes::Bytes)>,
    /// Rows of the longest batch.
    most_rows: usize,
}

/// The batches of a file, names and types of the columns, and the number of rows.
///
/// # Errors
/// [`crate::Cause::Format`] for damaged files.
fn open_batches(
    path: &Path,
    bytes: &bytes::Bytes,
    release: &dyn Fn(),
) -> Result<(Undecoded, SchemaRef, usize)> {
    let (schema, decoder, blocks) = decoder::run(path, || open_file(bytes, release))?;
    let declared: std::result::Result<Vec<usize>, _> =
        blocks.iter().map(|(_, content)| batch_rows(content)).collect();
    let n_rows = decoder::run(path, || declared.as_ref().map(|rows| rows.iter().sum()))?;
    let most_rows = declared.iter().flatten().copied().max().unwrap_or(0);
    Ok((Undecoded { path: path.to_owned(), decoder, blocks, most_rows }, schema, n_rows))
}

/// The names and types of the columns, the number of rows, and the batches.
type Unread = (SchemaRef, usize, Box<dyn Batches>);

/// The content of a file or stream whose batches are decoded again in every visit.
///
/// # Errors
/// [`crate::Cause::Format`] for damaged files.
pub(crate) fn open_undecoded(path: &Path, input: Input) -> Result<Unread> {
    let mapped = input.mapped();
    let release = || mapped.iter().for_each(Mapped::release);
    let bytes = columns::shared(input.bytes);
    if bytes.starts_with(FILE_MAGIC) {
        let (batches, schema, n_rows) = open_batches(path, &bytes, &release)?;
        return Ok((schema, n_rows, Box::new(batches)));
    }
    let n_rows = decoder::run(path, || check_stream(&bytes, &release))?;
    let stream = Stream { path: path.to_owned(), bytes };
    let mut decoder = StreamDecoder::new();
    let mut rest = stream.bytes.clone().into();
    // The schema is the first message.
    decoder::run(path, || decoder.decode(&mut rest))?;
    let schema = decoder::run(path, || decoder.schema().ok_or_else(no_schema))?;
    Ok((schema, n_rows, Box::new(stream)))
}

/// A stream whose batches are decoded again in every visit.
struct Stream {
    path: PathBuf,
    bytes: bytes::Bytes,
}

impl Batches for Stream {
    fn visit(&self, columns: &[usize], f: &mut dyn FnMut(&RecordBatch) -> Result<bool>) -> Result<()> {
        let mut decoder = StreamDecoder::new();
        let mut rest = self.bytes.clone().into();
        while let Some(batch) = decoder::run(&self.path, || decoder.decode(&mut rest))? {
            if !f(&decoder::run(&self.path, || batch.project(columns))?)? {
                return Ok(());
            }
        }
        decoder::run(&self.path, || decoder.finish())
    }

    fn held(&self, _: &[usize]) -> f64 {
        self.bytes.len() as f64
    }
}

/// The number of rows that a batch declares.
fn batch_rows(content: &[u8]) -> std::result::Result<usize, ArrowError> {
    let (message, _) = first_message(content)?.ok_or_else(cut_off)?;
    let declared = message.header_as_record_batch().map_or(0, |batch| batch.length());
    usize::try_from(declared).map_err(|_| ArrowError::ParseError(format!("a batch of {declared} rows")))
}

impl Batches for Undecoded {
    fn visit(&self, columns: &[usize], f: &mut dyn FnMut(&RecordBatch) -> Result<bool>) -> Result<()> {
        for (block, content) in &self.blocks {
            let decode = || self.decoder.read_record_batch(block, &content.clone().into());
            if let Some(batch) = decoder::run(&self.path, decode)?
                && !f(&decoder::run(&self.path, || batch.project(columns))?)?
            {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, columns: &[usize]) -> f64 {
        8.0 * self.most_rows as f64 * columns.len() as f64
    }
}

struct File {
    path: PathBuf,
    batches: Vec<RecordBatch>,
}

impl File {
    fn n_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

impl Batches for File {
    fn visit(&self, columns: &[usize], f: &mut dyn FnMut(&RecordBatch) -> Result<bool>) -> Result<()> {
        for batch in &self.batches {
            if !f(&decoder::run(&self.path, || batch.project(columns))?)? {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, _: &[usize]) -> f64 {
        self.batches.iter().map(|batch| batch.get_array_memory_size() as f64).sum()
    }
}
