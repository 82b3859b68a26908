//! The document's own schemas, as dropshot asks for them.
//!
//! dropshot makes a document of the types of extractors and answers. Those that it meets here carry
//! what the published document says, so that the two agree and a comparison proves the wiring. They
//! are types without values: nothing is ever read into them.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Metadata, ObjectValidation, Schema, SchemaObject};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use crate::operation::{Location, Parameter};
use crate::reply::Success;
use crate::request::Request;

/// A schema of the document, from its JSON.
///
/// # Panics
/// When it is none, which the generator takes care of.
pub fn document_schema(json: &str) -> Schema {
    match serde_json::from_str(json) {
        Ok(schema) => schema,
        Err(error) => panic!("a schema of the document is none: {error}"),
    }
}

/// One of these schemas, whichever.
pub fn any_of(mut schemas: Vec<Schema>) -> Schema {
    if schemas.len() == 1 {
        return schemas.remove(0);
    }
    let mut schema = SchemaObject::default();
    schema.subschemas().any_of = Some(schemas);
    schema.into()
}

/// The parameters of one location of the request `R`, as the struct that dropshot's extractors want.
pub(crate) struct ParameterGroup<R, const LOCATION: u8 = 0>(PhantomData<fn() -> R>);

impl<R> ParameterGroup<R> {
    pub(crate) const PATH: u8 = Location::Path as u8;
    pub(crate) const QUERY: u8 = Location::Query as u8;
    pub(crate) const HEADER: u8 = Location::Header as u8;
}

impl<R: Request, const LOCATION: u8> JsonSchema for ParameterGroup<R, LOCATION> {
    fn schema_name() -> String {
        format!("{}Parameters{LOCATION}", R::operation().id)
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let parameters = R::operation()
            .parameters
            .iter()
            .zip(R::parameter_schemas(generator));
        let here = |(parameter, _): &(&Parameter, Schema)| parameter.location as u8 == LOCATION;
        members(parameters.filter(here).map(|(parameter, schema)| {
            (
                parameter.name,
                parameter.required,
                parameter.description,
                schema,
            )
        }))
    }
}

impl<'de, R, const LOCATION: u8> Deserialize<'de> for ParameterGroup<R, LOCATION> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("a type without values"))
    }
}

/// The headers of the answer `A`, as the struct that dropshot's answers want.
pub(crate) struct HeaderGroup<A>(PhantomData<fn() -> A>);

impl<A: Success> JsonSchema for HeaderGroup<A> {
    fn schema_name() -> String {
        format!("{}Headers", A::operation().id)
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let headers = A::operation()
            .success
            .headers
            .iter()
            .zip(A::header_schemas(generator));
        members(
            headers
                .map(|(header, schema)| (header.name, header.required, header.description, schema)),
        )
    }
}

impl<A> Serialize for HeaderGroup<A> {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom("a type without values"))
    }
}

/// An object of these members: name, whether required, description, schema.
fn members<'a>(members: impl Iterator<Item = (&'a str, bool, Option<&'a str>, Schema)>) -> Schema {
    let mut object = ObjectValidation::default();
    for (name, required, description, schema) in members {
        if required {
            object.required.insert(name.to_owned());
        }
        object
            .properties
            .insert(name.to_owned(), described(schema, description));
    }
    SchemaObject {
        instance_type: Some(InstanceType::Object.into()),
        object: Some(Box::new(object)),
        ..SchemaObject::default()
    }
    .into()
}

/// A schema with a description that belongs to its place, in the form from which dropshot takes it
/// out again.
fn described(schema: Schema, description: Option<&str>) -> Schema {
    let mut wrapper = SchemaObject::default();
    wrapper.subschemas().all_of = Some(vec![schema]);
    wrapper.metadata = Some(Box::new(Metadata {
        description: description.map(str::to_owned),
        ..Metadata::default()
    }));
    wrapper.into()
}

/// The error type that dropshot wants of a handler. It describes `E`, and has dropshot's own body: every answer of an
/// operation, errors included, goes through [`Reply`](crate::Reply).
#[derive(Debug)]
pub struct Described<E> {
    error: dropshot::HttpError,
    request_id: String,
    body: PhantomData<fn() -> E>,
}

impl<E> Described<E> {
    /// What dropshot would answer to this request.
    pub(crate) fn told(error: dropshot::HttpError, request_id: &str) -> Described<E> {
        Described {
            error,
            request_id: request_id.to_owned(),
            body: PhantomData,
        }
    }
}

/// For dropshot's own extractors, of which no operation has one.
impl<E> From<dropshot::HttpError> for Described<E> {
    fn from(error: dropshot::HttpError) -> Described<E> {
        Described::told(error, "")
    }
}

impl<E> std::fmt::Display for Described<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl<E> Serialize for Described<E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let body = dropshot::HttpErrorResponseBody {
            request_id: self.request_id.clone(),
            error_code: self.error.error_code.clone(),
            message: self.error.external_message.clone(),
        };
        body.serialize(serializer)
    }
}

impl<E: JsonSchema> JsonSchema for Described<E> {
    fn is_referenceable() -> bool {
        E::is_referenceable()
    }

    fn schema_name() -> String {
        E::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        E::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        E::json_schema(generator)
    }
}

impl<E: JsonSchema + Send + Sync + 'static> dropshot::HttpResponseError for Described<E> {
    fn status_code(&self) -> dropshot::ErrorStatusCode {
        self.error.status_code
    }
}
