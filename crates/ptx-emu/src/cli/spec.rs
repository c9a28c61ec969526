//! The values of `--arg` and `--expect`.

use super::element::Element;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arg {
    /// Name for messages.
    pub name: String,
    /// Its value.
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// An array that is read.
    In { element: Element, data: String },
    /// An array that is changed, and where to store it.
    InOut { element: Element, data: String, file: Option<String> },
    /// An array that is written whole, and where to store it.
    Out { element: Element, shape: Vec<usize>, file: Option<String> },
    /// The bytes themselves.
    Bytes(Vec<u8>),
}

/// The values that an array must hold afterwards.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expect {
    /// The argument.
    pub name: String,
    /// File or generator.
    pub data: String,
    /// Error allowed, relative above 1; equal bytes if `None`.
    pub tolerance: Option<f64>,
}

/// Reads `NAME=..` of `--arg`.
pub(super) fn arg(text: &str) -> Result<Arg, String> {
    let (name, rest) = text.split_once('=').ok_or("expected NAME=..")?;
    let mut parts = rest.splitn(3, ':');
    let (head, second, third) = (parts.next().unwrap_or(""), parts.next(), parts.next());
    let element = |name: Option<&str>| {
        name.and_then(Element::named).ok_or_else(|| {
            format!("`{}` is no element type such as f32 or i32", name.unwrap_or(""))
        })
    };
    let data = || third.filter(|t| !t.is_empty()).ok_or("the data are missing");
    let value = match head {
        "in" => Value::In { element: element(second)?, data: data()?.to_owned() },
        "inout" => {
            let element = element(second)?;
            let (data, file) = with_file(data()?);
            Value::InOut { element, data, file }
        }
        "out" => {
            let element = element(second)?;
            let (sizes, file) = with_file(data()?);
            let shape = shape(&sizes, element)
                .ok_or_else(|| format!("`{sizes}` is no shape such as 1024 or 32x64"))?;
            Value::Out { element, shape, file }
        }
        "null" => Value::Bytes(vec![0; 8]),
        "hex" => {
            let digits = second.unwrap_or("");
            Value::Bytes(hex(digits).ok_or("expected pairs of hex digits")?)
        }
        _ => {
            let element = element(Some(head))?;
            let number = second.unwrap_or("");
            let bytes = element.parse(number).filter(|_| third.is_none());
            let bytes =
                bytes.ok_or_else(|| format!("`{number}` is no number of {}", element.name()))?;
            Value::Bytes(bytes)
        }
    };
    Ok(Arg { name: name.to_owned(), value })
}

/// Reads `NAME=DATA[:TOLERANCE]` of `--expect`.
pub(super) fn expect(text: &str) -> Result<Expect, String> {
    let (name, rest) = text.split_once('=').ok_or("expected NAME=DATA[:TOLERANCE]")?;
    let tolerance = rest.rsplit_once(':').and_then(|(data, tail)| {
        let tolerance: f64 = tail.parse().ok()?;
        (tolerance >= 0.0).then_some((data, tolerance))
    });
    let (data, tolerance) = match tolerance {
        Some((data, tolerance)) => (data, Some(tolerance)),
        None => (rest, None),
    };
    Ok(Expect { name: name.to_owned(), data: data.to_owned(), tolerance })
}

/// `DATA[:FILE]`.
fn with_file(text: &str) -> (String, Option<String>) {
    match text.split_once(':') {
        Some((data, file)) => (data.to_owned(), Some(file.to_owned())),
        None => (text.to_owned(), None),
    }
}

fn shape(text: &str, element: Element) -> Option<Vec<usize>> {
    let sizes: Vec<usize> = text.split('x').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    sizes.iter().try_fold(element.bytes(), |n, d| n.checked_mul(*d))?;
    Some(sizes)
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let pair = std::str::from_utf8(pair).ok().filter(|p| p.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Element, Value, arg, expect};

    #[test]
    fn arguments() {
        let value = |text: &str| arg(text).unwrap().value;
        let (element, file) = (Element::F32, Some("y.npy".to_owned()));
        assert_eq!(
            value("y=out:f32:8x4:y.npy"),
            Value::Out { element, shape: vec![8, 4], file: file.clone() }
        );
        let data = "x.bin".to_owned();
        assert_eq!(value("y=inout:f32:x.bin:y.npy"), Value::InOut { element, data, file });
        assert_eq!(value("n=i32:-1"), Value::Bytes(vec![255; 4]));
        assert_eq!(value("s=hex:00ff"), Value::Bytes(vec![0, 255]));
        assert_eq!(value("p=null"), Value::Bytes(vec![0; 8]));
        for wrong in
            ["x", "x=", "x=f32", "x=in:f32", "x=in:f33:a", "x=out:f32:a", "x=hex:0", "n=u8:256"]
        {
            assert!(arg(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn expectations() {
        let want = expect("y=a:b.npy:1e-5").unwrap();
        assert_eq!((want.data.as_str(), want.tolerance), ("a:b.npy", Some(1e-5)));
        let want = expect("y=b.npy").unwrap();
        assert_eq!((want.data.as_str(), want.tolerance), ("b.npy", None));
        assert!(expect("b.npy").is_err());
    }
}
