//! JSON values that are an object or a text, as everything in a request is.
//!
//! Derived structs would take a list of their members' values too.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IntoDeserializer, MapAccess, Visitor};

/// A value that was an object or a text.
pub(super) struct Element<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Element<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Element<T>, D::Error> {
        from.deserialize_any(ElementVisitor(PhantomData)).map(Element)
    }
}

struct ElementVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ElementVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::deserialize(text.into_deserializer())
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<T, E> {
        T::deserialize(text.into_deserializer())
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members))
    }
}
