//! What a right answer is: the recorded bytes where a contender repeats those, otherwise what the
//! [data set](crate::dataset) says, compared as JSON values.

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
            Operation::Create => check_sent(data, &self.body()),
            Operation::Patch if data["id"] != self.id.to_string() => {
                Err("another product than asked for".to_owned())
            }
            Operation::Patch => check_sent(data, &self.body()),
            Operation::Refresh => match body["user_id"] == self.dataset.mobile.user.to_string() {
                true => Ok(()),
                false => Err("another user".to_owned()),
            },
        }
    }
}

/// Whether two values are the same in JSON, where `19` and `19.0` are the same number, and members have no order.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}

/// What was sent is there.
pub fn check_sent(found: &Value, sent: &Value) -> Result<(), String> {
    let mut members = sent.as_object().into_iter().flatten();
    match members.find(|(name, value)| !same(&found[name], value)) {
        Some((name, _)) => Err(format!("{name} is not what was sent")),
        None => Ok(()),
    }
}

/// A page has as many products as it may, and each is right.
pub fn check_page(page: &Value, limit: usize) -> Result<(), String> {
    let products = page["data"].as_array().map_or(&[][..], Vec::as_slice);
    if products.len() != limit {
        return Err(format!("{} products instead of {limit}", products.len()));
    }
    products
        .iter()
        .try_for_each(|product| check_product(product, None))
}

/// A product of the data set is what it was made as, and has the id that was asked for.
pub fn check_product(found: &Value, asked: Option<Uuid>) -> Result<(), String> {
    let id: Uuid = found["id"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .ok_or_else(|| "no product with an id".to_owned())?;
    if asked.is_some_and(|asked| asked != id) {
        return Err("another product than asked for".to_owned());
    }
    match dataset::number(id) {
        Some(number) if number % CHANGED != 0 && !same(found, &dataset::published(number)) => {
            Err(format!("product {number} differs"))
        }
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
    fn members_in_another_order_and_numbers_written_otherwise_are_right() {
        let one = json!({ "unitPrice": 120.5, "taxRate": 19 });
        assert!(same(&one, &json!({ "taxRate": 19.0, "unitPrice": 120.50 })));
        assert!(!same(&one, &json!({ "unitPrice": 120.5 })));
        assert!(!same(&one, &json!({ "unitPrice": 120.5, "taxRate": 7 })));
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
            check_sent(&json!({ "id": 1, "name": "Sent" }), &sent),
            Ok(())
        );
        assert!(check_sent(&json!({ "id": 1 }), &sent).is_err());
    }
}
