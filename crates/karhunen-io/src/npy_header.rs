//! Parses the header of an NPY file: a Python dictionary of three entries, without evaluating it.
//!
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use crate::Cause;

/// The first bytes of an NPY file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The header of an array.
#[derive(Debug, PartialEq)]
pub(crate) struct Header {
    /// The type of the elements.
    pub(crate) dtype: Dtype,
    /// Length of each axis.
    pub(crate) shape: Vec<usize>,
    /// True for column-major order.
    pub(crate) fortran_order: bool,
    /// Offset of the elements, in bytes.
    pub(crate) data_offset: usize,
}

/// A supported type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dtype {
    /// The kind of elements.
    pub(crate) kind: Kind,
    /// Number of bytes of an element.
    pub(crate) size: usize,
    /// True if the most significant byte comes first.
    pub(crate) big_endian: bool,
}

/// The kind of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// IEEE floating-point numbers of 2, 4 or 8 bytes.
    Float,
    /// Signed integers of 1 to 8 bytes.
    Int,
    /// Unsigned integers of 1 to 8 bytes.
    Uint,
    /// One byte, 0 or 1.
    Bool,
    /// Text of a fixed number of bytes.
    Bytes,
    /// Text of a fixed number of code points, 4 bytes each.
    Unicode,
}

impl Header {
    /// Number of bytes of all elements; `None` on overflow.
    pub(crate) fn n_bytes(&self) -> Option<usize> {
        self.shape.iter().try_fold(self.dtype.size, |product, &axis| product.checked_mul(axis))
    }

    /// The shape in Python notation.
    pub(crate) fn shape_text(&self) -> String {
        let axes: Vec<_> = self.shape.iter().map(ToString::to_string).collect();
        if axes.len() == 1 { format!("({},)", axes[0]) } else { format!("({})", axes.join(", ")) }
    }
}

/// Parses the header at the start of `bytes`.
///
/// # Errors
/// [`Cause::Format`] if it is not a header, is truncated, or declares elements that are not numbers or text.
pub(crate) fn parse(bytes: &[u8]) -> Result<Header, Cause> {
    if !bytes.starts_with(MAGIC) {
        return Err(Cause::format("is not an NPY file: it does not begin with \\x93NUMPY".to_owned()));
    }
    let cut_off = || Cause::format("the NPY header is cut off; copy the file again".to_owned());
    let version = bytes.get(6..8).ok_or_else(cut_off)?;
    let (begin, length) = match version {
        [1, 0] => {
            let field: [u8; 2] = bytes.get(8..10).ok_or_else(cut_off)?.try_into().map_err(|_| cut_off())?;
            (10, usize::from(u16::from_le_bytes(field)))
        }
        [2 | 3, 0] => {
            let field: [u8; 4] = bytes.get(8..12).ok_or_else(cut_off)?.try_into().map_err(|_| cut_off())?;
            (12, u32::from_le_bytes(field) as usize)
        }
        _ => {
            let (major, minor) = (version[0], version[1]);
            return Err(Cause::format(format!(
                "NPY version {major}.{minor} is not known (1.0, 2.0 and 3.0 are); save it with numpy.save"
            )));
        }
    };
    let text = bytes[begin..].get(..length).ok_or_else(cut_off)?;
    let mut parser = Parser { text, at: 0 };
    let (descr, fortran_order, shape) =
        parser.dictionary().map_err(|expected| damaged(expected, parser.at + begin))?;
    let dtype = match descr {
        Descr::Plain(descr) => dtype_of(&descr)?,
        Descr::Structured(fields) => return Err(structured(&fields)),
    };
    Ok(Header { dtype, shape, fortran_order, data_offset: begin + length })
}

fn damaged(expected: &str, at: usize) -> Cause {
    Cause::format(format!(
        "the NPY header is damaged at byte {at}: expected {expected}; save the array again with numpy.save"
    ))
}

fn structured(fields: &[String]) -> Cause {
    Cause::format(format!(
        "holds a structured array with the fields {}; make a plain one of it with \
         numpy.lib.recfunctions.structured_to_unstructured",
        crate::names::list(fields)
    ))
}

/// Parses a type string such as `<f8`.
pub(crate) fn dtype_of(descr: &str) -> Result<Dtype, Cause> {
    let refuse = |what: &str, advice: &str| {
        let shown: String = descr.chars().take(40).flat_map(char::escape_debug).collect();
        Err(Cause::format(format!("holds {what} (dtype `{shown}`); {advice}")))
    };
    let (order, rest) = match descr.as_bytes().first() {
        Some(b'<' | b'>' | b'|' | b'=') => descr.split_at(1),
        _ => ("", descr),
    };
    let mut letters = rest.chars();
    let letter = letters.next().unwrap_or(' ');
    let size = letters.as_str().parse::<usize>().ok();
    let kind = match (letter, size) {
        ('f', Some(2 | 4 | 8)) => Kind::Float,
        ('i', Some(1 | 2 | 4 | 8)) => Kind::Int,
        ('u', Some(1 | 2 | 4 | 8)) => Kind::Uint,
        ('b', Some(1)) => Kind::Bool,
        ('S', Some(_)) => Kind::Bytes,
        ('U', Some(_)) => Kind::Unicode,
        ('O', _) => {
            return refuse("Python objects", "they are never unpickled: save x.astype(float) instead");
        }
        ('c', _) => {
            return refuse("complex numbers", "PCA here is of real ones: save the real and imaginary parts");
        }
        ('M' | 'm', _) => {
            return refuse("dates or time spans", "save them as numbers, x.astype('int64').astype(float)");
        }
        ('f', _) => return refuse("floats of an unusual size", "save x.astype('float64') instead"),
        _ => return refuse("elements of an unknown type", "save x.astype('float64') instead"),
    };
    let size = size.unwrap_or(1).saturating_mul(if kind == Kind::Unicode { 4 } else { 1 });
    let big_endian = order == ">" || (matches!(order, "" | "=") && cfg!(target_endian = "big"));
    Ok(Dtype { kind, size, big_endian })
}

enum Descr {
    Plain(String),
    Structured(Vec<String>),
}

/// Parses the literals that numpy writes; errors state what was expected at offset `at`.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

type Parsed<T> = Result<T, &'static str>;

impl Parser<'_> {
    fn dictionary(&mut self) -> Parsed<(Descr, bool, Vec<usize>)> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect(b'{', "a dictionary, {…}")?;
        while !self.take(b'}') {
            let key = self.string()?;
            self.expect(b':', "a colon")?;
            match key.as_str() {
                "descr" if descr.is_none() => descr = Some(self.descr()?),
                "fortran_order" if fortran_order.is_none() => fortran_order = Some(self.boolean()?),
                "shape" if shape.is_none() => shape = Some(self.shape()?),
                _ => return Err("the keys `descr`, `fortran_order` and `shape`, once each"),
            }
            if !self.take(b',') && self.peek() != Some(b'}') {
                return Err("a comma or the end of the dictionary");
            }
        }
        if self.peek().is_some() {
            return Err("nothing after the dictionary");
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok((descr, fortran_order, shape)),
            _ => Err("the keys `descr`, `fortran_order` and `shape`, once each"),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Parsed<()> {
        if self.take(byte) { Ok(()) } else { Err(expected) }
    }

    fn string(&mut self) -> Parsed<String> {
        let expected = "a text in quotes";
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"')).ok_or(expected)?;
        let rest = &self.text[self.at + 1..];
        let mut end = 0;
        while *rest.get(end).ok_or(expected)? != quote {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        self.at += end + 2;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    fn boolean(&mut self) -> Parsed<bool> {
        self.peek();
        for (text, value) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(text) {
                self.at += text.len();
                return Ok(value);
            }
        }
        Err("True or False")
    }

    fn shape(&mut self) -> Parsed<Vec<usize>> {
        let mut shape = Vec::new();
        self.expect(b'(', "a shape, (…)")?;
        while !self.take(b')') {
            self.peek();
            let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let axis = std::str::from_utf8(&self.text[self.at..self.at + digits])
                .ok()
                .and_then(|digits| digits.parse().ok())
                .ok_or("the length of an axis")?;
            self.at += digits;
            // Python 2 wrote long integers with a suffix L.
            self.take(b'L');
            shape.push(axis);
            if !self.take(b',') && self.peek() != Some(b')') {
                return Err("a comma or the end of the shape");
            }
        }
        Ok(shape)
    }

    /// A type string, or the field names of a structured type.
    fn descr(&mut self) -> Parsed<Descr> {
        if self.peek() != Some(b'[') {
            return self.string().map(Descr::Plain);
        }
        let mut fields = Vec::new();
        let mut depth = 0usize;
        loop {
            match self.peek().ok_or("the end of the list of fields")? {
                b'[' | b'(' => depth += 1,
                b']' | b')' => depth -= 1,
                b'\'' | b'"' => {
                    let first = self.text[..self.at].trim_ascii_end().ends_with(b"(");
                    let text = self.string()?;
                    if first && depth == 2 {
                        fields.push(text);
                    }
                    continue;
                }
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(Descr::Structured(fields));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, String> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        parse(&bytes).map_err(|cause| cause.to_string())
    }

    #[test]
    fn literals_in_any_order_and_spacing() {
        let expected = Header {
            dtype: Dtype { kind: Kind::Int, size: 4, big_endian: true },
            shape: vec![3, 2],
            fortran_order: true,
            data_offset: 71,
        };
        let text = "{ \"shape\" :(3L , 2,),'fortran_order':True,   'descr': '>i4' }      \n";
        assert_eq!(header(text), Ok(Header { data_offset: 10 + text.len(), ..expected }));
        assert_eq!(
            header("{'descr': '<f8', 'fortran_order': False, 'shape': ()}").map(|h| h.shape),
            Ok(vec![])
        );
    }

    #[test]
    fn unusual_types_are_refused_by_name() {
        let cases = [
            (
                "'|O'",
                "holds Python objects (dtype `|O`); they are never unpickled: save x.astype(float) instead",
            ),
            (
                "'<c16'",
                "holds complex numbers (dtype `<c16`); PCA here is of real ones: save the real and imaginary parts",
            ),
            (
                "'<M8[ns]'",
                "holds dates or time spans (dtype `<M8[ns]`); save them as numbers, x.astype('int64').astype(float)",
            ),
            ("'<f16'", "holds floats of an unusual size (dtype `<f16`); save x.astype('float64') instead"),
            ("'|V7'", "holds elements of an unknown type (dtype `|V7`); save x.astype('float64') instead"),
            ("''", "holds elements of an unknown type (dtype ``); save x.astype('float64') instead"),
            (
                "[('a', '<f8'), ('b', [('c', '<i4')], (2, 3)), (('title', 'd'), '<f4')]",
                "holds a structured array with the fields `a`, `b`; make a plain one of it with \
                 numpy.lib.recfunctions.structured_to_unstructured",
            ),
        ];
        for (descr, expected) in cases {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2, 2), }}");
            assert_eq!(header(&text), Err(expected.to_owned()), "{descr}");
        }
    }

    #[test]
    fn damage_is_named_with_its_place() {
        let keys = "the keys `descr`, `fortran_order` and `shape`, once each";
        let cases = [
            ("", 10, "a dictionary, {…}"),
            ("{", 11, "a text in quotes"),
            ("{'descr': '<f8'}", 26, keys),
            ("{'descr': '<f8', 'descr': '<f8'}", 35, keys),
            ("{'descr': '<f8' 'shape': (1,)}", 26, "a comma or the end of the dictionary"),
            ("{'shape': (1, -2)}", 24, "the length of an axis"),
            ("{'shape': (99999999999999999999, 2)}", 21, "the length of an axis"),
            ("{'shape': (1 2)}", 23, "a comma or the end of the shape"),
            ("{'shape': 3}", 20, "a shape, (…)"),
            ("{'fortran_order': 1}", 28, "True or False"),
            ("{'descr': [('a', '<f8')", 33, "the end of the list of fields"),
            ("{'descr': 'unclosed\\", 20, "a text in quotes"),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} and more",
                66,
                "nothing after the dictionary",
            ),
        ];
        for (text, at, expected) in cases {
            let message = format!(
                "the NPY header is damaged at byte {at}: expected {expected}; save the array again with numpy.save"
            );
            assert_eq!(header(text), Err(message), "{text}");
        }
    }

    #[test]
    fn versions_and_cuts() {
        let error = |bytes: &[u8]| parse(bytes).unwrap_err().to_string();
        assert_eq!(error(b"PK\x03\x04"), "is not an NPY file: it does not begin with \\x93NUMPY");
        for cut in [&b"\x93NUMPY"[..], b"\x93NUMPY\x01\x00\x10", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"] {
            assert_eq!(error(cut), "the NPY header is cut off; copy the file again");
        }
        assert_eq!(
            error(b"\x93NUMPY\x04\x01"),
            "NPY version 4.1 is not known (1.0, 2.0 and 3.0 are); save it with numpy.save"
        );
    }

    #[test]
    fn deep_nesting_and_huge_shapes_are_harmless() {
        assert!(header(&format!("{{'descr': {}", "[(".repeat(30_000))).is_err());
        let huge =
            format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}) }}", "9999999999, ".repeat(9));
        assert_eq!(header(&huge).map(|h| h.n_bytes()), Ok(None));
        assert_eq!(
            header("{'descr': '<U18446744073709551615', 'fortran_order': False, 'shape': (2,)}")
                .map(|h| h.n_bytes()),
            Ok(None)
        );
    }
}
