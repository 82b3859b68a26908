//! Types of `oneOf`: an enum of the variants, read by the discriminator.
//!
//! typify would make an untagged enum: it tries every variant in turn, says of a mistake only that
//! nothing fitted, and reads from serde's buffer, which cannot hold an exact decimal. Here the raw
//! JSON is looked at twice: once for the discriminator, once for the variant that it names.

use indexmap::IndexMap;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::model::{Kind, Schema};
use crate::names;

/// The type of a `oneOf` component; nothing for another kind.
pub(super) fn own(name: &str, schema: &Schema) -> TokenStream {
    let Kind::OneOf {
        discriminator,
        mapping,
    } = &schema.kind
    else {
        return TokenStream::new();
    };
    let ident = format_ident!("{}", names::of_type(name));
    let doc = schema
        .description
        .clone()
        .unwrap_or_else(|| format!("`{name}`"));
    let mut variants: Vec<_> = Vec::new();
    for component in mapping.values() {
        let variant = format_ident!("{}", names::of_type(component));
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    let reading = reading(name, discriminator, mapping);
    quote! {
        #[doc = #doc]
        #[derive(::serde::Serialize, Clone, Debug, PartialEq)]
        #[serde(untagged)]
        pub enum #ident {
            #(
                #[allow(missing_docs)]
                #variants(#variants),
            )*
        }
        #(
            impl ::std::convert::From<#variants> for #ident {
                fn from(value: #variants) -> Self {
                    Self::#variants(value)
                }
            }
        )*
        #reading
    }
}

/// `Deserialize` by the discriminator.
fn reading(name: &str, discriminator: &str, mapping: &IndexMap<String, String>) -> TokenStream {
    let ident = format_ident!("{}", names::of_type(name));
    let arms = mapping.iter().map(|(value, component)| {
        let variant = format_ident!("{}", names::of_type(component));
        quote!(#value => ::serde_json::from_str(raw.get()).map(Self::#variant),)
    });
    let unknown = format!("`{{other}}` is not a `{discriminator}` of `{name}`");
    quote! {
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D>(deserializer: D) -> ::std::result::Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                use ::serde::de::Error as _;
                #[derive(::serde::Deserialize)]
                struct Discriminator {
                    #[serde(rename = #discriminator)]
                    value: ::std::string::String,
                }
                let raw: ::std::boxed::Box<::serde_json::value::RawValue> =
                    ::serde::Deserialize::deserialize(deserializer)?;
                let discriminator: Discriminator =
                    ::serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
                match discriminator.value.as_str() {
                    #(#arms)*
                    other => return Err(D::Error::custom(format_args!(#unknown))),
                }
                .map_err(D::Error::custom)
            }
        }
    }
}
