//! A pet store: returns what it is told, and panics when asked for pet 13.

use dropshot::RequestContext;
use openapi_dropshot_runtime::{Admitted, ErrorAnswer, Operation, Rejection, Unchecked};

use crate::{Answered, Refused, has_header, told};

crate::generated!("petstore.rs");

/// The store. Its key is `secret`.
pub enum Store {}

impl PetstoreApi for Store {
    type Context = Answered;
    type Error = Refused;
    type StoreKey = ();

    async fn store_key(
        context: &RequestContext<Answered>,
        _: &'static Operation,
    ) -> Result<Admitted<()>, Refused> {
        match has_header(&context.request, "x-store-key", "secret") {
            true => {
                let mut admitted = Admitted::new(());
                admitted.notes.insert("with key");
                Ok(admitted)
            }
            false => Err(Refused::Stranger),
        }
    }

    fn failure(
        _: &RequestContext<Answered>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<types::Failure> {
        let (status, violations) = told(rejection);
        let violations = violations
            .into_iter()
            .map(|it| types::Violation {
                where_: it.path,
                rule: it.constraint.to_owned(),
            })
            .collect();
        let message = status.to_string();
        ErrorAnswer::new(
            status,
            types::Failure {
                message,
                violations: Some(violations),
            },
        )
    }

    fn answered(
        context: &RequestContext<Answered>,
        operation: &'static Operation,
        answer: openapi_dropshot_runtime::http::Response<openapi_dropshot_runtime::Bytes>,
        latency: std::time::Duration,
    ) -> openapi_dropshot_runtime::http::Response<dropshot::Body> {
        assert!(
            latency < std::time::Duration::from_secs(60),
            "it is measured"
        );
        let note = answer.extensions().get().copied().unwrap_or("without key");
        let status = answer.status().as_u16();
        context
            .context()
            .add(format!("{} {status} {note}", operation.id));
        answer.map(dropshot::Body::from)
    }

    async fn list_pets(
        _: &RequestContext<Answered>,
        request: Unchecked<ListPetsRequest>,
    ) -> Result<ListPetsAnswer, Rejection<Refused>> {
        let request = request.check().await?;
        let name = format!("{:?}", request.adult);
        Ok(ListPetsAnswer::new(types::Pets(vec![pet(
            1,
            request.species,
            &name,
        )])))
    }

    async fn add_pet(
        _: &RequestContext<Answered>,
        (): (),
        request: Unchecked<AddPetRequest>,
    ) -> Result<AddPetAnswer, Rejection<Refused>> {
        let body = request.check().await?.body;
        Ok(AddPetAnswer::new(types::Pet {
            weight: body.weight,
            nickname: body.nickname.into_option(),
            born: body.born,
            tags: body.tags,
            ..pet(1, body.species, &body.name)
        }))
    }

    async fn get_pet(
        _: &RequestContext<Answered>,
        request: Unchecked<GetPetRequest>,
    ) -> Result<GetPetAnswer, Rejection<Refused>> {
        match i64::from(request.check().await?.pet_id) {
            13 => panic!("an unlucky pet"),
            id @ ..100 => Ok(GetPetAnswer::new(pet(id, types::Species::Cat, "Tom"))),
            _ => Err(Refused::Missing.into()),
        }
    }

    async fn replace_pet(
        _: &RequestContext<Answered>,
        (): (),
        request: Unchecked<ReplacePetRequest>,
    ) -> Result<ReplacePetAnswer, Rejection<Refused>> {
        let request = request.check().await?;
        let (id, body) = (i64::from(request.pet_id), request.body);
        Ok(ReplacePetAnswer::new(pet(id, body.species, &body.name)))
    }

    async fn remove_pet(
        _: &RequestContext<Answered>,
        (): (),
        request: Unchecked<RemovePetRequest>,
    ) -> Result<RemovePetAnswer, Rejection<Refused>> {
        request.check().await?;
        Ok(RemovePetAnswer::new())
    }
}

fn pet(id: i64, species: types::Species, name: &str) -> types::Pet {
    types::Pet {
        // The request was already checked for both; a panic would be an internal error anyway.
        id: id.try_into().unwrap_or_else(|_| panic!("{id} is no id")),
        name: name.parse().unwrap_or_else(|_| panic!("{name} is no name")),
        species,
        weight: None,
        nickname: None,
        born: openapi_dropshot_runtime::Field::Absent,
        type_: "pet".to_owned(),
        tags: None,
    }
}
