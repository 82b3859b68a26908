//! Types of numbers, integers and texts of a fixed form ([`super::formats`]): newtypes that cannot hold what the
//! schema refuses.
//!
//! typify makes such types for strings only; for the rest it forgets the bounds, or leaves out what an identifier
//! needs (`Eq`, `Hash`). These have the same API: `TryFrom` and `FromStr` with a `ConversionError` that states the
//! limit and the value, `Deref` to the inner value, and a `Deserialize` that checks.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Path;

use crate::model::{Bound, Bounds, Kind, Schema, Width};
use crate::names;

use super::formats;

/// The type of a scalar component for which [`super::prepare::is_own`] holds.
pub(super) fn own(name: &str, schema: &Schema, shared: &Path) -> TokenStream {
    let ident = format_ident!("{}", names::of_type(name));
    let doc = super::prepare::described(schema).unwrap_or_else(|| format!("`{name}`"));
    match &schema.kind {
        Kind::Integer { width, bounds } => integer(&ident, &doc, *width, bounds, shared),
        Kind::Number { bounds } => number(&ident, &doc, bounds, shared),
        Kind::String(text) => formats::own(&ident, &doc, text.format, shared),
        // Nothing else is emitted here.
        _ => TokenStream::new(),
    }
}

/// `Default`, for any scalar component that has one.
pub(super) fn default(name: &str, schema: &Schema, shared: &Path) -> Option<TokenStream> {
    let ident = format_ident!("{}", names::of_type(name));
    let default = schema.default.as_ref()?;
    let value = match &schema.kind {
        Kind::Boolean => {
            let value = default.as_bool()?;
            quote!(Self(#value))
        }
        Kind::Integer { width, .. } => {
            let value = default.as_i64()?;
            let value: syn::Lit = syn::parse_str(&format!("{value}{}", width.rust())).ok()?;
            quote!(Self(#value))
        }
        Kind::Number { .. } => {
            let value = decimal(&default.as_f64()?.to_string(), shared);
            quote!(Self(#value))
        }
        Kind::String(text) if text.enumeration.is_empty() => {
            let value = default.as_str()?;
            quote!(Self(#value.to_owned()))
        }
        Kind::String(text) => {
            let at = text.enumeration.iter().position(|it| it == default)?;
            let variant = format_ident!("{}", text.variants().get(at)?);
            quote!(Self::#variant)
        }
        _ => return None,
    };
    Some(quote! {
        impl ::std::default::Default for #ident {
            /// What counts when nothing is said.
            fn default() -> Self {
                #value
            }
        }
    })
}

/// `Display` like the inner value's.
pub(super) fn shown_as_inner(ident: &Ident) -> TokenStream {
    quote! {
        impl ::std::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    }
}

fn integer(ident: &Ident, doc: &str, width: Width, bounds: &Bounds, shared: &Path) -> TokenStream {
    let inner = format_ident!("{}", width.rust());
    let inner = quote!(#inner);
    let literal = |bound: &Bound| {
        // The bound is a whole number of at most 64 bits.
        let number: proc_macro2::Literal =
            proc_macro2::Literal::i64_unsuffixed(bound.value.parse().unwrap_or_default());
        quote!(#number)
    };
    let checks = checks(&inside(width, bounds), literal);
    let others: Vec<_> = ["i32", "i64", "u32", "u64", "usize"]
        .into_iter()
        .filter(|other| *other != inner.to_string())
        .map(|other| format_ident!("{other}"))
        .collect();
    let common = common(ident, &inner, &others, shared);
    quote! {
        #[doc = #doc]
        #[derive(::serde::Serialize, Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[serde(transparent)]
        pub struct #ident(#inner);

        impl ::std::convert::TryFrom<#inner> for #ident {
            type Error = self::error::ConversionError;
            fn try_from(
                value: #inner,
            ) -> ::std::result::Result<Self, self::error::ConversionError> {
                #checks
                Ok(Self(value))
            }
        }
        #common
    }
}

/// The bounds that the type itself does not imply. rustc warns about comparisons that are always true.
fn inside(width: Width, bounds: &Bounds) -> Bounds {
    let (least, most) = width.range();
    let unless = |bound: &Option<Bound>, end: i128| {
        let bound = bound.as_ref();
        let bound = bound.filter(|it| it.exclusive || it.value.parse() != Ok(end));
        bound.cloned()
    };
    Bounds {
        minimum: unless(&bounds.minimum, least),
        maximum: unless(&bounds.maximum, most),
    }
}

fn number(ident: &Ident, doc: &str, bounds: &Bounds, shared: &Path) -> TokenStream {
    let inner = quote!(#shared::Decimal);
    let checks = checks(bounds, |bound| {
        let limit = decimal(&bound.value, shared);
        quote!(*{
            static LIMIT: ::std::sync::LazyLock<#inner> = ::std::sync::LazyLock::new(|| #limit);
            &*LIMIT
        })
    });
    let others = ["i32", "i64", "u32", "u64"].map(|other| format_ident!("{other}"));
    let common = common(ident, &inner, &others, shared);
    quote! {
        #[doc = #doc]
        #[derive(::serde::Serialize, Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[serde(transparent)]
        pub struct #ident(#inner);

        impl ::std::convert::TryFrom<#inner> for #ident {
            type Error = self::error::ConversionError;
            fn try_from(
                value: #inner,
            ) -> ::std::result::Result<Self, self::error::ConversionError> {
                #checks
                Ok(Self(value))
            }
        }
        #common
    }
}

/// A decimal literal of the document as an expression.
fn decimal(literal: &str, shared: &Path) -> TokenStream {
    match literal.parse::<i64>() {
        Ok(whole) => {
            let whole = proc_macro2::Literal::i64_suffixed(whole);
            quote!(#shared::Decimal::from(#whole))
        }
        // The literal was a number of the document, of at most 15 digits.
        Err(_) => quote!(#literal.parse::<#shared::Decimal>().expect("a decimal literal")),
    }
}

/// Statements that return an error if `value` is out of bounds.
fn checks(bounds: &Bounds, literal: impl Fn(&Bound) -> TokenStream) -> TokenStream {
    let one = |bound: &Option<Bound>, below: bool| {
        let bound = bound.as_ref()?;
        let limit = literal(bound);
        let (operator, message) = match (below, bound.exclusive) {
            (true, false) => (quote!(<), format!("{{value}} is less than {}", bound.value)),
            (true, true) => (
                quote!(<=),
                format!("{{value}} is not more than {}", bound.value),
            ),
            (false, false) => (quote!(>), format!("{{value}} is more than {}", bound.value)),
            (false, true) => (
                quote!(>=),
                format!("{{value}} is not less than {}", bound.value),
            ),
        };
        Some(quote! {
            if value #operator #limit {
                return Err(format!(#message).into());
            }
        })
    };
    let (minimum, maximum) = (one(&bounds.minimum, true), one(&bounds.maximum, false));
    quote!(#minimum #maximum)
}

/// What every newtype over a number has besides `TryFrom` for that number.
fn common(ident: &Ident, inner: &TokenStream, others: &[Ident], shared: &Path) -> TokenStream {
    let conversions = conversions(ident, inner, shared);
    quote! {
        #shared::impl_number!(#ident(#inner) from #(#others)*);
        #conversions
    }
}

/// Conversions to the inner value, and from text.
pub(super) fn conversions(ident: &Ident, inner: &TokenStream, shared: &Path) -> TokenStream {
    quote!(#shared::impl_conversions!(#ident(#inner));)
}
