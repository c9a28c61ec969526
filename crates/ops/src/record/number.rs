//! Numbers in JSON: NaN and the infinities are strings there, so that nothing turns into `null`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An f64 that survives JSON: `1.5`, `"nan"`, `"inf"`, `"-inf"`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            return serializer.serialize_f64(self.0);
        }
        serializer.serialize_str(if self.0.is_nan() {
            "nan"
        } else if self.0 > 0.0 {
            "inf"
        } else {
            "-inf"
        })
    }
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "number" }, { "enum": ["nan", "inf", "-inf"] }] })
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Number;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, \"nan\", \"inf\" or \"-inf\"")
            }

            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }

            #[expect(clippy::cast_precision_loss, reason = "JSON has one number type")]
            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            #[expect(clippy::cast_precision_loss, reason = "JSON has one number type")]
            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Number, E> {
                match value {
                    "nan" => Ok(Number(f64::NAN)),
                    "inf" => Ok(Number(f64::INFINITY)),
                    "-inf" => Ok(Number(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Writes and reads a plain f64 as [`Number`] does, for `#[serde(with)]`.
pub mod plain {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Number;

    /// Writes the value.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Number(*value).serialize(serializer)
    }

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// Those of the deserializer; a string that is no number.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Number::deserialize(deserializer)?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn non_finite_values_survive_json() {
        for value in [1.5, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.0] {
            let json = serde_json::to_string(&Number(value)).unwrap();
            let back: Number = serde_json::from_str(&json).unwrap();
            assert_eq!(back.0.to_bits(), value.to_bits(), "{json}");
        }
    }
}
