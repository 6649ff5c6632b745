//! Arrow IPC, as a file (Feather version 2) or as a stream: columns used where they lie in the mapped file.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, root_as_footer};
use arrow_schema::{ArrowError, SchemaRef};

use crate::columns::{self, Batches, Columns, damaged};
use crate::input::Input;
use crate::options::OptionName;
use crate::{Cause, Error, ReadOptions, Result, Table};

/// What an Arrow IPC file begins and ends with.
pub(crate) const FILE_MAGIC: &[u8] = b"ARROW1";

/// Reads the columns of numbers, those that the options set aside, and the names of the rows.
///
/// # Errors
/// Those of [`Columns::table`].
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    let Input { path, bytes } = input;
    options.allow_only(
        &path,
        "Arrow",
        &[OptionName::IdColumn, OptionName::Labels, OptionName::WeightsColumn],
    )?;
    columns::guarded(&path, || {
        let bytes = columns::shared(bytes);
        let format = if bytes.starts_with(FILE_MAGIC) { "Arrow IPC file" } else { "Arrow IPC stream" };
        let decoded = if bytes.starts_with(FILE_MAGIC) { decode_file(bytes) } else { decode_stream(bytes) };
        let (schema, batches) = decoded.map_err(|error| damaged(&path, &error))?;
        let n_rows = batches.iter().map(RecordBatch::num_rows).sum();
        let file = File { path: &path, batches };
        let columns = Columns { path: &path, format, schema: &schema, n_rows, batches: &file };
        columns::in_pool(&path, options.n_threads, || columns.table(options))
    })
}

type Decoded = std::result::Result<(SchemaRef, Vec<RecordBatch>), ArrowError>;

fn decode_file(bytes: bytes::Bytes) -> Decoded {
    let cut_off = || ArrowError::ParseError("the file is cut off".to_owned());
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
            (Some(begin), Some(end)) if end <= footer_begin && metadata >= 8 => Ok(bytes.slice(begin..end)),
            _ => Err(ArrowError::ParseError("the footer points outside of the file".to_owned())),
        }
    };
    for block in footer.dictionaries().iter().flatten() {
        decoder.read_dictionary(block, &content(block)?.into())?;
    }
    let mut batches = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        batches.extend(decoder.read_record_batch(block, &content(block)?.into())?);
    }
    Ok((schema, batches))
}

fn decode_stream(bytes: bytes::Bytes) -> Decoded {
    let mut decoder = StreamDecoder::new();
    let mut rest = bytes.into();
    let mut batches = Vec::new();
    while let Some(batch) = decoder.decode(&mut rest)? {
        batches.push(batch);
    }
    decoder.finish()?;
    let schema =
        decoder.schema().ok_or_else(|| ArrowError::ParseError("the stream has no schema".to_owned()))?;
    Ok((schema, batches))
}

struct File<'a> {
    path: &'a Path,
    batches: Vec<RecordBatch>,
}

impl Batches for File<'_> {
    fn visit(&self, columns: &[usize], f: &mut dyn FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        for batch in &self.batches {
            let part = batch.project(columns);
            f(&part.map_err(|error| Error::new(self.path, Cause::Format(error.to_string())))?)?;
        }
        Ok(())
    }
}
