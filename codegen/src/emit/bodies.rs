//! Request bodies of the client that progenitor cannot write.
//!
//! It knows JSON, forms, plain text and `application/octet-stream`, and no optional body. So
//! [`super::prepare`] shows it one of these, and the builders are fixed here:
//!
//! 1. bytes are sent with the document's media type;
//! 2. `multipart/form-data` is one of reqwest's forms, which knows its boundary;
//! 3. an optional body is `None` until it is set, and then nothing is sent;
//! 4. a form with lists or objects goes through `form.rs`, since reqwest's forms have neither;
//! 5. JSON is sent, and requested, under the document's name for it.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprMethodCall, Item, LitStr, Path, Type, parse_quote};

use crate::model::{Body, Content, Document, JSON, Kind, OfForm, Operation};

const BYTES: &str = "application/octet-stream";

/// Fixes the builders of a client's file.
pub(super) fn written(file: &mut syn::File, document: &Document) {
    of_builders(file, document, |operation, item| {
        let success = operation.success.content.as_ref();
        if let Some(name) = success.and_then(Content::json_type) {
            Accepting(name).visit_item_mut(item);
        }
        if let Some(body) = &operation.body {
            let json = json_of_form(document, operation);
            let json = json.as_deref();
            Writer { body, json }.visit_item_mut(item);
        }
    });
}

/// Visits each item of the builders, with its operation.
pub(super) fn of_builders(
    file: &mut syn::File,
    document: &Document,
    mut visit: impl FnMut(&Operation, &mut Item),
) {
    let operations = document.operations.iter();
    let operations: HashMap<String, &Operation> = operations.map(|it| (it.stem(), it)).collect();
    for item in items(file, "builder") {
        if let Some(operation) = owner(item).and_then(|it| operations.get(&it)) {
            visit(operation, item);
        }
    }
}

/// The items of a module of the file.
pub(super) fn items<'f>(
    file: &'f mut syn::File,
    name: &'f str,
) -> impl Iterator<Item = &'f mut Item> {
    let modules = file.items.iter_mut().filter_map(move |item| match item {
        Item::Mod(module) if module.ident == name => module.content.as_mut(),
        _ => None,
    });
    modules.flat_map(|(_, items)| items)
}

/// The type that an item defines, or implements something for.
pub(super) fn owner(item: &Item) -> Option<String> {
    match item {
        Item::Struct(it) => Some(it.ident.to_string()),
        Item::Enum(it) => Some(it.ident.to_string()),
        Item::Impl(it) => match &*it.self_ty {
            Type::Path(it) => Some(it.path.segments.last()?.ident.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// The members of an operation's form that are written as JSON, if any of them is not a single value.
pub(super) fn json_of_form<'a>(
    document: &'a Document,
    operation: &Operation,
) -> Option<Vec<&'a str>> {
    let Content::Form(name) = &operation.body.as_ref()?.content else {
        return None;
    };
    let Kind::Object { properties, .. } = &document.schemas.get(name)?.kind else {
        return None;
    };
    let styles = properties.iter();
    let styles = styles.map(|(name, it)| (name.as_str(), it.of_form(&document.schemas)));
    let styles: Vec<_> = styles.filter(|(_, it)| *it != OfForm::Single).collect();
    let json = |(name, style): &(_, OfForm)| (*style == OfForm::Json).then_some(*name);
    (!styles.is_empty()).then(|| styles.iter().filter_map(json).collect())
}

/// Step 5, for the requested type.
struct Accepting<'a>(&'a str);

impl VisitMut for Accepting<'_> {
    fn visit_lit_str_mut(&mut self, literal: &mut LitStr) {
        if literal.value() == JSON {
            *literal = LitStr::new(self.0, literal.span());
        }
    }
}

struct Writer<'a> {
    body: &'a Body,
    /// The result of [`json_of_form`].
    json: Option<&'a [&'a str]>,
}

impl Writer<'_> {
    /// The header that names the media type of JSON under another name: reqwest keeps one that is already
    /// set.
    fn named(&self) -> Option<TokenStream> {
        let name = self.body.content.json_type()?;
        Some(quote! {
            .header(
                ::reqwest::header::CONTENT_TYPE,
                ::reqwest::header::HeaderValue::from_static(#name),
            )
        })
    }

    /// The value from which `form_urlencoded` writes this body.
    fn form(&self, body: &Expr) -> Expr {
        let Some(json) = self.json else {
            return body.clone();
        };
        parse_quote! {
            &super::super::form::pairs(#body, &[#(#json),*])
                .map_err(|error| Error::InvalidRequest(error.to_string()))?
        }
    }
}

impl VisitMut for Writer<'_> {
    /// Step 1.
    fn visit_lit_str_mut(&mut self, literal: &mut LitStr) {
        let value = literal.value();
        match &self.body.content {
            Content::Bytes(media_type) if value == BYTES && media_type != "*/*" => {
                *literal = LitStr::new(media_type, literal.span());
            }
            Content::Multipart => {
                let text = value.replace("reqwest::Body", "reqwest::multipart::Form");
                *literal = LitStr::new(&text, literal.span());
            }
            _ if !self.body.required && value.contains(":: patch :: Optional") => {
                let text = "conversion for body failed";
                *literal = LitStr::new(text, literal.span());
            }
            _ => {}
        }
    }

    /// Step 2.
    fn visit_path_mut(&mut self, path: &mut Path) {
        let is_body = *path == parse_quote!(reqwest::Body);
        if is_body && self.body.content == Content::Multipart {
            *path = parse_quote!(reqwest::multipart::Form);
        }
        visit_mut::visit_path_mut(self, path);
    }

    /// Steps 2, 3, 4 and 5.
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_mut::visit_expr_mut(self, expression);
        let optional = !self.body.required;
        match expression {
            Expr::Call(call) if optional => {
                let text = quote!(#call).to_string();
                if text.starts_with("Err (\"body was not initialized\"") {
                    *expression = parse_quote!(Ok(::std::option::Option::None));
                }
            }
            Expr::MethodCall(call) if optional && is(call, "json", &quote!(&body)) => {
                let (request, named) = (&call.receiver, self.named());
                *expression = parse_quote!({
                    let request = #request;
                    match &body {
                        ::std::option::Option::Some(body) => request #named.json(body),
                        ::std::option::Option::None => request,
                    }
                });
            }
            Expr::MethodCall(call) if !optional && is(call, "json", &quote!(&body)) => {
                let (request, named) = (&call.receiver, self.named());
                *expression = parse_quote!(#request #named.json(&body));
            }
            Expr::Try(call) if optional => {
                if let Expr::MethodCall(call) = &*call.expr
                    && is(call, "form_urlencoded", &quote!(&body))
                {
                    let request = &call.receiver;
                    let form = self.form(&parse_quote!(body));
                    *expression = parse_quote!({
                        let request = #request;
                        match &body {
                            ::std::option::Option::Some(body) => request.form_urlencoded(#form)?,
                            ::std::option::Option::None => request,
                        }
                    });
                }
            }
            Expr::MethodCall(call) if !optional && is(call, "form_urlencoded", &quote!(&body)) => {
                let form = self.form(&parse_quote!(&body));
                call.args = parse_quote!(#form);
            }
            Expr::MethodCall(call)
                if self.body.content == Content::Multipart && is(call, "body", &quote!(body)) =>
            {
                // The header set before would have no boundary.
                if let Expr::MethodCall(header) = &*call.receiver
                    && header.method == "header"
                {
                    let request = &header.receiver;
                    *expression = parse_quote!(#request.multipart(body));
                }
            }
            _ => {}
        }
    }
}

/// Whether it calls this method with this argument.
fn is(call: &ExprMethodCall, method: &str, argument: &TokenStream) -> bool {
    let arguments = &call.args;
    call.method == method && quote!(#arguments).to_string() == argument.to_string()
}
