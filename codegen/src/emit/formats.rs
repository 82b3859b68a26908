//! Types of texts with a fixed form: UUIDs, times, dates and addresses.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Path;

use crate::model::Format;

use super::scalars::{conversions, shown_as_inner};

/// The type of a text of this format, if [`super::prepare::is_own`] holds for it.
pub(super) fn own(ident: &Ident, doc: &str, format: Option<Format>, shared: &Path) -> TokenStream {
    match format {
        Some(Format::Uuid) => uuid(ident, doc, shared),
        Some(Format::DateTime) => date_time(ident, doc, shared),
        Some(Format::Date) => date(ident, doc, shared),
        Some(Format::Ip) => address(ident, doc, &quote!(::std::net::IpAddr), shared),
        Some(Format::Ipv4) => address(ident, doc, &quote!(::std::net::Ipv4Addr), shared),
        Some(Format::Ipv6) => address(ident, doc, &quote!(::std::net::Ipv6Addr), shared),
        // typify makes these.
        None | Some(Format::Password | Format::Uri) => TokenStream::new(),
    }
}

/// A UUID in its usual form. `uuid` would also read three others, which no schema admits.
fn uuid(ident: &Ident, doc: &str, shared: &Path) -> TokenStream {
    let inner = quote!(::uuid::Uuid);
    let reading = quote! {
        match ::uuid::Uuid::try_parse(value) {
            Ok(uuid) if value.len() == 36 => Ok(Self(uuid)),
            _ => Err(format!("{value:?} is not a UUID").into()),
        }
    };
    let (text, shown) = (text(ident, &inner, &reading, shared), shown_as_inner(ident));
    quote! {
        #shown
        #[doc = #doc]
        #[derive(::serde::Serialize, Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[serde(transparent)]
        #text
    }
}

/// A full date of RFC 3339. chrono would accept months and days of one digit, and years of five. It is
/// written without chrono's own serde feature.
fn date(ident: &Ident, doc: &str, shared: &Path) -> TokenStream {
    let inner = quote!(::chrono::NaiveDate);
    let reading = quote! {
        match value.parse::<::chrono::NaiveDate>() {
            Ok(date) if value.len() == 10 && date.to_string() == value => Ok(Self(date)),
            _ => Err(format!("{value:?} is not a date, like 2026-11-20").into()),
        }
    };
    let (text, shown) = (text(ident, &inner, &reading, shared), shown_as_inner(ident));
    quote! {
        #shown
        #[doc = #doc]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #text
        impl ::serde::Serialize for #ident {
            fn serialize<S>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error>
            where
                S: ::serde::Serializer,
            {
                serializer.collect_str(&self.0)
            }
        }
    }
}

/// An IP address.
fn address(ident: &Ident, doc: &str, inner: &TokenStream, shared: &Path) -> TokenStream {
    let reading = quote! {
        match value.parse::<#inner>() {
            Ok(address) => Ok(Self(address)),
            Err(error) => Err(format!("{value:?}: {error}").into()),
        }
    };
    let (text, shown) = (text(ident, inner, &reading, shared), shown_as_inner(ident));
    quote! {
        #shown
        #[doc = #doc]
        #[derive(::serde::Serialize, Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[serde(transparent)]
        #text
    }
}

/// The struct of a type that is written as a text of a fixed form, and how it is read: `reading` turns
/// `value` into it, or into an error.
fn text(ident: &Ident, inner: &TokenStream, reading: &TokenStream, shared: &Path) -> TokenStream {
    let (conversions, deserialized) = (conversions(ident, inner, shared), reading_text(ident));
    quote! {
        pub struct #ident(pub #inner);

        impl ::std::convert::From<#inner> for #ident {
            fn from(value: #inner) -> Self {
                Self(value)
            }
        }
        impl ::std::str::FromStr for #ident {
            type Err = self::error::ConversionError;
            fn from_str(
                value: &str,
            ) -> ::std::result::Result<Self, self::error::ConversionError> {
                #reading
            }
        }
        #deserialized
        #conversions
    }
}

/// A point in time. chrono would omit a fraction of zero; here it has at least three digits, so that all
/// times of an API look alike.
fn date_time(ident: &Ident, doc: &str, shared: &Path) -> TokenStream {
    let inner = quote!(::chrono::DateTime<::chrono::Utc>);
    let conversions = conversions(ident, &inner, shared);
    let reading = reading_text(ident);
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct #ident(pub #inner);

        impl ::std::convert::From<#inner> for #ident {
            fn from(value: #inner) -> Self {
                Self(value)
            }
        }
        impl ::std::str::FromStr for #ident {
            type Err = self::error::ConversionError;
            fn from_str(
                value: &str,
            ) -> ::std::result::Result<Self, self::error::ConversionError> {
                match #shared::parse_rfc3339(value) {
                    Some(time) => Ok(Self(time)),
                    None => Err(format!(
                        "{value:?} is not a time of RFC 3339, of a year from 0 to 9999 in UTC"
                    )
                    .into()),
                }
            }
        }
        impl ::serde::Serialize for #ident {
            fn serialize<S>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error>
            where
                S: ::serde::Serializer,
            {
                if !#shared::is_writable(&self.0) {
                    let error = format_args!("{} has no text of RFC 3339", self.0);
                    return Err(<S::Error as ::serde::ser::Error>::custom(error));
                }
                #shared::rfc3339(&self.0, |text| serializer.serialize_str(text))
            }
        }
        impl ::std::fmt::Display for #ident {
            /// RFC 3339 in UTC, to the millisecond, or as finely as needed.
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                #shared::rfc3339(&self.0, |text| f.write_str(text))
            }
        }
        #reading
        #conversions
    }
}

/// `Deserialize` through `FromStr`.
fn reading_text(ident: &Ident) -> TokenStream {
    quote! {
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D>(deserializer: D) -> ::std::result::Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                <::std::string::String as ::serde::Deserialize>::deserialize(deserializer)?
                    .parse()
                    .map_err(<D::Error as ::serde::de::Error>::custom)
            }
        }
    }
}
