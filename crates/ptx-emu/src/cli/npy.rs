//! NumPy's `.npy` format, versions 1 to 3, little-endian and in C order.

use super::element::Element;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The bytes and shape of an array whose elements can be read as `element`.
pub(super) fn read(file: &[u8], element: Element) -> Result<(Vec<u8>, Vec<usize>), String> {
    let (header, data) = split(file).ok_or("no .npy file, or one that is cut off")?;
    let description = value(header, "descr").ok_or("its header names no type")?;
    let description = description.trim_matches(['\'', '"']);
    if !element.numpy().contains(&description) {
        let held = Element::of_numpy(description).map_or("", Element::name);
        let held = if held.is_empty() { String::new() } else { format!(" ({held})") };
        return Err(format!("it holds `{description}`{held}, not {}", element.name()));
    }
    if value(header, "fortran_order") != Some("False") {
        return Err("it is in Fortran order; store it with numpy.ascontiguousarray".to_owned());
    }
    let shape = shape(header).ok_or("its header has no shape")?;
    let bytes = shape.iter().try_fold(element.bytes(), |n, d| n.checked_mul(*d));
    match bytes {
        Some(bytes) if bytes == data.len() => Ok((data.to_vec(), shape)),
        _ => Err(format!("{} bytes of data do not fit the shape {shape:?}", data.len())),
    }
}

/// The header's text and the data after it.
fn split(file: &[u8]) -> Option<(&str, &[u8])> {
    let rest = file.strip_prefix(MAGIC)?;
    let (&[major, _], rest) = rest.split_first_chunk()?;
    let (length, rest) = if major == 1 {
        let (length, rest) = rest.split_first_chunk()?;
        (usize::from(u16::from_le_bytes(*length)), rest)
    } else {
        let (length, rest) = rest.split_first_chunk()?;
        (usize::try_from(u32::from_le_bytes(*length)).ok()?, rest)
    };
    let (header, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// The text of a key's value, up to the next comma.
fn value<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let at = header.find(&format!("'{key}':"))?;
    let rest = &header[at + key.len() + 3..];
    rest.split([',', '}']).next().map(str::trim)
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let rest = &header[header.find("'shape':")?..];
    let inner = rest.split_once('(')?.1.split_once(')')?.0;
    let sizes = inner.split(',').map(str::trim).filter(|s| !s.is_empty());
    sizes.map(|s| s.parse().ok()).collect()
}

/// A file with these bytes.
pub(super) fn write(bytes: &[u8], element: Element, shape: &[usize]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let description = element.numpy().first().unwrap_or(&"|V1");
    let mut header =
        format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Magic, version, length, header and a line end fill a multiple of 64 bytes.
    let padding = 63 - (10 + header.len()) % 64;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap_or(u16::MAX);
    [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::{Element, read, write};

    #[test]
    fn arrays_survive_a_file() {
        let bytes: Vec<u8> = (0..24).collect();
        for shape in [vec![6], vec![2, 3], vec![1, 6, 1]] {
            let file = write(&bytes, Element::F32, &shape);
            assert_eq!((file.len() - bytes.len()) % 64, 0);
            assert_eq!(read(&file, Element::F32), Ok((bytes.clone(), shape)));
        }
        let scalar = write(&bytes[..4], Element::I32, &[]);
        assert_eq!(read(&scalar, Element::I32), Ok((bytes[..4].to_vec(), Vec::new())));
    }

    #[test]
    fn wrong_files_are_named() {
        let file = write(&[0; 8], Element::F64, &[1]);
        let error = read(&file, Element::F32).expect_err("another type");
        assert_eq!(error, "it holds `<f8` (f64), not f32");
        for end in 0..file.len() {
            assert!(read(&file[..end], Element::F64).is_err(), "{end}");
        }
        let text = String::from_utf8_lossy(&file).replace("False", "True ");
        assert!(read(text.as_bytes(), Element::F64).is_err());
    }
}
