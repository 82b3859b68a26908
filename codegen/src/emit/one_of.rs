//! Types of `oneOf`: an enum of the alternatives, read by the tag or by the sign that tells them apart.
//!
//! typify would make an untagged enum, which tries every variant in turn, says of a mistake only that nothing
//! fitted, and reads from serde's buffer, which cannot hold an exact decimal. Here the raw JSON is read
//! twice: once for what tells the variants apart, and once as the variant that this selects.
//!
//! A variant that leads back to the enum is boxed, so that the enum has a size.
//!
//! The server reads a variant with its runtime's reader, like everything else that was checked: `serde_json`
//! would refuse `-0` for an integer.

use indexmap::IndexMap;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::model::{Alternative, Document, Kind, Schema, Sign};
use crate::names;

/// A variant: its own name, and the component that it holds.
struct Variant<'a> {
    component: &'a str,
    name: Ident,
}

/// How the text of a value is read.
pub(super) struct Reader {
    /// The function that reads a variant.
    pub(super) value: TokenStream,
    /// The function that reads the text of a member, which exists only in the server.
    pub(super) tag: Option<TokenStream>,
}

/// The type of a `oneOf` component; `None` for other kinds.
pub(super) fn own(
    document: &Document,
    name: &str,
    schema: &Schema,
    reader: &Reader,
) -> TokenStream {
    let ident = format_ident!("{}", names::of_type(name));
    let doc = described(name, schema);
    let variants = variants(document, name, schema);
    let named = |component: &str| {
        let found = variants.iter().find(|it| it.component == component);
        found.map(|it| &it.name)
    };
    let reading = match &schema.kind {
        Kind::OneOf {
            discriminator,
            mapping,
        } => by_tag(name, discriminator, mapping, reader, named),
        Kind::Union(alternatives) => by_sign(name, alternatives, &reader.value, named),
        _ => return TokenStream::new(),
    };
    let declared = variants.iter().map(|it| {
        let (variant, ty) = (&it.name, format_ident!("{}", names::of_type(it.component)));
        let ty = match document.leads(it.component, name) {
            true => quote!(::std::boxed::Box<#ty>),
            false => quote!(#ty),
        };
        quote! {
            #[allow(missing_docs)]
            #variant(#ty)
        }
    });
    let conversions = variants.iter().map(|it| {
        let (variant, ty) = (&it.name, format_ident!("{}", names::of_type(it.component)));
        let value = match document.leads(it.component, name) {
            true => quote!(::std::boxed::Box::new(value)),
            false => quote!(value),
        };
        quote! {
            impl ::std::convert::From<#ty> for #ident {
                fn from(value: #ty) -> Self {
                    Self::#variant(#value)
                }
            }
        }
    });
    let is_text = schema.is_text(&document.schemas);
    let as_text = is_text.then(|| as_text(&ident, &variants));
    quote! {
        #[doc = #doc]
        #[derive(::serde::Serialize, Clone, Debug, PartialEq)]
        #[serde(untagged)]
        pub enum #ident {
            #(#declared,)*
        }
        #(#conversions)*
        #reading
        #as_text
    }
}

/// Conversions to and from text, for alternatives that are all texts: these occur in parameters.
fn as_text(ident: &Ident, variants: &[Variant<'_>]) -> TokenStream {
    let names = variants.iter().map(|it| &it.name);
    let made = quote!(::std::result::Result<Self, self::error::ConversionError>);
    quote! {
        impl ::std::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    #(Self::#names(value) => value.fmt(f),)*
                }
            }
        }
        impl ::std::str::FromStr for #ident {
            type Err = self::error::ConversionError;
            fn from_str(value: &str) -> #made {
                ::serde_json::from_value(::serde_json::Value::from(value))
                    .map_err(|e| format!("{value:?}: {e}").into())
            }
        }
        impl ::std::convert::TryFrom<&str> for #ident {
            type Error = self::error::ConversionError;
            fn try_from(value: &str) -> #made {
                value.parse()
            }
        }
        impl ::std::convert::TryFrom<::std::string::String> for #ident {
            type Error = self::error::ConversionError;
            fn try_from(value: ::std::string::String) -> #made {
                value.parse()
            }
        }
    }
}

/// The type of a component that is null: it has a single value.
pub(super) fn null(name: &str, schema: &Schema) -> TokenStream {
    let ident = format_ident!("{}", names::of_type(name));
    let doc = described(name, schema);
    quote! {
        #[doc = #doc]
        #[derive(
            ::serde::Deserialize, ::serde::Serialize, Clone, Copy, Debug, Default, PartialEq, Eq,
        )]
        pub struct #ident;
    }
}

pub(super) fn described(name: &str, schema: &Schema) -> String {
    let told = schema.description.clone();
    told.unwrap_or_else(|| format!("`{name}`"))
}

/// The variants, each once, in the document's order. If a component was made for a variant, its name is what
/// that adds to the name of the whole: `A` for `DnsRecordA`.
fn variants<'a>(document: &'a Document, name: &str, schema: &'a Schema) -> Vec<Variant<'a>> {
    let mut components: Vec<&str> = Vec::new();
    for component in schema.references() {
        if !components.contains(&component) {
            components.push(component);
        }
    }
    let whole = |it: &&str| names::of_type(it);
    let short = |it: &&str| {
        let is_made = document.schemas.get(*it).is_some_and(|it| it.is_made);
        let added = names::of_type(it);
        let added = added
            .strip_prefix(&names::of_type(name))
            .filter(|_| is_made);
        added.map_or_else(|| whole(it), str::to_owned)
    };
    let shorts: Vec<String> = components.iter().map(short).collect();
    let is_good = |(at, it): (usize, &String)| {
        let is_name = syn::parse_str::<Ident>(it).is_ok() && it != "Self_";
        is_name && !shorts[..at].contains(it)
    };
    let good = shorts.iter().enumerate().all(is_good);
    let names = components.iter().zip(shorts.iter());
    names
        .map(|(component, short)| Variant {
            component,
            name: match good {
                true => format_ident!("{short}"),
                false => format_ident!("{}", whole(component)),
            },
        })
        .collect()
}

/// `Deserialize` by the discriminator.
fn by_tag<'v>(
    name: &str,
    discriminator: &str,
    mapping: &IndexMap<String, String>,
    reader: &Reader,
    variant: impl Fn(&str) -> Option<&'v Ident>,
) -> TokenStream {
    let read = &reader.value;
    let arms = mapping.iter().map(|(value, component)| {
        let variant = variant(component);
        quote!(#value => #read(raw.get()).map(Self::#variant),)
    });
    let unknown = format!("`{{other}}` is not a `{discriminator}` of `{name}`");
    let raw = quote! {
        let raw: ::std::boxed::Box<::serde_json::value::RawValue> =
            ::serde::Deserialize::deserialize(deserializer)?;
    };
    let (tag, text) = match &reader.tag {
        Some(tag) => (
            quote! {
                #raw
                let tag = #tag(raw.get(), &[#discriminator]).map_err(D::Error::custom)?;
            },
            quote!(tag),
        ),
        None => (
            quote! {
                #[derive(::serde::Deserialize)]
                struct Discriminator {
                    #[serde(rename = #discriminator)]
                    value: ::std::string::String,
                }
                #raw
                let discriminator: Discriminator =
                    ::serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
            },
            quote!(discriminator.value),
        ),
    };
    let reading = quote! {
        #tag
        match #text.as_str() {
            #(#arms)*
            other => return Err(D::Error::custom(format_args!(#unknown))),
        }
        .map_err(D::Error::custom)
    };
    deserialize(name, &reading)
}

fn deserialize(name: &str, reading: &TokenStream) -> TokenStream {
    let ident = format_ident!("{}", names::of_type(name));
    quote! {
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D>(deserializer: D) -> ::std::result::Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                use ::serde::de::Error as _;
                #reading
            }
        }
    }
}

/// `Deserialize` by the signs. The first byte determines the type.
fn by_sign<'v>(
    name: &str,
    alternatives: &[Alternative],
    read: &TokenStream,
    variant: impl Fn(&str) -> Option<&'v Ident>,
) -> TokenStream {
    let (mut texts, mut members, mut types) = (Vec::new(), Vec::new(), Vec::new());
    let (mut fitting, mut is_exclusive) = (Vec::new(), false);
    for Alternative { sign, schema } in alternatives {
        let variant = variant(schema);
        let value = quote!(#read(raw.get()));
        let read = quote!(#value.map(Self::#variant));
        match sign {
            Sign::Text(values) => texts.push(quote!(#(#values)|* => #read,)),
            Sign::Member(member) => {
                members.push(quote!(_ if members.contains_key(#member) => #read,));
            }
            Sign::String => types.push(quote!(b'"' => #read,)),
            Sign::Number => types.push(quote!(b'-' | b'0'..=b'9' => #read,)),
            Sign::Boolean => types.push(quote!(b't' | b'f' => #read,)),
            Sign::Array => types.push(quote!(b'[' => #read,)),
            Sign::Object => types.push(quote!(b'{' => #read,)),
            Sign::Fits { alone } => {
                is_exclusive = *alone;
                fitting.push(quote!(#value.ok().map(Self::#variant)));
            }
        }
    }
    let none = format!("this is none of the alternatives of `{name}`");
    let trial = tried(name, &fitting, is_exclusive, &none);
    let none = quote!(_ => return Err(D::Error::custom(#none)),);
    let texts = (!texts.is_empty()).then(|| {
        quote! {
            b'"' => {
                let text: ::std::string::String =
                    ::serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
                match text.as_str() {
                    #(#texts)*
                    #none
                }
            }
        }
    });
    let members = (!members.is_empty()).then(|| {
        quote! {
            b'{' => {
                let members: ::std::collections::BTreeMap<
                    ::std::string::String,
                    ::serde::de::IgnoredAny,
                > = ::serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
                match () {
                    #(#members)*
                    #none
                }
            }
        }
    });
    let reading = quote! {
        let raw: ::std::boxed::Box<::serde_json::value::RawValue> =
            ::serde::Deserialize::deserialize(deserializer)?;
        match raw.get().bytes().next().unwrap_or_default() {
            #texts
            #members
            #(#types)*
            #trial
        }
        .map_err(D::Error::custom)
    };
    deserialize(name, &reading)
}

/// The match arm of alternatives that can be told apart only by whether they can be read: the first, or the
/// only one.
fn tried(name: &str, fitting: &[TokenStream], is_exclusive: bool, none: &str) -> TokenStream {
    if fitting.is_empty() {
        return quote!(_ => return Err(D::Error::custom(#none)),);
    }
    if !is_exclusive {
        return quote! {
            _ => {
                let first = ::std::option::Option::None #(.or_else(|| #fitting))*;
                first.ok_or_else(|| ::serde_json::Error::custom(#none))
            }
        };
    }
    let several = format!("this could be more than one of the alternatives of `{name}`");
    quote! {
        _ => {
            let mut fitting = [#(#fitting),*].into_iter().flatten();
            match (fitting.next(), fitting.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(::serde_json::Error::custom(#none)),
                _ => Err(::serde_json::Error::custom(#several)),
            }
        }
    }
}
