//! Shapes: a oneOf in and out.

use dropshot::RequestContext;
use openapi_dropshot_runtime::{Decimal, ErrorAnswer, Operation, Rejection, Unchecked};

use crate::{Answered, Refused, told};

crate::generated!("shapes.rs");

/// Measures nothing, but returns the shape that it was given.
pub enum Ruler {}

impl ShapesApi for Ruler {
    type Context = Answered;
    type Error = Refused;

    fn mistake(
        _: &RequestContext<Answered>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<types::Mistake> {
        let (status, violations) = told(rejection);
        let violations = violations
            .iter()
            .map(|it| format!("{} {}", it.path, it.constraint));
        ErrorAnswer::new(
            status,
            types::Mistake {
                message: violations.collect::<Vec<_>>().join(", "),
            },
        )
    }

    async fn measure_area(
        _: &RequestContext<Answered>,
        request: Unchecked<MeasureAreaRequest>,
    ) -> Result<MeasureAreaAnswer, Rejection<Refused>> {
        let shape = request.check().await?.body;
        let measured = types::Measured {
            shape,
            others: None,
            area: Decimal::from(0),
        };
        Ok(MeasureAreaAnswer::new(measured))
    }
}
