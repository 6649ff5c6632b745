//! The compact protocol of Thrift as far as Parquet headers need it: fields are visited or skipped.
//!
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>

/// Maximum depth of structures that are skipped, as in the Parquet decoder.
const MAX_DEPTH: usize = 64;

/// The type of a field or of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A Boolean in the header of a field; a byte in a list.
    Boolean,
    Byte,
    /// An integer of 16, 32 or 64 bits.
    Integer,
    Double,
    Binary,
    /// A list or a set.
    List,
    Map,
    Struct,
    Uuid,
}

impl Kind {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            1 | 2 => Kind::Boolean,
            3 => Kind::Byte,
            4..=6 => Kind::Integer,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 | 10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Struct,
            13 => Kind::Uuid,
            _ => return None,
        })
    }
}

/// Reads from the front of `bytes`; returns `None` for truncated or invalid input.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Number of bytes not yet read.
    pub(crate) fn n_left(&self) -> usize {
        self.bytes.len()
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    fn pass(&mut self, n: usize) -> Option<()> {
        self.bytes = self.bytes.get(n..)?;
        Some(())
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            // Bits beyond 64 are lost, as in the decoder.
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// An integer.
    pub(crate) fn integer(&mut self) -> Option<i64> {
        let coded = self.unsigned()?;
        Some((coded >> 1) as i64 ^ -((coded & 1) as i64))
    }

    /// The type and number of the elements of a list.
    pub(crate) fn list(&mut self) -> Option<(Kind, usize)> {
        let header = self.byte()?;
        let n = match header >> 4 {
            15 => usize::try_from(self.unsigned()?).ok()?,
            n => usize::from(n),
        };
        // Some writers give an empty list no type.
        let kind = if header == 0 { Kind::Byte } else { Kind::of(header & 0x0f)? };
        Some((kind, n))
    }

    /// Visits the fields of a structure: `visit` receives the number and the type of a field and returns whether
    /// it has read it; otherwise the field is skipped.
    pub(crate) fn structure(
        &mut self,
        visit: &mut dyn FnMut(i64, Kind, &mut Self) -> Option<bool>,
    ) -> Option<()> {
        let mut id = 0;
        while let Some((next, kind)) = self.field(id)? {
            id = next;
            if !visit(id, kind, self)? {
                self.pass_value(kind, MAX_DEPTH)?;
            }
        }
        Some(())
    }

    /// The number and the type of the next field; `Some(None)` at the end of the structure.
    fn field(&mut self, last: i64) -> Option<Option<(i64, Kind)>> {
        let header = self.byte()?;
        if header & 0x0f == 0 {
            return Some(None);
        }
        let kind = Kind::of(header & 0x0f)?;
        let id = match header >> 4 {
            0 => self.integer()?,
            step => last.checked_add(i64::from(step))?,
        };
        Some(Some((id, kind)))
    }

    fn pass_value(&mut self, kind: Kind, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            Kind::Boolean => Some(()),
            Kind::Byte => self.pass(1),
            Kind::Integer => self.unsigned().map(|_| ()),
            Kind::Double => self.pass(8),
            Kind::Uuid => self.pass(16),
            Kind::Binary => {
                let n = usize::try_from(self.unsigned()?).ok()?;
                self.pass(n)
            }
            Kind::Struct => {
                let mut id = 0;
                while let Some((next, kind)) = self.field(id)? {
                    id = next;
                    self.pass_value(kind, depth)?;
                }
                Some(())
            }
            Kind::List => {
                let (kind, n) = self.list()?;
                (0..n).try_for_each(|_| self.pass_element(kind, depth))
            }
            Kind::Map => {
                let n = self.unsigned()?;
                if n == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                let (key, value) = (Kind::of(kinds >> 4)?, Kind::of(kinds & 0x0f)?);
                (0..n).try_for_each(|_| {
                    self.pass_element(key, depth)?;
                    self.pass_element(value, depth)
                })
            }
        }
    }

    /// Every element takes at least a byte, so a false number of elements ends with the bytes.
    fn pass_element(&mut self, kind: Kind, depth: usize) -> Option<()> {
        self.pass_value(if kind == Kind::Boolean { Kind::Byte } else { kind }, depth)
    }
}
