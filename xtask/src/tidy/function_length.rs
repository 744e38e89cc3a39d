//! Functions stay within 70 lines, counted from `fn` to the closing brace.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::finding::Finding;
use super::ratchet::Ratchet;
use super::tree::Tree;

const RULE: &str = "function length";
const LINES_MAX: usize = 70;

/// Reports functions over the limit that the ratchet does not cover, and files that do not parse.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut over = BTreeMap::new();
    for file in tree.with(&["rs"]) {
        let parsed = match syn::parse_file(&file.text) {
            Ok(parsed) => parsed,
            Err(error) => {
                let line = error.span().start().line;
                let text = format!("not Rust that parses: {error}");
                findings.push(Finding::fail(&file.path, line, RULE, text));
                continue;
            }
        };
        let mut long = LongFunctions { path: &file.path, over: &mut over };
        long.visit_file(&parsed);
    }
    findings.extend(Ratchet::of(tree).judge("function ", RULE, LINES_MAX, &over));
    findings
}

struct LongFunctions<'a> {
    path: &'a str,
    over: &'a mut BTreeMap<String, (String, usize, usize)>,
}

impl LongFunctions<'_> {
    fn measure(&mut self, sig: &syn::Signature, block: &syn::Block) {
        let first = sig.fn_token.span.start().line;
        let length = block.brace_token.span.close().end().line + 1 - first;
        if length > LINES_MAX {
            let name = format!("function {}::{}", self.path, sig.ident);
            let place = (self.path.to_owned(), first, length);
            // Two functions of one name in a file share an entry: the longer one counts.
            let longest = self.over.entry(name).or_insert_with(|| place.clone());
            if longest.2 < length {
                *longest = place;
            }
        }
    }
}

impl<'ast> Visit<'ast> for LongFunctions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.measure(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::ratchet;
    use super::*;

    fn texts(source: &str, list: &str) -> Vec<String> {
        let tree = Tree::of(&[("a.rs", source), (ratchet::PATH, list)]);
        check(&tree).into_iter().map(|finding| format!("{finding}")).collect()
    }

    fn function(lines: usize) -> String {
        format!("/// Doc.\n#[inline]\nfn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_71_lines_fails_and_one_of_70_does_not() {
        assert!(texts(&function(70), "").is_empty());
        let found = texts(&function(71), "");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.rs:3: error: function length"), "{found:?}");
    }

    #[test]
    fn methods_and_default_methods_are_measured_too() {
        let method = format!("impl A {{\n{}}}\n", function(80));
        let default = format!("trait A {{\n{}}}\n", function(80));
        assert_eq!(texts(&method, "").len(), 1);
        assert_eq!(texts(&default, "").len(), 1);
        assert!(texts(&method, "function a.rs::long 80").is_empty());
    }

    #[test]
    fn a_file_that_does_not_parse_is_an_error() {
        assert!(texts("fn broken( {", "")[0].contains("not Rust that parses"));
    }
}
