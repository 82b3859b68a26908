//! The service: what each operation of the document does, and how refusals are worded.
//!
//! Requests have been checked against the document before they reach a handler. A success or a member that the document
//! does not have does not compile; an error with a status that it does not list is logged.

use dropshot::RequestContext;
use openapi_dropshot_runtime::http::StatusCode;
use openapi_dropshot_runtime::{ErrorAnswer, Operation, Rejection, Unchecked};

use crate::Shelf;
use crate::api::types::{LoanList, Problem};
use crate::api::{
    GiveBackAnswer, GiveBackRequest, LendAnswer, LendRequest, ListLoansAnswer, ListLoansRequest,
    LoansApi,
};

/// The library that is served.
pub enum Library {}

/// What goes wrong here, in the library's own terms.
#[derive(Clone, Copy, Debug)]
pub enum Refused {
    /// The book is already lent.
    Lent,
    /// There is no such loan.
    Unknown,
}

impl From<Refused> for Rejection<Refused> {
    fn from(refused: Refused) -> Self {
        Rejection::Error(refused)
    }
}

impl LoansApi for Library {
    type Context = Shelf;
    type Error = Refused;

    fn problem(
        _: &RequestContext<Shelf>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<Problem> {
        let (status, title, places) = match rejection {
            Rejection::Error(Refused::Lent) => (StatusCode::CONFLICT, "somebody has it", vec![]),
            Rejection::Error(Refused::Unknown) => (StatusCode::NOT_FOUND, "no such loan", vec![]),
            Rejection::Request(error) => {
                let places = error.violations.iter();
                let places = places.map(|it| format!("{}: {}", it.path, it.message));
                let title = "the request is not as documented";
                (error.cause.status(), title, places.collect())
            }
        };
        let title = title.to_owned();
        ErrorAnswer::new(status, Problem { title, places })
    }

    async fn list_loans(
        context: &RequestContext<Shelf>,
        request: Unchecked<ListLoansRequest>,
    ) -> Result<ListLoansAnswer, Rejection<Refused>> {
        let ListLoansRequest { reader } = request.check().await?;
        let loans = context.context().of(reader.as_ref());
        Ok(ListLoansAnswer::new(LoanList { loans }))
    }

    async fn lend(
        context: &RequestContext<Shelf>,
        request: Unchecked<LendRequest>,
    ) -> Result<LendAnswer, Rejection<Refused>> {
        let LendRequest { body } = request.check().await?;
        let loan = context.context().lend(body).ok_or(Refused::Lent)?;
        let location = format!("/loans/{}", loan.id.0);
        Ok(LendAnswer::new(loan, location))
    }

    async fn give_back(
        context: &RequestContext<Shelf>,
        request: Unchecked<GiveBackRequest>,
    ) -> Result<GiveBackAnswer, Rejection<Refused>> {
        let GiveBackRequest { id } = request.check().await?;
        match context.context().give_back(id.0) {
            true => Ok(GiveBackAnswer::new()),
            false => Err(Refused::Unknown.into()),
        }
    }
}
