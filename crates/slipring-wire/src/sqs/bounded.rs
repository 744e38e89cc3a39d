//! Lists and maps of a request that keep a bounded number of elements, however many were sent.
//!
//! Small elements in a large body would otherwise take many times the memory of the body.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::element::Element;

/// Elements kept; above every count the protocol allows anywhere.
pub const KEPT_MAX: usize = 100;

/// A list; `sent` says how many elements there were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T> {
    kept: Vec<T>,
    /// How many elements the request had.
    pub sent: usize,
}

/// A map; `sent` says how many entries there were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map<T> {
    kept: BTreeMap<String, T>,
    /// How many entries the request had.
    pub sent: usize,
}

impl<T> List<T> {
    /// Adds an element, or only counts it when enough are kept.
    pub fn add(&mut self, element: T) {
        self.sent += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(element);
        }
    }

    /// The same list with other elements.
    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> List<U> {
        List { kept: self.kept.into_iter().map(change).collect(), sent: self.sent }
    }

    /// The same list with other elements, or the first error.
    pub(super) fn try_map<U, E>(self, change: impl FnMut(T) -> Result<U, E>) -> Result<List<U>, E> {
        let kept = self.kept.into_iter().map(change).collect::<Result<_, E>>()?;
        Ok(List { kept, sent: self.sent })
    }

    /// The elements kept.
    pub fn into_vec(self) -> Vec<T> {
        self.kept
    }
}

impl<T> Map<T> {
    /// Adds an entry, or only counts it when enough are kept. A name that comes twice counts
    /// twice and keeps its last value.
    pub fn add(&mut self, name: String, value: T) {
        self.sent += 1;
        if self.kept.len() < KEPT_MAX || self.kept.contains_key(&name) {
            self.kept.insert(name, value);
        }
    }

    /// The entries kept.
    pub fn into_map(self) -> BTreeMap<String, T> {
        self.kept
    }
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List { kept: Vec::new(), sent: 0 }
    }
}

impl<T> Default for Map<T> {
    fn default() -> Map<T> {
        Map { kept: BTreeMap::new(), sent: 0 }
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> List<T> {
        let mut list = List::default();
        elements.into_iter().for_each(|element| list.add(element));
        list
    }
}

impl<T> FromIterator<(String, T)> for Map<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(entries: I) -> Map<T> {
        let mut map = Map::default();
        entries.into_iter().for_each(|(name, value)| map.add(name, value));
        map
    }
}

impl<T> Deref for List<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.kept
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.kept
    }
}

impl<T> Deref for Map<T> {
    type Target = BTreeMap<String, T>;
    fn deref(&self) -> &BTreeMap<String, T> {
        &self.kept
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<List<T>, D::Error> {
        from.deserialize_any(ListVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Map<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Map<T>, D::Error> {
        from.deserialize_any(MapVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<List<T>, E> {
        Ok(List::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<List<T>, A::Error> {
        let mut list = List::default();
        while list.kept.len() < KEPT_MAX {
            match elements.next_element()? {
                Some(Element(element)) => list.add(element),
                None => return Ok(list),
            }
        }
        while elements.next_element::<IgnoredAny>()?.is_some() {
            list.sent += 1;
        }
        Ok(list)
    }
}

struct MapVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for MapVisitor<T> {
    type Value = Map<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Map<T>, E> {
        Ok(Map::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map<T>, A::Error> {
        let mut map = Map::default();
        while map.kept.len() < KEPT_MAX {
            match entries.next_entry()? {
                Some((name, Element(value))) => map.add(name, value),
                None => return Ok(map),
            }
        }
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            map.sent += 1;
        }
        Ok(map)
    }
}
