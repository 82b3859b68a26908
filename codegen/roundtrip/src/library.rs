//! A library: returns what it received in the query and the path.

use dropshot::RequestContext;
use openapi_dropshot_runtime::{Admitted, ErrorAnswer, Operation, Rejection, Unchecked};

use crate::{Answered, Refused, has_header, told};

crate::generated!("library.rs");

/// The library. Its readers have the token `reader`.
pub enum Library {}

impl LibraryApi for Library {
    type Context = Answered;
    type Error = Refused;
    type Reader = ();

    async fn reader(
        context: &RequestContext<Answered>,
        _: &'static Operation,
    ) -> Result<Admitted<()>, Refused> {
        match has_header(&context.request, "authorization", "Bearer reader") {
            true => Ok(Admitted::new(())),
            false => Err(Refused::Stranger),
        }
    }

    fn problem(
        _: &RequestContext<Answered>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<types::Problem> {
        let (status, violations) = told(rejection);
        let violations = violations
            .iter()
            .map(|it| format!("{} {}", it.path, it.constraint));
        let title = violations.collect::<Vec<_>>().join(", ");
        let detail = openapi_dropshot_runtime::Field::Absent;
        ErrorAnswer::new(status, types::Problem { title, detail })
    }

    async fn list_books(
        _: &RequestContext<Answered>,
        (): (),
        request: Unchecked<ListBooksRequest>,
    ) -> Result<ListBooksAnswer, Rejection<Refused>> {
        let ListBooksRequest {
            page_size,
            cursor,
            sort,
        } = request.check().await?;
        let seen = format!("{page_size}|{}|{sort}", cursor.as_str());
        let next = seen.parse().ok();
        Ok(ListBooksAnswer::new(types::BookPage {
            books: Vec::new(),
            next,
            total: None,
        }))
    }

    async fn get_copy(
        _: &RequestContext<Answered>,
        (): (),
        request: Unchecked<GetCopyRequest>,
    ) -> Result<GetCopyAnswer, Rejection<Refused>> {
        let GetCopyRequest { isbn, number } = request.check().await?;
        let history = Some(vec![Some(isbn.into()), None]);
        Ok(GetCopyAnswer::new(types::BookCopy {
            number,
            lent: false,
            history,
        }))
    }

    async fn get_status(
        _: &RequestContext<Answered>,
        request: Unchecked<GetStatusRequest>,
    ) -> Result<GetStatusAnswer, Rejection<Refused>> {
        request.check().await?;
        Ok(GetStatusAnswer::new(types::Status(Default::default())))
    }
}
