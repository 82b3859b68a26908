//! Types of components that are any value, no value, or null besides a value.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Path;

use crate::model::Schema;
use crate::names;

use super::one_of::described;

/// The type of a component that is any value.
pub(super) fn any(name: &str, schema: &Schema, shared: &Path) -> TokenStream {
    let (ident, doc) = (
        format_ident!("{}", names::of_type(name)),
        described(name, schema),
    );
    let inner = quote!(#shared::Any);
    let around = around(&quote!(#ident), &inner);
    quote! {
        #[doc = #doc]
        #[derive(
            ::serde::Deserialize, ::serde::Serialize, Clone, Debug, Default, PartialEq, Eq,
        )]
        #[serde(transparent)]
        pub struct #ident(pub #inner);
        #around
    }
}

/// The type of a component that admits no value.
pub(super) fn never(name: &str, schema: &Schema) -> TokenStream {
    let (ident, doc) = (
        format_ident!("{}", names::of_type(name)),
        described(name, schema),
    );
    let none = format!("no value is a `{name}`");
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum #ident {}

        impl ::serde::Serialize for #ident {
            fn serialize<S>(&self, _: S) -> ::std::result::Result<S::Ok, S::Error>
            where
                S: ::serde::Serializer,
            {
                match *self {}
            }
        }
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D>(_: D) -> ::std::result::Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                Err(<D::Error as ::serde::de::Error>::custom(#none))
            }
        }
    }
}

/// Conversions to the inner value, and back.
fn around(ident: &TokenStream, inner: &TokenStream) -> TokenStream {
    quote! {
        impl ::std::ops::Deref for #ident {
            type Target = #inner;
            fn deref(&self) -> &#inner {
                &self.0
            }
        }
        impl ::std::convert::From<#inner> for #ident {
            fn from(value: #inner) -> Self {
                Self(value)
            }
        }
        impl ::std::convert::From<#ident> for #inner {
            fn from(value: #ident) -> Self {
                value.0
            }
        }
    }
}
