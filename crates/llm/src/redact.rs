//! Takes known secrets out of text that came from outside before it is shown or stored.

use secrecy::{ExposeSecret, SecretString};

/// Stands where a secret was.
const MASK: &str = "[redacted]";

/// Shortest secret that is looked for: shorter ones would mask ordinary text.
const MIN_LEN: usize = 6;

/// The secrets of one provider.
#[derive(Debug, Clone, Default)]
pub(super) struct Redactor {
    secrets: Vec<SecretString>,
}

impl Redactor {
    pub(super) fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let long = |secret: &SecretString| secret.expose_secret().len() >= MIN_LEN;
        Self { secrets: secrets.into_iter().filter(long).collect() }
    }

    /// Returns the bytes without the secrets.
    pub(super) fn clean_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.secrets.iter().fold(bytes, |bytes, secret| {
            replace(bytes, secret.expose_secret().as_bytes(), MASK.as_bytes())
        })
    }

    /// Returns the text without the secrets.
    pub(super) fn clean(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| {
            if text.contains(secret.expose_secret()) {
                text.replace(secret.expose_secret(), MASK)
            } else {
                text
            }
        })
    }
}

fn replace(bytes: Vec<u8>, needle: &[u8], mask: &[u8]) -> Vec<u8> {
    let find = |from: usize| {
        let found = bytes.get(from..)?.windows(needle.len()).position(|part| part == needle)?;
        Some(from + found)
    };
    let Some(first) = find(0) else { return bytes };
    let mut clean = Vec::with_capacity(bytes.len());
    let (mut start, mut next) = (0, Some(first));
    while let Some(at) = next {
        clean.extend_from_slice(&bytes[start..at]);
        clean.extend_from_slice(mask);
        start = at + needle.len();
        next = find(start);
    }
    clean.extend_from_slice(&bytes[start..]);
    clean
}

#[cfg(test)]
mod tests {
    use super::Redactor;

    #[test]
    fn secrets_vanish_and_short_ones_leave_text_alone() {
        let redactor = Redactor::new(["sk-secret-1".into(), "ab".into()]);
        let cleaned = redactor.clean("bad key sk-secret-1, about sk-secret-1".to_owned());
        assert_eq!(cleaned, "bad key [redacted], about [redacted]");
        assert!(!format!("{redactor:?}").contains("sk-secret"));
        let bytes = b"\xffsk-secret-1sk-secret-1,ab sk-secret".to_vec();
        let cleaned = redactor.clean_bytes(bytes);
        assert_eq!(cleaned, b"\xff[redacted][redacted],ab sk-secret");
    }
}
