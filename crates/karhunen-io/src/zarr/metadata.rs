//! The metadata of an array: shape, chunks, type, fill value and codecs, of Zarr 2 (`.zarray`) and 3 (`zarr.json`).
//!
//! <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html>, <https://zarr-specs.readthedocs.io/en/latest/v3/core/>.

use serde_json::Value;

use super::codecs::Codec;
use crate::npy_elements::F16;
use crate::npy_header::{Dtype, Kind, dtype_of};

/// The storage of an array.
#[derive(Debug)]
pub(super) struct Layout {
    /// Lengths of the axes, one or two.
    pub(super) shape: Vec<usize>,
    /// Lengths of the axes of the chunks that are decoded: those within shards, if there are shards.
    pub(super) chunk: Vec<usize>,
    pub(super) element: Element,
    /// True if the first axis of a chunk varies fastest.
    pub(super) column_major: bool,
    /// The codecs from bytes to bytes, in the order of writing.
    pub(super) codecs: Vec<Codec>,
    pub(super) shards: Option<Shards>,
    pub(super) names: ChunkNames,
}

/// The type of the elements.
#[derive(Debug)]
pub(super) enum Element {
    /// Numbers, and texts of fixed length, with the bytes of the fill value.
    Fixed(Dtype, Vec<u8>),
    /// Texts of any length, with the fill value.
    Texts(String),
}

/// Files that hold several chunks each.
#[derive(Debug)]
pub(super) struct Shards {
    /// Number of chunks along each axis of a shard.
    pub(super) n_chunks: Vec<usize>,
    /// The codecs of the index.
    pub(super) index: Vec<Codec>,
    pub(super) index_at_start: bool,
}

/// The names of the files of chunks.
#[derive(Debug)]
pub(super) struct ChunkNames {
    pub(super) prefix: &'static str,
    pub(super) separator: char,
}

type Parsed<T> = Result<T, String>;

impl ChunkNames {
    /// The name of the chunk, or shard, at a place.
    pub(super) fn of(&self, places: &[usize]) -> String {
        let mut name = self.prefix.to_owned();
        for place in places {
            if !name.is_empty() {
                name.push(self.separator);
            }
            name.push_str(&place.to_string());
        }
        name
    }
}

impl Layout {
    /// Reads the metadata of either version.
    ///
    /// # Errors
    /// The fault, or the part that is not read.
    pub(super) fn read(json: &Value) -> Parsed<Self> {
        let layout = match json.get("zarr_format").and_then(Value::as_u64) {
            Some(2) => Self::version_2(json)?,
            Some(3) => Self::version_3(json)?,
            _ => return Err("has metadata of an unknown version of Zarr (2 and 3 are read)".to_owned()),
        };
        if layout.chunk.len() != layout.shape.len() {
            let (axes, found) = (layout.shape.len(), layout.chunk.len());
            return Err(format!("has {axes} axes, but its chunks have {found}"));
        }
        if !(1..=2).contains(&layout.shape.len()) {
            return Err(format!(
                "has {} axes, and a table two, rows and columns: reshape it, or fit maps with karhunen.xarray in Python",
                layout.shape.len()
            ));
        }
        if layout.chunk.contains(&0) {
            return Err("has chunks of no elements".to_owned());
        }
        layout.shape.iter().try_fold(1_usize, |n, &axis| n.checked_mul(axis)).ok_or_else(too_large)?;
        layout.chunk_bytes().ok_or_else(too_large)?;
        Ok(layout)
    }

    fn version_2(json: &Value) -> Parsed<Self> {
        let codecs = |name: &str| match json.get(name) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(several)) => several.clone(),
            Some(one) => vec![one.clone()],
        };
        let mut filters = codecs("filters");
        let id = |codec: &Value| codec.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_text = filters.first().map(id).as_deref() == Some("vlen-utf8");
        if is_text {
            filters.remove(0);
        }
        let compressors = codecs("compressor");
        let all = filters.iter().chain(&compressors);
        let codecs = all.map(|codec| Codec::read(&id(codec), codec)).collect::<Parsed<_>>()?;
        let fill = json.get("fill_value").unwrap_or(&Value::Null);
        let element = match json.get("dtype") {
            _ if is_text => Element::Texts(text_fill(fill)),
            Some(Value::String(name)) if name == "|O" => {
                return Err("holds Python objects that are not texts".to_owned());
            }
            Some(Value::String(name)) => {
                let dtype = dtype_of(name).map_err(|cause| cause.to_string())?;
                Element::Fixed(dtype, fill_bytes(dtype, fill)?)
            }
            Some(Value::Array(_)) => {
                return Err(
                    "holds records, as AnnData wrote them before version 0.7; write the store again with a \
                            later one, in Python anndata.read_zarr(path).write_zarr(path)"
                        .to_owned(),
                );
            }
            _ => return Err("has no dtype".to_owned()),
        };
        let mut chunk = lengths(json.get("chunks"), "chunks")?;
        let shape = lengths(json.get("shape"), "shape")?;
        // Arrays without elements may have chunks without.
        chunk.iter_mut().zip(&shape).filter(|(_, axis)| **axis == 0).for_each(|(length, _)| *length = 1);
        let separator = match json.get("dimension_separator").and_then(Value::as_str) {
            Some("/") => '/',
            Some(".") | None => '.',
            Some(other) => return Err(format!("separates the names of its chunks by `{other}`")),
        };
        Ok(Self {
            shape,
            chunk,
            element,
            column_major: match json.get("order").and_then(Value::as_str) {
                Some("F") => true,
                Some("C") | None => false,
                Some(other) => {
                    return Err(format!("has elements in the order `{other}`, which is neither C nor F"));
                }
            },
            codecs,
            shards: None,
            names: ChunkNames { prefix: "", separator },
        })
    }

    fn version_3(json: &Value) -> Parsed<Self> {
        let shape = lengths(json.get("shape"), "shape")?;
        let grid = json.get("chunk_grid").unwrap_or(&Value::Null);
        if name_of(grid) != "regular" {
            return Err(format!("has chunks on a grid that is not read (`{}`)", name_of(grid)));
        }
        let outer = lengths(setting(grid, "chunk_shape"), "chunk_shape")?;
        let keys = json.get("chunk_key_encoding").unwrap_or(&Value::Null);
        let separator = setting(keys, "separator").and_then(Value::as_str);
        let (prefix, usual) = match name_of(keys) {
            "default" => ("c", "/"),
            "v2" => ("", "."),
            other => return Err(format!("has chunks whose names are not read (`{other}`)")),
        };
        let separator = match separator.unwrap_or(usual) {
            "/" => '/',
            "." => '.',
            other => return Err(format!("separates the names of its chunks by `{other}`")),
        };
        let none = Vec::new();
        let transformers = json.get("storage_transformers").and_then(Value::as_array).unwrap_or(&none);
        if let Some(transformer) = transformers.first() {
            return Err(format!("has a storage transformer that is not read (`{}`)", name_of(transformer)));
        }
        let chain = json.get("codecs").and_then(Value::as_array).ok_or("has no codecs")?;
        let mut shards = None;
        let mut chunk = outer.clone();
        let mut chain = chain.clone();
        if let Some(first) = chain.first().filter(|codec| name_of(codec) == "sharding_indexed").cloned() {
            if chain.len() > 1 {
                return Err("packs its shards once more, which is not read".to_owned());
            }
            chunk = lengths(setting(&first, "chunk_shape"), "chunk_shape")?;
            let divide = |(&shard, &inner): (&usize, &usize)| {
                (inner > 0 && shard % inner == 0).then(|| shard / inner).filter(|&n| n > 0)
            };
            let n_chunks: Option<Vec<usize>> = outer.iter().zip(&chunk).map(divide).collect();
            let n_chunks = n_chunks.filter(|n| n.len() == outer.len() && n.len() == chunk.len());
            let n_chunks = n_chunks.ok_or("has shards that are not a whole number of chunks")?;
            let list = |name: &str| setting(&first, name).and_then(Value::as_array).cloned();
            let index = Chain::read(&list("index_codecs").ok_or("has shards without index_codecs")?, 2)?;
            if index.big_endian || index.is_text || index.column_major {
                return Err("has an index of shards that is not read".to_owned());
            }
            let index_at_start = match setting(&first, "index_location").and_then(Value::as_str) {
                Some("start") => true,
                Some("end") | None => false,
                Some(other) => return Err(format!("has an index of shards at `{other}`")),
            };
            shards = Some(Shards { n_chunks, index: index.codecs, index_at_start });
            chain = list("codecs").ok_or("has shards without codecs")?;
        }
        let Chain { codecs, big_endian, is_text, column_major } = Chain::read(&chain, shape.len())?;
        let fill = json.get("fill_value").unwrap_or(&Value::Null);
        let element = match data_type(json.get("data_type").unwrap_or(&Value::Null), big_endian)? {
            None if is_text => Element::Texts(text_fill(fill)),
            Some(dtype) if !is_text => Element::Fixed(dtype, fill_bytes(dtype, fill)?),
            _ => return Err("has codecs that do not fit its data_type".to_owned()),
        };
        let names = ChunkNames { prefix, separator };
        Ok(Self { shape, chunk, element, column_major, codecs, shards, names })
    }

    /// Number of elements of a chunk; `None` beyond the address space.
    pub(super) fn chunk_elements(&self) -> Option<usize> {
        self.chunk.iter().try_fold(1_usize, |n, &axis| n.checked_mul(axis))
    }

    /// Bytes of a decoded chunk, of texts the bytes of their lengths; `None` beyond the address space.
    pub(super) fn chunk_bytes(&self) -> Option<usize> {
        let size = match &self.element {
            Element::Fixed(dtype, _) => dtype.size,
            Element::Texts(_) => 4,
        };
        self.chunk_elements()?.checked_mul(size).filter(|&bytes| isize::try_from(bytes).is_ok())
    }
}

/// The codecs of version 3.
struct Chain {
    codecs: Vec<Codec>,
    big_endian: bool,
    is_text: bool,
    column_major: bool,
}

impl Chain {
    fn read(chain: &[Value], n_axes: usize) -> Parsed<Self> {
        let mut found = Self { codecs: Vec::new(), big_endian: false, is_text: false, column_major: false };
        let mut to_bytes = false;
        for codec in chain {
            match (name_of(codec), to_bytes) {
                ("transpose", false) => {
                    let order = lengths(setting(codec, "order"), "order of transpose")?;
                    let reversed = order == [1, 0];
                    if order.len() != n_axes || !(reversed || order.is_sorted()) {
                        return Err(format!("is transposed in the order {order:?}, which is not read"));
                    }
                    found.column_major ^= reversed;
                }
                ("bytes", false) => {
                    found.big_endian = setting(codec, "endian").and_then(Value::as_str) == Some("big");
                    to_bytes = true;
                }
                ("vlen-utf8", false) => (found.is_text, to_bytes) = (true, true),
                (name, true) => {
                    let settings = codec.get("configuration").unwrap_or(&Value::Null);
                    let name = name.strip_prefix("numcodecs.").unwrap_or(name);
                    found.codecs.push(Codec::read(name, settings)?);
                }
                (name, false) => return Err(unknown_codec(name)),
            }
        }
        if to_bytes { Ok(found) } else { Err("has no codec that makes bytes of its values".to_owned()) }
    }
}

pub(super) fn unknown_codec(name: &str) -> String {
    let name: String = name.chars().take(40).flat_map(char::escape_debug).collect();
    format!(
        "is packed with a codec that is not read (`{name}`); write the store again with zstd, gzip or Blosc, in Python \
         anndata.read_zarr(path).write_zarr(path)"
    )
}

fn too_large() -> String {
    "is too large for this machine".to_owned()
}

/// The name of an extension point of version 3, which may stand alone.
fn name_of(json: &Value) -> &str {
    json.get("name").unwrap_or(json).as_str().unwrap_or_default()
}

fn setting<'a>(json: &'a Value, name: &str) -> Option<&'a Value> {
    json.get("configuration")?.get(name)
}

fn lengths(json: Option<&Value>, what: &str) -> Parsed<Vec<usize>> {
    let number = |length: &Value| length.as_u64().and_then(|length| usize::try_from(length).ok());
    let all: Option<Vec<usize>> =
        json.and_then(Value::as_array).and_then(|all| all.iter().map(number).collect());
    all.ok_or_else(|| format!("has no {what} of whole numbers"))
}

/// The type of version 3; `None` for texts of any length.
fn data_type(json: &Value, big_endian: bool) -> Parsed<Option<Dtype>> {
    let fixed = |kind, size| Ok(Some(Dtype { kind, size, big_endian }));
    let length = || {
        let bytes = setting(json, "length_bytes").and_then(Value::as_u64);
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or("has texts without length_bytes")
    };
    match name_of(json) {
        "bool" => fixed(Kind::Bool, 1),
        "int8" => fixed(Kind::Int, 1),
        "int16" => fixed(Kind::Int, 2),
        "int32" => fixed(Kind::Int, 4),
        "int64" => fixed(Kind::Int, 8),
        "uint8" => fixed(Kind::Uint, 1),
        "uint16" => fixed(Kind::Uint, 2),
        "uint32" => fixed(Kind::Uint, 4),
        "uint64" => fixed(Kind::Uint, 8),
        "float16" => fixed(Kind::Float, 2),
        "float32" => fixed(Kind::Float, 4),
        "float64" => fixed(Kind::Float, 8),
        "fixed_length_utf32" => fixed(Kind::Unicode, length()?),
        "null_terminated_bytes" => fixed(Kind::Bytes, length()?),
        "string" => Ok(None),
        other => {
            let other: String = other.chars().take(40).flat_map(char::escape_debug).collect();
            Err(format!("has a data_type that is not read (`{other}`)"))
        }
    }
}

fn text_fill(fill: &Value) -> String {
    fill.as_str().unwrap_or_default().to_owned()
}

/// The fill value as an element.
fn fill_bytes(dtype: Dtype, fill: &Value) -> Parsed<Vec<u8>> {
    let Dtype { kind, size, big_endian } = dtype;
    let refuse = || Err(format!("has a fill value that is not read ({fill})"));
    let mut bytes = match (kind, fill) {
        (_, Value::Null) => vec![0; size],
        (Kind::Bytes | Kind::Unicode, Value::String(text)) if text.is_empty() => vec![0; size],
        (Kind::Bytes | Kind::Unicode, Value::Number(zero)) if zero.as_u64() == Some(0) => vec![0; size],
        (Kind::Bool, Value::Bool(value)) => vec![u8::from(*value)],
        (Kind::Bool, Value::Number(number)) if number.as_u64().is_some_and(|number| number < 2) => {
            vec![u8::from(number.as_u64() == Some(1))]
        }
        (Kind::Float, Value::String(text)) if text.starts_with("0x") => {
            let digits = u64::from_str_radix(&text[2..], 16).ok().filter(|_| text.len() == 2 + 2 * size);
            digits.map(|digits| digits.to_le_bytes()[..size].to_vec()).map_or_else(refuse, Ok)?
        }
        (Kind::Float, fill) => {
            let number = match fill.as_str() {
                Some("NaN") => Some(f64::NAN),
                Some("Infinity") => Some(f64::INFINITY),
                Some("-Infinity") => Some(f64::NEG_INFINITY),
                _ => fill.as_f64(),
            };
            let Some(number) = number else { return refuse() };
            match size {
                8 => number.to_le_bytes().to_vec(),
                4 => (number as f32).to_le_bytes().to_vec(),
                _ => F16::from_f64(number).to_le_bytes().to_vec(),
            }
        }
        (Kind::Int | Kind::Uint, Value::Number(number)) => {
            let whole = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
            // Versions before 3 also write 0.0.
            let whole = whole.or_else(|| number.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i128));
            let Some(whole) = whole else { return refuse() };
            let bits = 8 * size as u32;
            let (least, most) = match kind {
                Kind::Int => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                _ => (0, (1_i128 << bits) - 1),
            };
            if !(least..=most).contains(&whole) {
                return refuse();
            }
            whole.to_le_bytes()[..size].to_vec()
        }
        _ => return refuse(),
    };
    if big_endian && !matches!(kind, Kind::Bytes | Kind::Unicode) {
        bytes.reverse();
    }
    Ok(bytes)
}
