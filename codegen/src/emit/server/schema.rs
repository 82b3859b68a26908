//! The components of a document as static data, for checking requests.

use proc_macro2::TokenStream;
use quote::quote;

use super::{ident, optional};
use crate::Document;
use crate::model::{Bound, Bounds, Format, Kind, Limit, Others, Schema, Sign, Text, Width};
use crate::names;

pub(super) fn tokens(document: &Document) -> TokenStream {
    let schemas = document.schemas.iter().map(|(name, schema)| {
        let doc = format!("The schema `{name}`.");
        let name = ident(&names::of_type(name));
        let schema = value(schema);
        quote! {
            #[doc = #doc]
            pub static #name: Schema = #schema;
        }
    });
    quote! {
        /// The document's schemas, which requests are held against.
        #[allow(non_upper_case_globals)]
        pub mod schemas {
            use openapi_dropshot_runtime::schema::*;

            #(#schemas)*
        }
    }
}

/// A schema, as an expression with `openapi_dropshot_runtime::schema` and the statics of the
/// components in scope.
pub(super) fn value(schema: &Schema) -> TokenStream {
    let kind = kind(&schema.kind);
    let nullable = schema.nullable;
    let plain = quote!(Schema { kind: #kind, nullable: #nullable });
    if schema.limits.is_empty() {
        return plain;
    }
    let limits = schema.limits.iter().map(limit);
    quote!(Schema { kind: Kind::Limited(&#plain, &[#(#limits),*]), nullable: #nullable })
}

fn limit(limit: &Limit) -> TokenStream {
    match limit {
        Limit::MultipleOf(of) => quote!(Limit::MultipleOf(#of)),
        Limit::Values(values) => quote!(Limit::Values(&[#(#values),*])),
        Limit::MinProperties(least) => {
            let least = size(*least);
            quote!(Limit::MinProperties(#least))
        }
        Limit::MaxProperties(most) => {
            let most = size(*most);
            quote!(Limit::MaxProperties(#most))
        }
    }
}

fn kind(kind: &Kind) -> TokenStream {
    match kind {
        Kind::Boolean => quote!(Kind::Boolean),
        Kind::Integer { width, bounds } => {
            let bounds = integer_bounds(*width, bounds);
            quote!(Kind::Integer(#bounds))
        }
        Kind::Number { bounds } => {
            let bounds = self::bounds(bounds);
            quote!(Kind::Number(#bounds))
        }
        Kind::String(rules) => text(rules),
        Kind::Array {
            items,
            min_items,
            max_items,
            unique_items,
        } => {
            let items = value(items);
            let min_items = size(min_items.unwrap_or(0));
            let max_items = optional(max_items.map(size));
            quote!(Kind::Array(Array {
                items: &#items,
                min_items: #min_items,
                max_items: #max_items,
                unique_items: #unique_items,
            }))
        }
        Kind::Object {
            properties,
            required,
            others,
        } => {
            let properties = properties.iter().map(|(name, schema)| {
                let required = required.contains(name);
                let schema = value(schema);
                quote!(Property { name: #name, required: #required, schema: #schema })
            });
            let additional = !matches!(others, Others::Refused);
            let object =
                quote!(Object { properties: &[#(#properties),*], additional: #additional });
            match others {
                Others::Refused | Others::Ignored => quote!(Kind::Object(#object)),
                Others::Kept(schema) => {
                    let schema = value(schema);
                    quote!(Kind::Open(#object, &#schema))
                }
            }
        }
        Kind::Map(values) => {
            let values = value(values);
            quote!(Kind::Map(&#values))
        }
        Kind::OneOf {
            discriminator,
            mapping,
        } => {
            let variants = mapping.iter().map(|(value, component)| {
                let component = ident(&names::of_type(component));
                quote!((#value, &#component))
            });
            quote!(Kind::OneOf(OneOf { discriminator: #discriminator, variants: &[#(#variants),*] }))
        }
        Kind::Union(alternatives) => {
            let alternatives = alternatives.iter().map(|it| {
                let sign = sign(&it.sign);
                let schema = ident(&names::of_type(&it.schema));
                quote!(Alternative { sign: #sign, schema: &#schema })
            });
            quote!(Kind::Union(&[#(#alternatives),*]))
        }
        Kind::Null => quote!(Kind::Null),
        Kind::Any => quote!(Kind::Any),
        Kind::Never => quote!(Kind::Never),
        Kind::Ref(name) => {
            let name = ident(&names::of_type(name));
            quote!(Kind::Ref(&#name))
        }
    }
}

fn sign(sign: &Sign) -> TokenStream {
    match sign {
        Sign::Text(texts) => quote!(Sign::Text(&[#(#texts),*])),
        Sign::String => quote!(Sign::String),
        Sign::Number => quote!(Sign::Number),
        Sign::Boolean => quote!(Sign::Boolean),
        Sign::Array => quote!(Sign::Array),
        Sign::Object => quote!(Sign::Object),
        Sign::Member(member) => quote!(Sign::Member(#member)),
        Sign::Fits { alone } => quote!(Sign::Fits { alone: #alone }),
    }
}

fn text(rules: &Text) -> TokenStream {
    let min_length = size(rules.min_length.unwrap_or(0));
    let max_length = optional(rules.max_length.map(size));
    let pattern = optional(
        rules
            .pattern
            .as_ref()
            .map(|source| quote!(Pattern::new(#source))),
    );
    let format = optional(rules.format.and_then(|format| match format {
        Format::Uuid => Some(quote!(Format::Uuid)),
        Format::DateTime => Some(quote!(Format::DateTime)),
        Format::Date => Some(quote!(Format::Date)),
        Format::Ip => Some(quote!(Format::Ip)),
        Format::Ipv4 => Some(quote!(Format::Ipv4)),
        Format::Ipv6 => Some(quote!(Format::Ipv6)),
        Format::Password | Format::Uri => None,
    }));
    let enumeration = &rules.enumeration;
    quote!(Kind::String(Text {
        min_length: #min_length,
        max_length: #max_length,
        pattern: #pattern,
        format: #format,
        enumeration: &[#(#enumeration),*],
    }))
}

fn bounds(bounds: &Bounds) -> TokenStream {
    let minimum = optional(bounds.minimum.as_ref().map(bound));
    let maximum = optional(bounds.maximum.as_ref().map(bound));
    quote!(Bounds { minimum: #minimum, maximum: #maximum })
}

fn bound(bound: &Bound) -> TokenStream {
    let Bound { value, exclusive } = bound;
    quote!(Bound { value: #value, exclusive: #exclusive })
}

/// The bounds of an integer always lie within the type that holds it.
fn integer_bounds(width: Width, bounds: &Bounds) -> TokenStream {
    let (least, most) = width.range();
    let or = |bound: &Option<Bound>, end: i128| {
        Some(bound.clone().unwrap_or(Bound {
            value: end.to_string(),
            exclusive: false,
        }))
    };
    self::bounds(&Bounds {
        minimum: or(&bounds.minimum, least),
        maximum: or(&bounds.maximum, most),
    })
}

/// A count as a `usize` literal. One that does not fit is more than any request can have.
fn size(count: u64) -> proc_macro2::Literal {
    proc_macro2::Literal::usize_unsuffixed(usize::try_from(count).unwrap_or(usize::MAX))
}
