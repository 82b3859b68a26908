//! Defines a correct answer: the recorded bytes if a contender repeats those, otherwise the
//! contents of the [data set](crate::dataset), compared as JSON values.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Operation, SAMPLE, Script};
use crate::dataset::{self, CHANGED};
use crate::wire::Response;

#[derive(Deserialize)]
struct Tokens<'a> {
    refresh_token: &'a str,
}

impl Script<'_> {
    pub(super) fn compare(&self, answer: Response<'_>) -> Result<(), String> {
        if answer.status != self.operation.status() {
            return Err(format!("status {} was expected", self.operation.status()));
        }
        if self.operation == Operation::Refresh {
            let tokens: Tokens<'_> =
                serde_json::from_slice(answer.body).map_err(|error| error.to_string())?;
            tokens
                .refresh_token
                .clone_into(&mut self.tokens.borrow_mut()[self.device]);
        }
        if self.asked % SAMPLE != 1 {
            return Ok(());
        }
        match self.recorded {
            Some(recorded) if recorded.body.as_bytes() == answer.body => Ok(()),
            Some(_) => Err("not what was recorded".to_owned()),
            None => self.compare_value(answer.body),
        }
    }

    fn compare_value(&self, body: &[u8]) -> Result<(), String> {
        let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let data = &body["data"];
        match self.operation {
            Operation::Get | Operation::Mixed => check_product(data, Some(self.id)),
            Operation::List20 => check_page(data, 20),
            Operation::List100 => check_page(data, 100),
            Operation::Links => match data["data"] == self.dataset.mobile.published(self.id) {
                true => Ok(()),
                false => Err("other links".to_owned()),
            },
            Operation::Create => check_members(data, &self.body()),
            Operation::Patch if data["id"] != self.id.to_string() => {
                Err("another product than asked for".to_owned())
            }
            Operation::Patch => check_members(data, &self.body()),
            Operation::Refresh => match body["user_id"] == self.dataset.mobile.user.to_string() {
                true => Ok(()),
                false => Err("another user".to_owned()),
            },
        }
    }
}

/// Whether two members are equal as JSON, where `19` and `19.0` are the same number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

/// Checks that each expected member is present. There may be more: a field that the document has
/// gained since changes nothing about the measurement.
pub fn check_members(found: &Value, expected: &Value) -> Result<(), String> {
    let mut members = expected.as_object().into_iter().flatten();
    match members.find(|(name, value)| !same(&found[name], value)) {
        Some((name, value)) => Err(format!("{name} is {}, not {value}", found[name])),
        None => Ok(()),
    }
}

/// Checks that a page is full, and that each product is correct.
pub fn check_page(page: &Value, limit: usize) -> Result<(), String> {
    let products = page["data"].as_array().map_or(&[][..], Vec::as_slice);
    if products.len() != limit {
        return Err(format!("{} products instead of {limit}", products.len()));
    }
    products
        .iter()
        .try_for_each(|product| check_product(product, None))
}

/// Checks that a product is as it was made, and has the requested id.
pub fn check_product(found: &Value, asked: Option<Uuid>) -> Result<(), String> {
    let id: Uuid = found["id"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .ok_or_else(|| "no product with an id".to_owned())?;
    if asked.is_some_and(|asked| asked != id) {
        return Err("another product than asked for".to_owned());
    }
    match dataset::number(id) {
        Some(number) if number % CHANGED != 0 => check_members(found, &dataset::published(number))
            .map_err(|error| format!("product {number}: {error}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dataset::{id, published};

    #[test]
    fn a_product_of_the_data_set_is_right() {
        assert_eq!(check_product(&published(1), Some(id(1))), Ok(()));
    }

    #[test]
    fn a_product_with_another_price_is_wrong() {
        let mut product = published(1);
        product["unitPrice"] = json!(1);
        assert!(check_product(&product, Some(id(1))).is_err());
    }

    #[test]
    fn a_member_that_the_data_set_does_not_know_is_right() {
        let mut product = published(1);
        product["countryOfOrigin"] = json!(null);
        assert_eq!(check_product(&product, Some(id(1))), Ok(()));
    }

    #[test]
    fn a_product_without_a_member_is_wrong() {
        let mut product = published(1);
        product.as_object_mut().unwrap().remove("sku");
        assert!(check_product(&product, Some(id(1))).is_err());
    }

    #[test]
    fn numbers_that_are_written_otherwise_are_right() {
        let sent = json!({ "unitPrice": 120.5, "taxRate": 19 });
        let found = json!({ "taxRate": 19.0, "unitPrice": 120.50 });
        assert_eq!(check_members(&found, &sent), Ok(()));
        assert!(check_members(&json!({ "unitPrice": 120.5, "taxRate": 7 }), &sent).is_err());
    }

    #[test]
    fn another_product_than_asked_for_is_wrong() {
        assert!(check_product(&published(1), Some(id(2))).is_err());
    }

    #[test]
    fn a_page_that_is_too_short_is_wrong() {
        let page = json!({ "data": [published(1), published(2)] });
        assert_eq!(check_page(&page, 2), Ok(()));
        assert!(check_page(&page, 3).is_err());
    }

    #[test]
    fn a_field_that_is_not_what_was_sent_is_wrong() {
        let sent = json!({ "name": "Sent" });
        assert_eq!(
            check_members(&json!({ "id": 1, "name": "Sent" }), &sent),
            Ok(())
        );
        assert!(check_members(&json!({ "id": 1 }), &sent).is_err());
    }
}
