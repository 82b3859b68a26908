//! The document's own schemas, in the form that dropshot reads.
//!
//! dropshot builds a document from the types of extractors and responses. The types here carry the content of the published
//! document, so the two agree, and comparing them proves the wiring. They are types without values: nothing is ever
//! deserialized into them.

use std::borrow::Cow;
use std::cell::Cell;
use std::marker::PhantomData;

use dropshot::{
    ApiEndpointBodyContentType, ApiEndpointParameter, ApiEndpointResponse, Header, HttpResponse,
    HttpResponseDeleted, HttpResponseHeaders, Path, Query, SharedExtractor,
};
use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Metadata, ObjectValidation, Schema, SchemaObject};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use crate::content::{self, FromBody};
use crate::operation::{Location, Operation};
use crate::reply::Success;
use crate::request::Request;

/// Returns a schema of the document, from its JSON.
///
/// # Panics
/// If it is not a schema, which the generator rules out.
pub fn document_schema(json: &str) -> Schema {
    match serde_json::from_str(json) {
        Ok(schema) => schema,
        Err(error) => panic!("a schema of the document is none: {error}"),
    }
}

/// Implements `JsonSchema` for the type of a component. The arguments are its name, whether the published document refers to
/// it by that name, the schema, and the types of the components that the schema refers to.
#[macro_export]
macro_rules! impl_schema {
    ($component:ty, $name:literal, $is_referenceable:literal, $json:literal, [$($reference:ty),*]) => {
        impl ::schemars::JsonSchema for $component {
            fn is_referenceable() -> bool {
                $is_referenceable
            }
            fn schema_name() -> ::std::string::String {
                $name.to_owned()
            }
            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                // Another document may have a component of this name.
                ::std::concat!(::std::module_path!(), "::", $name).into()
            }
            fn json_schema(
                _generator: &mut ::schemars::r#gen::SchemaGenerator,
            ) -> ::schemars::schema::Schema {
                $(let _ = _generator.subschema_for::<$reference>();)*
                $crate::document_schema($json)
            }
        }
    };
}

/// Returns a schema that admits any of these.
pub fn any_of(mut schemas: Vec<Schema>) -> Schema {
    if schemas.len() == 1 {
        return schemas.remove(0);
    }
    let mut schema = SchemaObject::default();
    schema.subschemas().any_of = Some(schemas);
    schema.into()
}

/// The schemas of parameters or headers, in the order of the operation.
type Schemas = fn(&mut SchemaGenerator) -> Vec<Schema>;

/// How dropshot's document describes an operation. dropshot asks types for this. An operation is described by the types of
/// its request and its response, but served by a handler that is the same for all, so it is compiled only once.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    operation: &'static Operation,
    parameters: Schemas,
    body: fn(ApiEndpointBodyContentType) -> Vec<ApiEndpointParameter>,
    headers: Schemas,
    success: fn() -> ApiEndpointResponse,
}

impl Description {
    /// The description of an operation whose requests are `R` and whose successes are `A`.
    pub const fn of<R: Request, A: Success>(operation: &'static Operation) -> Description {
        Description {
            operation,
            parameters: R::parameter_schemas,
            body: R::Body::parameters,
            headers: A::header_schemas,
            success: A::Shape::response_metadata,
        }
    }

    /// The operation.
    pub fn operation(self) -> &'static Operation {
        self.operation
    }

    /// The contents of a request: parameters, and a body.
    pub(crate) fn parameters(self) -> Vec<ApiEndpointParameter> {
        let of = ApiEndpointBodyContentType::default;
        let groups = self.asked(|| {
            [
                <Path<Group<PATH>> as SharedExtractor>::metadata(of()),
                <Query<Group<QUERY>> as SharedExtractor>::metadata(of()),
                <Header<Group<HEADER>> as SharedExtractor>::metadata(of()),
            ]
        });
        let body = self.operation.body.as_ref();
        let body = body.map(|body| (self.body)(content::content_type(body)));
        let groups = groups.into_iter().flat_map(|group| group.parameters);
        groups.chain(body.into_iter().flatten()).collect()
    }

    /// The parameters in the path, the only ones that an unpublished endpoint needs.
    pub(crate) fn path_parameters(self) -> Vec<ApiEndpointParameter> {
        let of = ApiEndpointBodyContentType::default();
        self.asked(|| <Path<Group<PATH>> as SharedExtractor>::metadata(of))
            .parameters
    }

    /// The success.
    pub(crate) fn response(self) -> ApiEndpointResponse {
        type Headers = HttpResponseHeaders<HttpResponseDeleted, Group<ANSWER>>;
        let success = &self.operation.success;
        ApiEndpointResponse {
            headers: self.asked(Headers::response_metadata).headers,
            success: success.status(),
            description: Some(success.description.to_owned()),
            ..(self.success)()
        }
    }

    /// Has dropshot query a [`Group`], which then knows that this operation is meant.
    fn asked<T>(self, ask: impl FnOnce() -> T) -> T {
        let before = ASKED.replace(Some(self));
        let told = ask();
        ASKED.set(before);
        told
    }
}

thread_local! {
    /// The operation that dropshot is querying. It queries a type, immediately and in this thread.
    static ASKED: Cell<Option<Description>> = const { Cell::new(None) };
}

/// The parameters of one location, or the headers of a response, as the struct that dropshot expects: those of the operation
/// that is being [queried](Description::asked).
struct Group<const LOCATION: u8>;

const PATH: u8 = Location::Path as u8;
const QUERY: u8 = Location::Query as u8;
const HEADER: u8 = Location::Header as u8;
const ANSWER: u8 = u8::MAX;

impl<const LOCATION: u8> JsonSchema for Group<LOCATION> {
    fn schema_name() -> String {
        let id = ASKED.get().map_or("", |it| it.operation.id);
        format!("{id}Group{LOCATION}")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let Some(asked) = ASKED.get() else {
            return members(std::iter::empty());
        };
        let operation = asked.operation;
        if LOCATION == ANSWER {
            let headers = operation.success.headers.iter();
            let headers = headers.zip((asked.headers)(generator));
            return members(
                headers.map(|(it, schema)| (it.name, it.required, it.description, schema)),
            );
        }
        let parameters = operation.parameters.iter();
        let parameters = parameters.zip((asked.parameters)(generator));
        let here = parameters.filter(|(it, _)| it.location as u8 == LOCATION);
        members(here.map(|(it, schema)| (it.name, it.required, it.description, schema)))
    }
}

impl<'de, const LOCATION: u8> Deserialize<'de> for Group<LOCATION> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("a type without values"))
    }
}

impl<const LOCATION: u8> Serialize for Group<LOCATION> {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom("a type without values"))
    }
}

/// Returns an object with these members: name, whether required, description, schema.
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

/// Returns a schema with a description that belongs to its place, in the form from which dropshot extracts it.
fn described(schema: Schema, description: Option<&str>) -> Schema {
    let mut wrapper = SchemaObject::default();
    wrapper.subschemas().all_of = Some(vec![schema]);
    wrapper.metadata = Some(Box::new(Metadata {
        description: description.map(str::to_owned),
        ..Metadata::default()
    }));
    wrapper.into()
}

/// The error type that dropshot expects of a handler. It describes `E`, and has dropshot's own body: every response of an
/// operation, errors included, goes through [`Reply`](crate::Reply).
#[derive(Debug)]
pub struct Described<E> {
    error: dropshot::HttpError,
    request_id: String,
    body: PhantomData<fn() -> E>,
}

impl<E> Described<E> {
    /// Returns dropshot's own response to this request.
    pub(crate) fn told(error: dropshot::HttpError, request_id: &str) -> Described<E> {
        Described {
            error,
            request_id: request_id.to_owned(),
            body: PhantomData,
        }
    }
}

/// For dropshot's own extractors, which no operation uses.
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
