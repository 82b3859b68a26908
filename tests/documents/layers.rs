//! Checks the picture in docs/architecture.md against the imports: which file of `src` names which other.
//!
//! The expansion of our own macros is not seen, nor are the imports of test modules: these may look from outside at
//! what they test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree};

/// The layers, from top to bottom: no layer imports from above or from beside.
const LAYERS: &[&[&str]] = &[
    &["cli"],
    &["http"],
    &["app"],
    &["backup"],
    &["store"],
    &["sqlite", "postgres"],
    &["sql"],
    &["domain"],
];

type Module = Vec<String>;

/// Every module of `src` that is a file, with those that it imports from.
fn imports() -> BTreeMap<Module, BTreeSet<Module>> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = BTreeMap::new();
    collect(&src, &mut Vec::new(), &mut files);
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let of = |(module, text): (Module, String)| {
        let mut paths = Paths::default();
        paths.visit_file(&syn::parse_file(&text).unwrap());
        let imported = paths
            .0
            .iter()
            .filter_map(|path| found(&module, path, &modules));
        let imported = imported.filter(|other| *other != module).collect();
        (module, imported)
    };
    files.into_iter().map(of).collect()
}

fn collect(folder: &Path, at: &mut Module, files: &mut BTreeMap<Module, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            at.push(name);
            collect(&path, at, files);
            at.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
            let mut module = at.clone();
            if !["mod", "lib"].contains(&name.as_str()) {
                module.push(name);
            }
            let text = std::fs::read_to_string(&path).unwrap();
            files.insert(module, text);
        }
    }
}

/// The file that a path in a module leads to, if it is one of ours.
fn found(module: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Module> {
    let (first, mut rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.clone(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        child => {
            let below: Module = module.iter().cloned().chain([child.to_owned()]).collect();
            modules.contains(&below).then_some(below)?
        }
    };
    while let Some((next, behind)) = rest.split_first() {
        if next == "super" {
            at.pop();
        } else {
            at.push(next.clone());
            if !modules.contains(&at) {
                at.pop();
                break;
            }
        }
        rest = behind;
    }
    modules.contains(&at).then_some(at)
}

/// The paths that a file names, except those of its tests.
#[derive(Default)]
struct Paths(Vec<Vec<String>>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.tree(&mut Vec::new(), &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let path_of = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        let path_of: Vec<_> = path_of.collect();
        if path_of.len() > 1 {
            self.0.push(path_of);
        }
        visit::visit_path(self, path);
    }
}

impl Paths {
    fn tree(&mut self, at: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                at.push(path.ident.to_string());
                self.tree(at, &path.tree);
                at.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(at, item)),
            UseTree::Name(name) => self.0.push([&at[..], &[name.ident.to_string()]].concat()),
            UseTree::Rename(name) => self.0.push([&at[..], &[name.ident.to_string()]].concat()),
            UseTree::Glob(_) => self.0.push(at.clone()),
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let of_tests = |list: &syn::MetaList| list.tokens.to_string() == "test";
        attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(of_tests)
    })
}

/// The file or folder directly in `src` that a module belongs to.
fn room(module: &Module) -> &str {
    module.first().map_or("lib", String::as_str)
}

#[test]
fn no_layer_imports_from_above_or_from_beside() {
    let layer = |room: &str| LAYERS.iter().position(|layer| layer.contains(&room));
    let mut wrong = Vec::new();
    for (module, imported) in imports() {
        for other in imported {
            let (from, to) = (room(&module), room(&other));
            if let (Some(above), Some(below)) = (layer(from), layer(to))
                && from != to
                && above >= below
            {
                wrong.push(format!("{} names {}", module.join("/"), other.join("/")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_files_and_no_folders_import_each_other_in_a_circle() {
    let files = imports();
    let mut rooms = BTreeMap::<String, BTreeSet<String>>::new();
    for (module, imported) in &files {
        let from = room(module).to_owned();
        let others = imported.iter().map(|other| room(other).to_owned());
        let others = others.filter(|to| *to != from).collect::<Vec<_>>();
        rooms.entry(from).or_default().extend(others);
    }
    assert_eq!(circles(&rooms), Vec::<Vec<&String>>::new());
    assert_eq!(circles(&files), Vec::<Vec<&Module>>::new());
}

/// Groups of nodes that can be reached from each other.
fn circles<T: Ord>(graph: &BTreeMap<T, BTreeSet<T>>) -> Vec<Vec<&T>> {
    let reached = |from: &T| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(node) = open.pop() {
            for next in graph.get(node).into_iter().flatten() {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&T, BTreeSet<&T>> = graph.keys().map(|it| (it, reached(it))).collect();
    let mut groups = BTreeSet::new();
    for (node, others) in &reached {
        let group = others.iter().filter(|other| {
            let back = reached.get(*other);
            back.is_some_and(|back| back.contains(node))
        });
        let group: Vec<&T> = group.copied().collect();
        if !group.is_empty() {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

#[test]
fn a_circle_is_found() {
    let graph = |edges: &[(&'static str, &'static str)]| {
        let mut graph = BTreeMap::<&str, BTreeSet<&str>>::new();
        for (from, to) in edges {
            graph.entry(from).or_default().insert(to);
            graph.entry(to).or_default();
        }
        graph
    };
    assert!(circles(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    let found = graph(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]);
    assert_eq!(circles(&found), [[&"b", &"c"]]);
}
