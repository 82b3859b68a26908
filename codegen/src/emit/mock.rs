//! Fixes the mocks that progenitor makes for `httpmock`.
//!
//! 1. A status without a name is shown to progenitor by its class: on its own, it would panic.
//! 2. A mock responds with what serde writes: through a `serde_json::Value`, as progenitor does it, numbers would be
//!    rounded.
//! 3. A body passed by value, as enumerations are, is written like any other.
//! 4. A list in a query is expected as it is sent: its name repeated for each item.
//! 5. A text or bytes are sent as such, not as JSON, and JSON under the document's name for it.
//! 6. Of several bodies, a response has the one of its status; if the caller sets the status, it takes the type of
//!    them all. progenitor, which was shown bytes, takes a `serde_json::Value`, in which numbers are rounded.
//!
//! In requests, progenitor compares JSON and texts. Bodies that are forms, parts or bytes are matched through
//! `into_inner`. The target of a redirect, which the client returns, is given as JSON.

use std::collections::HashMap;

use indexmap::IndexSet;
use quote::format_ident;
use serde_json::Value;
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Expr, ExprLit, ExprMethodCall, FnArg, Ident, ImplItemFn, Item, Lit, LitStr, PatType, Type,
    parse_quote,
};

use crate::model::{Content, Document, JSON, Kind, Location, Operation, Status};
use crate::names;

use super::patch::{self, Shared};
use super::{bodies, several};

/// Step 1, in the prepared document.
pub(super) fn named(mut prepared: Value) -> Value {
    let paths = prepared["paths"].as_object_mut().into_iter().flatten();
    let items = paths.filter_map(|(_, item)| item.as_object_mut());
    for (_, operation) in items.flatten() {
        let Some(responses) = operation["responses"].as_object_mut() else {
            continue;
        };
        for (status, answer) in std::mem::take(responses) {
            let code = status.parse().ok().filter(|code| !has_name(*code));
            let status = code.map_or(status, |code: u16| format!("{}XX", code / 100));
            responses.entry(status).or_insert(answer);
        }
    }
    prepared
}

/// Whether a status has a name (RFC 9110 and the registry that it started).
fn has_name(code: u16) -> bool {
    matches!(
        code,
        101 | 200..=207 | 300..=305 | 307 | 308 | 400..=417 | 421..=424 | 426 | 428 | 429 | 431 | 451
            | 500..=508 | 510 | 511
    )
}

/// Patches a whole file of mocks.
pub(super) fn file(file: &mut syn::File, document: &Document, shared: &Shared) {
    patch::file(file, document, shared);
    let operations = document.operations.iter();
    let operations: HashMap<_, _> = operations.map(|it| (it.stem(), it)).collect();
    for item in bodies::items(file, "operations") {
        let name = bodies::owner(item).unwrap_or_default();
        let (stem, is_answer) = match name.strip_suffix("Then") {
            Some(stem) => (stem, true),
            None => (name.strip_suffix("When").unwrap_or(&name), false),
        };
        if let (Some(operation), Item::Impl(item)) = (operations.get(stem), item) {
            Mock {
                document,
                operation,
                is_answer,
                is_value: false,
                is_typed: false,
                json_type: None,
            }
            .visit_item_impl_mut(item);
        }
    }
}

struct Mock<'a> {
    document: &'a Document,
    operation: &'a Operation,
    /// Whether the current item belongs to a response, and not to what is expected.
    is_answer: bool,
    /// Whether the current item has a body that is not a reference.
    is_value: bool,
    /// Whether the current item got the type of its body from this patch.
    is_typed: bool,
    /// The media type of the current item, if it is JSON under another name.
    json_type: Option<&'a str>,
}

impl<'a> Mock<'a> {
    /// The media type of the response with this status, if it is JSON under another name.
    fn json_type(&self, code: u16) -> Option<&'a str> {
        let mut with = self.operation.answers();
        let with = with.find(|it| it.status == Status::Code(code))?;
        with.content.as_ref()?.json_type()
    }

    /// The body of a response, if the operation has several.
    fn one_of_several(&self, function: &str, code: Option<u16>) -> Option<OneOf<'a>> {
        let operation = self.operation;
        let any = |name: String, bodies: IndexSet<Option<&str>>| OneOf::Any {
            ty: format_ident!("{}", names::of_type(&name)),
            may_be_none: bodies.contains(&None),
        };
        match (code, function) {
            (Some(code), _) if !operation.success_bodies().is_empty() => {
                let mut successes = operation.successes();
                let answer = successes.find(|it| it.status == Status::Code(code))?;
                Some(answer.schema().map_or(OneOf::Nothing, OneOf::Component))
            }
            (None, "success") => Some(any(operation.success_schema()?, operation.success_bodies())),
            (None, "client_error" | "server_error") if several::has_several(operation) => {
                Some(any(operation.error_schema()?, operation.error_bodies()))
            }
            _ => None,
        }
    }

    /// Step 6.
    fn give_type(&mut self, function: &mut ImplItemFn, code: Option<u16>) {
        let name = function.sig.ident.to_string();
        let given = self.one_of_several(&name, code).filter(|_| self.is_answer);
        self.is_typed = given.is_some();
        let ty = match given {
            None => return,
            Some(OneOf::Nothing) => {
                function.sig.inputs = function.sig.inputs.iter().take(1).cloned().collect();
                function.block = parse_quote!({ Self(self.0.status(#code)) });
                return;
            }
            Some(OneOf::Component(component)) => format_ident!("{}", names::of_type(component)),
            Some(OneOf::Any { ty, may_be_none }) => {
                let answer = function.block.stmts.pop();
                if may_be_none {
                    let nothing = several::variant(None);
                    function.block.stmts.push(parse_quote! {
                        if matches!(value, types::#ty::#nothing) {
                            return Self(self.0.status(status));
                        }
                    });
                }
                function.block.stmts.extend(answer);
                ty
            }
        };
        if let Some(value) = value_of(function) {
            *value.ty = parse_quote!(&types::#ty);
        }
    }

    fn is_list(&self, name: &str) -> bool {
        let parameters = self.operation.parameters.iter();
        let mut queries = parameters.filter(|it| it.location == Location::Query);
        queries.any(|it| {
            let schema = self.document.resolve(&it.schema);
            it.name == name && matches!(schema.kind, Kind::Array { .. })
        })
    }

    /// The media type of the success with this status, if it is not JSON.
    fn media_type(&self, code: u16) -> Option<&str> {
        let mut with = self
            .operation
            .successes()
            .filter(|it| it.status == Status::Code(code));
        match with.next()?.content.as_ref()? {
            Content::Json { .. } => None,
            Content::Bytes(any) if any == "*/*" => Some("application/octet-stream"),
            other => Some(other.media_type()),
        }
    }
}

impl VisitMut for Mock<'_> {
    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        let status = status(&mut function.block);
        self.give_type(function, status);
        let value = value_of(function);
        self.json_type = status
            .filter(|_| self.is_answer)
            .and_then(|code| self.json_type(code));
        self.is_value = value
            .as_ref()
            .is_some_and(|it| !matches!(*it.ty, Type::Reference(_)));
        let media_type = status
            .filter(|_| self.is_answer)
            .and_then(|it| self.media_type(it));
        if let (Some(value), Some(media_type)) = (value, media_type) {
            *value.ty = parse_quote!(impl AsRef<[u8]>);
            function.block = parse_quote!({
                Self(self.0.status(#status).header("content-type", #media_type).body(value))
            });
        }
        visit_mut::visit_impl_item_fn_mut(self, function);
    }

    /// Step 5.
    fn visit_lit_str_mut(&mut self, literal: &mut LitStr) {
        if let Some(name) = self.json_type.filter(|_| literal.value() == JSON) {
            *literal = LitStr::new(name, literal.span());
        }
    }

    /// Steps 2 to 4, and 6.
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_mut::visit_expr_mut(self, expression);
        let Expr::MethodCall(call) = expression else {
            return;
        };
        if call.method == "json_body_obj" || (self.is_typed && call.method == "json_body") {
            let value = &call.args;
            let value: Expr = match self.is_value {
                true => parse_quote!(&#value),
                false => parse_quote!(#value),
            };
            // For what is expected, only the value counts, however it is written.
            if self.is_answer {
                let text: Expr = parse_quote!(::serde_json::to_vec(#value).expect("it is JSON"));
                call.args = Punctuated::from_iter([text]);
                call.method = format_ident!("body");
            } else {
                call.args = Punctuated::from_iter([value]);
            }
        } else if call.method == "query_param"
            && let Some(Expr::Lit(ExprLit {
                lit: Lit::Str(name),
                ..
            })) = call.args.first()
            && self.is_list(&name.value())
        {
            let when = &call.receiver;
            *expression = parse_quote! {
                value.iter().fold(#when, |when, item| when.query_param(#name, item.to_string()))
            };
        }
    }
}

/// Which of several bodies a response has.
enum OneOf<'a> {
    Component(&'a str),
    Nothing,
    /// The one that the caller passes, by the type of all.
    Any {
        ty: Ident,
        may_be_none: bool,
    },
}

/// The body argument of a function.
fn value_of(function: &mut ImplItemFn) -> Option<&mut PatType> {
    function.sig.inputs.iter_mut().find_map(|it| match it {
        FnArg::Typed(it) if it.pat == parse_quote!(value) => Some(it),
        _ => None,
    })
}

/// The status that a function responds with.
fn status(block: &mut syn::Block) -> Option<u16> {
    struct Found(Option<u16>);
    impl VisitMut for Found {
        fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
            if call.method == "status"
                && let Some(Expr::Lit(ExprLit {
                    lit: Lit::Int(code),
                    ..
                })) = call.args.first()
            {
                self.0 = code.base10_parse().ok();
            }
            visit_mut::visit_expr_method_call_mut(self, call);
        }
    }
    let mut found = Found(None);
    found.visit_block_mut(block);
    found.0
}
