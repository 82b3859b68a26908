//! Paths: their form, and whether dropshot's router can tell them apart.
//!
//! dropshot's router holds a tree: each node has either literals below it, or one variable of one name, never both. It
//! panics on operations that break this, so they are refused here.

use std::collections::HashMap;

use crate::model::Pointer;

use super::reader::Reader;

/// One segment of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment<'a> {
    Literal(&'a str),
    Variable(&'a str),
}

/// The tree of all paths so far: what follows a prefix, and the path that established it.
#[derive(Default)]
pub(super) struct Tree<'a> {
    children: HashMap<String, (Segment<'a>, &'a str)>,
}

impl<'a> Tree<'a> {
    /// Adds a path and returns the names of its variables, having refused what is wrong with it. Returns `None` if the
    /// path cannot be read, since its variables are then unknown.
    pub(super) fn add(
        &mut self,
        reader: &Reader<'_>,
        path: &'a str,
        pointer: &Pointer,
    ) -> Option<Vec<&'a str>> {
        let segments = split(reader, path, pointer)?;
        let mut prefix = String::new();
        let mut variables = Vec::new();
        for segment in segments {
            if let Segment::Variable(name) = segment {
                if variables.contains(&name) {
                    reader.refuse(
                        pointer,
                        format!("the variable `{name}` occurs twice in the path"),
                        "give each its own name",
                    );
                }
                variables.push(name);
            }
            self.follow(reader, &prefix, &segment, path, pointer);
            prefix.push('/');
            prefix.push_str(match segment {
                Segment::Literal(text) => text,
                Segment::Variable(_) => "{}",
            });
        }
        Some(variables)
    }

    fn follow(
        &mut self,
        reader: &Reader<'_>,
        prefix: &str,
        segment: &Segment<'a>,
        path: &'a str,
        pointer: &Pointer,
    ) {
        let (other, by) = self
            .children
            .entry(prefix.to_owned())
            .or_insert_with(|| (segment.clone(), path));
        let cause = match (other, segment) {
            (Segment::Literal(_), Segment::Literal(_)) => return,
            (Segment::Variable(one), Segment::Variable(other)) if one == other => return,
            (Segment::Variable(one), Segment::Variable(other)) => {
                format!("the variable `{other}` is called `{one}` in `{by}`")
            }
            (Segment::Variable(one), Segment::Literal(text)) => {
                format!("`{text}` stands where `{by}` has the variable `{one}`")
            }
            (Segment::Literal(text), Segment::Variable(one)) => {
                format!("the variable `{one}` stands where `{by}` has `{text}`")
            }
        };
        reader.refuse(
            pointer,
            cause,
            "write literals, or one variable of one name, at this place: dropshot routes no others",
        );
    }
}

fn split<'a>(reader: &Reader<'_>, path: &'a str, pointer: &Pointer) -> Option<Vec<Segment<'a>>> {
    if path == "/" {
        return Some(Vec::new());
    }
    let segments: Option<Vec<_>> = path
        .strip_prefix('/')
        .and_then(|rest| rest.split('/').map(segment).collect());
    if segments.is_none() {
        reader.refuse(
            pointer,
            format!("`{path}` is not a path that is understood"),
            "write `/`, or `/` and segments between single `/`, each either letters, digits and `.`, `_`, \
             `~`, `-`, `:`, `@`, `!`, `&`, `'`, `,`, `;`, `=`, or a whole `{variable}`; none at the end is empty",
        );
    }
    segments
}

fn segment(text: &str) -> Option<Segment<'_>> {
    if let Some(name) = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
        return crate::names::is_plain(name).then_some(Segment::Variable(name));
    }
    // Characters that a path has unescaped (RFC 3986, section 3.3), except those with a meaning in the mocks' patterns.
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_~:@!&',;=".contains(c);
    (!text.is_empty() && text != "." && text != ".." && text.chars().all(plain))
        .then_some(Segment::Literal(text))
}
