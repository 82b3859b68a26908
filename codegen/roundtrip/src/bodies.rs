//! A cabinet of files: bodies of every media type, in and out.

use std::convert::Infallible;

use dropshot::RequestContext;
use futures::TryStreamExt;
use openapi_dropshot_runtime::http::{HeaderValue, StatusCode};
use openapi_dropshot_runtime::{Bytes, ErrorAnswer, Operation, RawBody, Rejection, Unchecked};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{Answered, Refused, told};

crate::generated!("bodies.rs");

/// The cabinet. It stores nothing, but returns what it got.
pub enum Cabinet {}

/// More than the default limit of a body.
pub const LARGE: usize = 1024 * 1024;

impl BodiesApi for Cabinet {
    type Context = Answered;
    type Error = Refused;

    fn failure(
        _: &RequestContext<Answered>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<types::Failure> {
        let (status, violations) = told(rejection);
        let violations = violations
            .iter()
            .map(|it| format!("{} {}", it.path, it.constraint));
        let message = violations.collect::<Vec<_>>().join(", ");
        ErrorAnswer::new(status, types::Failure { message })
    }

    fn unlisted(
        _: &RequestContext<Answered>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<()> {
        ErrorAnswer::new(told(rejection).0, ())
    }

    async fn get_root(
        _: &RequestContext<Answered>,
        request: Unchecked<GetRootRequest>,
    ) -> Result<GetRootAnswer, Rejection<Refused>> {
        request.check().await?;
        Ok(GetRootAnswer::new("/files/first".to_owned()))
    }

    async fn find_file(
        _: &RequestContext<Answered>,
        request: Unchecked<FindFileRequest>,
    ) -> Result<FindFileAnswer, Rejection<Refused>> {
        request.check().await?;
        Ok(FindFileAnswer::new(2))
    }

    /// In two pieces, as they arrive.
    async fn get_file(
        _: &RequestContext<Answered>,
        request: Unchecked<GetFileRequest>,
    ) -> Result<GetFileAnswer, Rejection<Refused>> {
        let name = String::from(request.check().await?.name);
        let pieces = ["file ".to_owned(), name].map(|it| Ok::<_, Infallible>(Bytes::from(it)));
        let answer = GetFileAnswer::new(RawBody::stream(futures::stream::iter(pieces)));
        Ok(answer.media_type(HeaderValue::from_static("text/x-file")))
    }

    /// A file `large` may have more bytes than others, which are counted as they arrive.
    async fn put_file(
        _: &RequestContext<Answered>,
        request: Unchecked<PutFileRequest>,
    ) -> Result<PutFileAnswer, Rejection<Refused>> {
        let PutFileRequest { name, body } = request.check().await?;
        let length = match name.as_str() {
            "large" => {
                let pieces = body
                    .allowing(LARGE, openapi_dropshot_runtime::DEADLINE)
                    .stream();
                let count = |sum, piece: Bytes| async move { Ok(sum + piece.len()) };
                pieces.try_fold(0, count).await?
            }
            _ => {
                let mut body = body;
                body.read().await?.len()
            }
        };
        match length {
            0 => Err(Refused::Missing.into()),
            _ => Ok(PutFileAnswer::new()),
        }
    }

    async fn delete_file(
        _: &RequestContext<Answered>,
        request: Unchecked<DeleteFileRequest>,
    ) -> Result<DeleteFileAnswer, Rejection<Refused>> {
        match request.check().await?.body {
            Some(_) => Ok(DeleteFileAnswer::new()),
            None => Err(Refused::Missing.into()),
        }
    }

    async fn add_picture(
        _: &RequestContext<Answered>,
        request: Unchecked<AddPictureRequest>,
    ) -> Result<AddPictureAnswer, Rejection<Refused>> {
        request.check().await?.body.read().await?;
        Ok(AddPictureAnswer::new())
    }

    async fn get_picture(
        _: &RequestContext<Answered>,
        request: Unchecked<GetPictureRequest>,
    ) -> Result<GetPictureAnswer, Rejection<Refused>> {
        request.check().await?;
        Ok(GetPictureAnswer::new(&b"PNG"[..]))
    }

    async fn add_note(
        _: &RequestContext<Answered>,
        request: Unchecked<AddNoteRequest>,
    ) -> Result<AddNoteAnswer, Rejection<Refused>> {
        let body = String::from(request.check().await?.body);
        Ok(AddNoteAnswer::new(body.into()))
    }

    async fn import_note(
        _: &RequestContext<Answered>,
        request: Unchecked<ImportNoteRequest>,
    ) -> Result<ImportNoteAnswer, Rejection<Refused>> {
        let ImportNoteRequest { body } = request.check().await?;
        Ok(match body.why.as_str() {
            "later" => ImportNoteAnswer::status_202(),
            _ => ImportNoteAnswer::status_201(body),
        })
    }

    async fn replace_note(
        _: &RequestContext<Answered>,
        request: Unchecked<ReplaceNoteRequest>,
    ) -> Result<ReplaceNoteAnswer, Rejection<Refused>> {
        let body = request.check().await?.body;
        Ok(ReplaceNoteAnswer::new(body.ok_or(Refused::Missing)?))
    }

    async fn send_form(
        _: &RequestContext<Answered>,
        request: Unchecked<SendFormRequest>,
    ) -> Result<SendFormAnswer, Rejection<Refused>> {
        Ok(SendFormAnswer::new(request.check().await?.body))
    }

    async fn fill_in_a_part_of_the_form(
        _: &RequestContext<Answered>,
        request: Unchecked<FillInAPartOfTheFormRequest>,
    ) -> Result<FillInAPartOfTheFormAnswer, Rejection<Refused>> {
        match request.check().await?.body {
            Some(_) => Ok(FillInAPartOfTheFormAnswer::new()),
            None => Err(Refused::Missing.into()),
        }
    }

    async fn put_nothing(
        _: &RequestContext<Answered>,
        request: Unchecked<PutNothingRequest>,
    ) -> Result<PutNothingAnswer, Rejection<Refused>> {
        Ok(PutNothingAnswer::new(request.check().await?.body))
    }

    async fn put_maybe(
        _: &RequestContext<Answered>,
        request: Unchecked<PutMaybeRequest>,
    ) -> Result<PutMaybeAnswer, Rejection<Refused>> {
        let body = request.check().await?.body;
        Ok(PutMaybeAnswer::new(body.map(Into::into)))
    }

    async fn open_old_channel(
        _: &RequestContext<Answered>,
        request: Unchecked<OpenOldChannelRequest>,
    ) -> Result<OpenOldChannelAnswer, Rejection<Refused>> {
        let switching = request.check().await?.body.handle(|_| async { Ok(()) })?;
        Ok(OpenOldChannelAnswer::new(switching))
    }

    async fn upload(
        _: &RequestContext<Answered>,
        request: Unchecked<UploadRequest>,
    ) -> Result<UploadAnswer, Rejection<Refused>> {
        let mut parts = request.check().await?.body.parts();
        let mut names = Vec::new();
        while let Ok(Some(part)) = parts.next_field().await {
            names.push(part.name().unwrap_or_default().to_owned());
        }
        let why = names.join(",");
        Ok(UploadAnswer::new(types::Reason { why }))
    }

    async fn get_anything(
        _: &RequestContext<Answered>,
        request: Unchecked<GetAnythingRequest>,
    ) -> Result<GetAnythingAnswer, Rejection<Refused>> {
        request.check().await?;
        let body = RawBody::from("short and stout");
        Ok(GetAnythingAnswer::new(StatusCode::IM_A_TEAPOT, body))
    }

    /// Sends the word, and then whatever it receives.
    async fn open_channel(
        _: &RequestContext<Answered>,
        request: Unchecked<OpenChannelRequest>,
    ) -> Result<OpenChannelAnswer, Rejection<Refused>> {
        let OpenChannelRequest { word, body } = request.check().await?;
        let switching = body.handle(|connection| async move {
            let mut connection = connection.into_inner();
            connection.write_all(word.as_bytes()).await?;
            let mut bytes = [0; 4];
            connection.read_exact(&mut bytes).await?;
            connection.write_all(&bytes).await?;
            Ok(())
        })?;
        Ok(OpenChannelAnswer::new(switching))
    }
}
