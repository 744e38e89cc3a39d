//! A list that is linked one way, as a list of waiters may be: the place of an entry is found by a
//! walk from the first. The steps of each walk are told, so that they can be counted.

/// The list; only its first entry is known.
pub struct List<T> {
    first: Link<T>,
    len: usize,
}

type Link<T> = Option<Box<Node<T>>>;

struct Node<T> {
    value: T,
    next: Link<T>,
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List { first: None, len: 0 }
    }
}

impl<T> List<T> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds an entry behind the last; answers how many it passed.
    pub fn push(&mut self, value: T) -> u64 {
        let mut steps = 0;
        let mut link = &mut self.first;
        while let Some(node) = link {
            link = &mut node.next;
            steps += 1;
        }
        *link = Some(Box::new(Node { value, next: None }));
        self.len += 1;
        steps
    }

    /// Takes the first entry out.
    pub fn pop(&mut self) -> Option<T> {
        let node = self.first.take()?;
        self.first = node.next;
        self.len -= 1;
        Some(node.value)
    }

    /// Takes out the first entry that `is_it`; answers it, and how many were passed.
    pub fn remove(&mut self, is_it: impl Fn(&T) -> bool) -> (Option<T>, u64) {
        let mut steps = 0;
        let mut link = &mut self.first;
        while link.as_ref().is_some_and(|node| !is_it(&node.value)) {
            if let Some(node) = link {
                link = &mut node.next;
                steps += 1;
            } else {
                return (None, steps);
            }
        }
        let Some(node) = link.take() else { return (None, steps) };
        *link = node.next;
        self.len -= 1;
        (Some(node.value), steps)
    }
}

impl<T> Drop for List<T> {
    fn drop(&mut self) {
        // One by one: nodes that drop each other would need a stack as deep as the list.
        while self.pop().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order_and_walks_are_told() {
        let mut list = List::default();
        assert_eq!([7, 8, 9].map(|value| list.push(value)), [0, 1, 2]);
        assert_eq!(list.remove(|value| *value == 9), (Some(9), 2));
        assert_eq!(list.remove(|value| *value == 9), (None, 2));
        assert_eq!(list.push(10), 2);
        assert_eq!(list.remove(|value| *value == 7), (Some(7), 0));
        assert_eq!((list.len(), list.pop(), list.pop(), list.pop()), (2, Some(8), Some(10), None));
        assert_eq!(list.len(), 0);
    }

    #[test]
    fn a_long_list_is_dropped_without_a_deep_stack() {
        let mut list = List::default();
        // Put in front, for a walk behind the last of so many would take long.
        for value in 0..1_000_000_u32 {
            list.first = Some(Box::new(Node { value, next: list.first.take() }));
            list.len += 1;
        }
        drop(list);
    }
}
