//! Parcels: headers both ways, a condition, and a response that the document does not list.

use dropshot::RequestContext;
use openapi_dropshot_runtime::{
    Admitted, ErrorAnswer, Operation, Rejection, Unchecked, header_value,
};

use crate::{Answered, Refused, has_header, told};

crate::generated!("parcels.rs");

/// The carrier. Its token is `carrier`; the version of every parcel is `v1`.
pub enum Carrier {}

impl ParcelsApi for Carrier {
    type Context = Answered;
    type Error = Refused;
    type Carrier = ();

    async fn carrier(
        context: &RequestContext<Answered>,
        _: &'static Operation,
    ) -> Result<Admitted<()>, Refused> {
        if !has_header(&context.request, "authorization", "Bearer carrier") {
            return Err(Refused::Stranger);
        }
        let mut admitted = Admitted::new(());
        let name = openapi_dropshot_runtime::http::HeaderName::from_static("x-remaining");
        admitted.headers.push((name, header_value(7)));
        Ok(admitted)
    }

    fn fault(
        _: &RequestContext<Answered>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<types::Fault> {
        let (status, violations) = told(rejection);
        let header = violations
            .first()
            .map(|it| format!("{} {}", it.path, it.constraint));
        let code = types::FaultCode::BadRequest;
        ErrorAnswer::new(status, types::Fault { code, header })
    }

    async fn change_parcel(
        _: &RequestContext<Answered>,
        (): (),
        request: Unchecked<ChangeParcelRequest>,
    ) -> Result<ChangeParcelAnswer, Rejection<Refused>> {
        if request.headers()?.if_match.as_str() != "v1" {
            return Err(Refused::Changed.into());
        }
        let request = request.check().await?;
        let parcel = types::Parcel {
            id: request.parcel,
            note: request.body.note.into_option(),
            insured: request.body.insured.into_option(),
            fragile: request.x_dry_run,
            tracking: None,
        };
        Ok(ChangeParcelAnswer::new(parcel, request.if_match))
    }

    /// The location is the idempotency key, wherever that leads.
    async fn send_parcel(
        _: &RequestContext<Answered>,
        (): (),
        request: Unchecked<SendParcelRequest>,
    ) -> Result<SendParcelAnswer, Rejection<Refused>> {
        let Some(key) = request.check().await?.idempotency_key else {
            return Err(Refused::Missing.into());
        };
        Ok(SendParcelAnswer::new(key.into()).x_label_count(2))
    }
}
