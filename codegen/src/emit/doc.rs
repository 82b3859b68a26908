//! Documentation in generated code.
//!
//! Descriptions are written in Markdown for readers of the document. rustdoc would compile and run every
//! code block in them that is not marked otherwise, so they are marked; and text of several lines gets
//! several lines. Characters that the compiler takes for an attempt to deceive, or refuses in comments, are
//! made visible.

use syn::visit_mut::VisitMut;
use syn::{Attribute, Expr, parse_quote};

/// The text of a module, with characters that change the direction of text escaped: rustc refuses them in
/// comments and literals alike, since they can make code look like something else.
pub(super) fn visible(text: &str) -> String {
    ('\u{202a}'..='\u{202e}')
        .chain('\u{2066}'..='\u{2069}')
        .fold(text.to_owned(), |text, character| {
            text.replace(character, &character.escape_unicode().to_string())
        })
}

/// Tidies the documentation of all items.
pub(super) fn tidy(file: &mut syn::File) {
    Tidy.visit_file_mut(file);
}

struct Tidy;

impl VisitMut for Tidy {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        if !attributes.iter().any(|it| it.path().is_ident("doc")) {
            return;
        }
        let tidied = std::mem::take(attributes).into_iter().flat_map(split);
        attributes.extend(tidied);
    }
}

/// Splits documentation into one attribute per line; any other attribute stays as it is.
fn split(attribute: Attribute) -> Vec<Attribute> {
    let syn::Meta::NameValue(meta) = &attribute.meta else {
        return vec![attribute];
    };
    let Expr::Lit(syn::ExprLit {
        lit: syn::Lit::Str(text),
        ..
    }) = &meta.value
    else {
        return vec![attribute];
    };
    if !meta.path.is_ident("doc") {
        return vec![attribute];
    }
    let style = attribute.style;
    without_tests(text.value().trim())
        .into_iter()
        .map(|line| {
            let line = if line.is_empty() {
                line
            } else {
                format!(" {line}")
            };
            Attribute {
                style,
                ..parse_quote!(#[doc = #line])
            }
        })
        .collect()
}

/// The lines, without code that rustdoc would take for a Rust test: a block without a language becomes text,
/// and lines indented far enough to be a block are indented less.
fn without_tests(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        // A lone carriage return is not allowed in a comment.
        let line = line.replace('\r', " ");
        let line = line.trim_end();
        let start = line.trim_start();
        let fence = ["```", "~~~"]
            .into_iter()
            .find(|fence| start.starts_with(fence));
        let indent = line.len() - start.len();
        lines.push(match fence {
            Some(fence) if !inside && start == fence => format!("{line}text"),
            None if !inside && indent >= 4 => format!("   {start}"),
            _ => line.to_owned(),
        });
        inside ^= fence.is_some();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::without_tests;

    #[test]
    fn code_of_no_language_becomes_text() {
        let text = "One\n```\nlet x = 1;\n    y\n```\n```json\n{}\n```\n    cargo run\n~~~\n~~~";
        let expected = [
            "One",
            "```text",
            "let x = 1;",
            "    y",
            "```",
            "```json",
            "{}",
            "```",
            "   cargo run",
            "~~~text",
            "~~~",
        ];
        assert_eq!(without_tests(text), expected);
    }
}
