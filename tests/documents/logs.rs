//! Checks that docs/logs.md has every field and every message of the sources, and no others.
//!
//! The sources are read as tokens, since most logging is inside macros. A field is a text before `=>` in a macro of
//! slog, or the argument of an `emit_...` or `member`; a message is the first text of such a macro. A placeholder in a
//! message (`{}`) is `...` on the page.

use std::collections::BTreeSet;
use std::path::Path;

use syn::buffer::Cursor;
use syn::parse::{ParseStream, Parser};
use syn::{Lit, LitStr};
use test_support::document::repository;

/// What the sources log.
#[derive(Default)]
struct Logged {
    fields: BTreeSet<String>,
    messages: BTreeSet<String>,
    /// All texts, for messages that are constants.
    texts: BTreeSet<String>,
}

const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

impl Logged {
    fn of(folders: &[&str]) -> Self {
        let mut logged = Self::default();
        for folder in folders {
            logged.read(&repository().join(folder));
        }
        logged
    }

    fn read(&mut self, path: &Path) {
        if path.is_dir() {
            for entry in path.read_dir().unwrap() {
                self.read(&entry.unwrap().path());
            }
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(path).unwrap();
            let (text, _) = text.split_once("\n#[cfg(test)]").unwrap_or((&text, ""));
            self.read_text(text);
        }
    }

    fn read_text(&mut self, text: &str) {
        let read = |input: ParseStream| {
            input.step(|cursor| {
                self.walk(*cursor);
                let mut rest = *cursor;
                while let Some((_, next)) = rest.token_tree() {
                    rest = next;
                }
                Ok(((), rest))
            })
        };
        read.parse_str(text).unwrap();
    }

    fn walk(&mut self, mut at: Cursor<'_>) {
        while !at.eof() {
            if let Some((inside, _, _, behind)) = at.any_group() {
                self.walk(inside);
                at = behind;
                continue;
            }
            if let Some((name, behind)) = at.ident() {
                let name = name.to_string();
                if let Some(text) = first_argument(behind)
                    && (name.starts_with("emit_") || name.ends_with("member"))
                {
                    self.fields.insert(text);
                }
                if let Some(inside) = macro_body(behind) {
                    let is_log = LEVELS.contains(&name.as_str());
                    if is_log || ["o", "b"].contains(&name.as_str()) {
                        self.fields.extend(keys(inside));
                    }
                    if is_log || name == "format_args" {
                        self.messages
                            .extend(message(inside).filter(|it| is_log || is_plain(it)));
                    }
                }
            }
            if let Some((literal, _)) = at.literal()
                && let Lit::Str(text) = Lit::new(literal)
            {
                self.texts.insert(shown(&text.value()));
            }
            match at.token_tree() {
                Some((_, next)) => at = next,
                None => return,
            }
        }
    }
}

/// The first argument of a call, if it is a text.
fn first_argument(at: Cursor<'_>) -> Option<String> {
    let (inside, _, _, _) = at.any_group()?;
    text_at(inside)
}

/// The contents of a macro, just after its name.
fn macro_body(at: Cursor<'_>) -> Option<Cursor<'_>> {
    let (bang, behind) = at.punct()?;
    (bang.as_char() == '!').then_some(())?;
    let (inside, _, _, _) = behind.any_group()?;
    Some(inside)
}

fn text_at(at: Cursor<'_>) -> Option<String> {
    let (literal, _) = at.literal()?;
    match Lit::new(literal) {
        Lit::Str(text) => Some(LitStr::value(&text)),
        _ => None,
    }
}

/// The texts before `=>`.
fn keys(mut at: Cursor<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    while let Some((_, next)) = at.token_tree() {
        let arrow = next.punct().is_some_and(|(it, _)| it.as_char() == '=');
        keys.extend(text_at(at).filter(|_| arrow));
        at = next;
    }
    keys
}

/// The first text, before the fields.
fn message(mut at: Cursor<'_>) -> Option<String> {
    while let Some((_, next)) = at.token_tree() {
        if at.punct().is_some_and(|(it, _)| it.as_char() == ';') {
            return None;
        }
        if let Some(text) = text_at(at) {
            return Some(shown(&text));
        }
        at = next;
    }
    None
}

/// As on the page: with `...` for each placeholder.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        shown += before;
        shown += "...";
        rest = behind.split_once('}').map_or("", |(_, rest)| rest);
    }
    shown + rest
}

fn is_plain(text: &str) -> bool {
    !text.contains("...")
}

/// The first cells of the table under this heading.
fn table(heading: &str) -> BTreeSet<String> {
    let page = std::fs::read_to_string(repository().join("docs/logs.md")).unwrap();
    let (_, section) = page
        .split_once(&format!("\n## {heading}\n"))
        .expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once("` |").expect("a cell").0.to_owned())
        .collect()
}

#[test]
fn the_page_of_the_log_has_the_fields_of_the_sources_and_no_others() {
    let logged = Logged::of(&["src", "codegen/runtime/src"]);
    assert_eq!(table("Fields"), logged.fields);
}

/// The page may shorten a message with `...` at its end.
#[test]
fn the_page_of_the_log_has_the_messages_of_the_sources_and_no_others() {
    let logged = Logged::of(&["src", "codegen/runtime/src"]);
    let page = table("Messages");
    let stands_for = |row: &str, message: &str| match row.strip_suffix("...") {
        Some(beginning) => message.starts_with(beginning),
        None => row == message,
    };
    let logged_messages = logged.messages.iter().filter(|it| it.as_str() != "...");
    let missing: Vec<_> = logged_messages
        .filter(|it| !page.iter().any(|row| stands_for(row, it)))
        .collect();
    assert!(missing.is_empty(), "not in docs/logs.md: {missing:#?}");
    let in_sources = |row: &&String| {
        let mut all = logged.messages.iter().chain(&logged.texts);
        all.any(|it| stands_for(row, it))
    };
    let stale: Vec<_> = page.iter().filter(|row| !in_sources(row)).collect();
    assert!(stale.is_empty(), "in no source: {stale:#?}");
}

#[test]
fn fields_and_messages_are_found_inside_of_macros() {
    let mut logged = Logged::default();
    logged.read_text(
        r#"fn f() { select! { _ = x => info!(log, "a {}", b; "k" => %y, "l" => z) }
        to.emit_str("m".into(), v); log.new(o!("n" => 1)); json!({ "no": 1 }); println!("nor this"); }"#,
    );
    let of = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>();
    assert_eq!(of(&logged.fields), ["k", "l", "m", "n"]);
    assert_eq!(of(&logged.messages), ["a ..."]);
}
