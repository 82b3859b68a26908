//! Absent, null and value, and texts that have one form, on both sides.

use serde_json::json;

use crate::{absence, client};

#[test]
fn an_optional_property_keeps_all_three_on_both_sides() {
    let texts = [
        "{}",
        r#"{"color":null,"place":null,"weight":null,"links":null}"#,
        r#"{"text":"t","color":"dark-blue","place":{"city":"c"},"weight":0.10,"labels":[],"links":[null,"l"]}"#,
    ];
    for text in texts {
        let server: absence::types::NoteChange = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&server).unwrap(), text);
        let client: client::absence::types::NoteChange = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&client).unwrap(), text);
    }
}

#[test]
fn a_required_property_may_be_null_and_not_absent() {
    let whole = json!({"text": "t", "color": null, "place": null, "weight": null, "labels": [],
        "links": null, "changedAt": null});
    let note: absence::types::Note = serde_json::from_value(whole.clone()).unwrap();
    assert_eq!(serde_json::to_value(&note).unwrap(), whole);
    for member in whole.as_object().unwrap().keys() {
        let mut part = whole.clone();
        part.as_object_mut().unwrap().remove(member);
        let read = serde_json::from_value::<absence::types::Note>(part);
        assert!(read.unwrap_err().to_string().contains(member), "{member}");
    }
}

#[test]
fn builders_know_all_three() {
    use client::{Field, absence::types::NoteChange};
    let made: NoteChange = NoteChange::builder()
        .weight(Field::Null)
        .try_into()
        .unwrap();
    assert_eq!(made.weight, Field::Null);
    assert_eq!(made.color, Field::Absent);
    assert_eq!(made.labels, None);
}

#[test]
fn times_have_three_digits_at_least() {
    use absence::types::Moment;
    for (text, shown) in [
        ("2026-11-20T21:49:00Z", "2026-11-20T21:49:00.000Z"),
        ("2026-11-20T22:49:00.5+01:00", "2026-11-20T21:49:00.500Z"),
        ("2026-11-20T21:49:00.000001Z", "2026-11-20T21:49:00.000001Z"),
    ] {
        assert_eq!(text.parse::<Moment>().unwrap().to_string(), shown);
    }
    assert!("yesterday".parse::<Moment>().is_err());
}

#[test]
fn a_time_whose_year_in_utc_has_no_four_digits_is_none() {
    use absence::types::Moment as Server;
    use client::absence::types::Moment as Client;
    for (text, is_one) in [
        ("0000-01-01T00:00:00+01:00", false),
        ("0000-01-01T00:00:00-01:00", true),
        ("9999-12-31T23:59:59-01:00", false),
        ("9999-12-31T23:59:59+01:00", true),
        ("2026-11-20 21:49:00Z", false),
    ] {
        assert_eq!(text.parse::<Server>().is_ok(), is_one, "{text}");
        assert_eq!(text.parse::<Client>().is_ok(), is_one, "{text}");
    }
    let late = chrono::DateTime::<chrono::Utc>::MAX_UTC;
    let error = serde_json::to_string(&Client(late)).unwrap_err();
    assert!(
        error.to_string().ends_with("has no text of RFC 3339"),
        "{error}"
    );
    assert!(serde_json::to_string(&Server(late)).is_err());
}

#[test]
fn a_uuid_has_one_form() {
    use absence::types::NoteId;
    let text = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    assert_eq!(text.parse::<NoteId>().unwrap().to_string(), text);
    assert_eq!(
        text.replace('-', "")
            .parse::<NoteId>()
            .unwrap_err()
            .to_string(),
        "\"67e5504410b1426f9247bb680e5fe0c8\" is not a UUID"
    );
}
