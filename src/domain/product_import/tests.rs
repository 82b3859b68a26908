use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::domain::csv_file::Writer;
use crate::domain::id::ProductId;
use crate::domain::product::{NewProduct, ProductChanges, ProductStatus};
use crate::domain::product_csv::{Cells, Column, Lines};
use crate::domain::product_csv::{cells, names};
use crate::domain::time::Timestamp;
use crate::generated::catalog::schemas;

const SCHEMAS: Schemas = Schemas {
    create: &schemas::CreateProduct,
    update: &schemas::UpdateProduct,
};

#[test]
fn a_form_changes_what_its_cells_say_otherwise_and_else_nothing() {
    let new = NewProduct::new("A", "1".parse().unwrap(), "EUR");
    let product = new.into_product(ProductId(Uuid::nil()), Timestamp::from_millis(0));
    let changes = |name: &str| {
        let cells = Cells::typed([Column::Name], [name.to_owned()]);
        product_changes(&product, &cells, SCHEMAS.update)
    };
    assert_eq!(changes("A"), Ok(None));
    let renamed = ProductChanges {
        name: Some("B".into()),
        ..ProductChanges::default()
    };
    assert_eq!(changes("B"), Ok(Some(renamed)));
    assert!(changes("").is_err());
}

/// Texts as people and attackers write them, above all with characters that mean something to spreadsheets and CSV.
fn text(most: usize) -> impl Strategy<Value = String> {
    let telling = prop_oneof![
        prop::sample::select("=+-@'\t\r\n\",;\u{feff} \\".chars().collect::<Vec<_>>()),
        any::<char>().prop_filter("the schema refuses NUL", |it| *it != '\0'),
    ];
    vec(telling, 1..most).prop_map(|chars| chars.into_iter().collect())
}

/// Decimals as they may be written: plain, with zeros, and with a power of ten.
fn decimal() -> impl Strategy<Value = openapi_dropshot_runtime::Decimal> {
    let literal = prop_oneof![
        "[1-9]?[0-9]",
        "[0-9]\\.[0-9]{1,30}",
        "[0-9]e-[1-9][0-9]?",
        "-0"
    ];
    literal.prop_map(|literal| literal.parse().unwrap())
}

/// Any product that the interface can have made.
fn product() -> impl Strategy<Value = Product> {
    let new = (
        (text(255), decimal()),
        (
            option::of(text(300)),
            option::of(text(100)),
            option::of(decimal()),
        ),
        option::of(Just("GOODS".to_owned())),
        option::of(Just("hr".to_owned())),
        (any::<u128>(), any::<bool>()),
    );
    new.prop_map(
        |((name, price), (description, sku, tax_rate), product_type, unit, (id, active))| {
            let new = NewProduct {
                description,
                sku,
                tax_rate,
                product_type,
                unit_of_measure: unit,
                ..NewProduct::new(name, price, "EUR")
            };
            let product =
                new.into_product(ProductId(Uuid::from_u128(id)), Timestamp::from_millis(1));
            match active {
                true => product,
                false => product.archive(Timestamp::from_millis(2)).unwrap(),
            }
        },
    )
}

fn exported(product: &Product) -> String {
    let mut csv = Vec::new();
    let mut writer = Writer::new(&mut csv);
    writer.line(names()).unwrap();
    writer.line(cells(product)).unwrap();
    writer.flush().unwrap();
    drop(writer);
    String::from_utf8(csv).unwrap()
}

fn planned(csv: &str, found: Vec<Product>) -> Vec<Planned> {
    let lines = Lines::read(csv.as_bytes()).unwrap();
    let mut seen = Seen::default();
    let mut planner = Planner::new(SCHEMAS, &mut seen);
    planner.plan(&lines, found);
    let (planned, _) = planner.finish();
    planned.into_iter().map(|line| line.planned).collect()
}

proptest! {
    #[test]
    fn what_was_exported_is_imported_without_any_change(product in product()) {
        let csv = exported(&product);
        let id = product.id;
        prop_assert_eq!(planned(&csv, vec![product]), [Planned::Unchanged(id)]);
    }

    #[test]
    fn what_was_exported_is_imported_elsewhere_as_the_same(mut product in product()) {
        product.status = ProductStatus::Active;
        let csv = exported(&product).replacen(&product.id.to_string(), "", 1);
        let planned = planned(&csv, Vec::new());
        let Planned::New(new) = &planned[0] else {
            panic!("{planned:?}");
        };
        let new = NewProduct::clone(new);
        prop_assert_eq!(new.unit_price.as_str(), product.unit_price.as_str());
        prop_assert_eq!(new.into_product(product.id, product.created_at), Product {
            updated_at: product.created_at,
            ..product
        });
    }

    #[test]
    fn no_file_makes_the_reader_panic(bytes in vec(any::<u8>(), 0..400)) {
        let _ = Lines::read(&bytes);
        let _ = Lines::read(&[b"name,sku\n", &bytes[..]].concat());
    }
}

fn with_sku(id: u128, sku: &str) -> Product {
    let new = NewProduct {
        sku: Some(sku.into()),
        ..NewProduct::new("A", 1.into(), "EUR")
    };
    new.into_product(ProductId(Uuid::from_u128(id)), Timestamp::from_millis(1))
}

#[test]
fn what_a_plan_rests_on_moves_with_the_products_that_were_found_and_with_nothing_else() {
    let rests_on = |csv: &str, found: &[Product]| {
        let mut seen = Seen::default();
        let mut planner = Planner::new(SCHEMAS, &mut seen);
        planner.plan(&Lines::read(csv.as_bytes()).unwrap(), found.to_vec());
        planner.finish().1
    };
    let csv = "sku,name\nS,A\n";
    let found = with_sku(1, "S");
    let changed = found
        .clone()
        .update(ProductChanges::default(), found.updated_at);
    let before = rests_on(csv, std::slice::from_ref(&found));
    assert_eq!(before, rests_on("sku,name\nS,B\n", &[found]));
    assert_ne!(before, rests_on(csv, &[changed]));
    assert_ne!(before, rests_on(csv, &[with_sku(2, "S")]));
    assert_ne!(before, rests_on(csv, &[]));
}

#[test]
fn a_status_is_compared_and_never_changed() {
    let found = || vec![with_sku(1, "S")];
    for (status, refused) in [
        ("", false),
        ("active", false),
        ("archived", true),
        ("old", true),
    ] {
        for sku in ["S", "new"] {
            let csv = format!("sku,name,unitPrice,currency,status\n{sku},A,1,EUR,{status}\n");
            let planned = planned(&csv, found());
            let is_refused = matches!(planned[0], Planned::Refused(_));
            assert_eq!(is_refused, refused, "{sku} {status}");
        }
    }
}

#[test]
fn a_line_that_was_refused_takes_no_sku_from_a_later_one() {
    let csv = "sku,name,unitPrice,currency\nS,,1,EUR\nS,A,1,EUR\n";
    let planned = planned(csv, Vec::new());
    assert!(matches!(planned[0], Planned::Refused(_)));
    assert!(matches!(planned[1], Planned::New(_)));
}

#[test]
fn a_number_that_is_none_or_too_long_is_refused_and_never_rounded() {
    for (price, why) in [
        ("12,50", "must be a number, such as 19.90"),
        ("1 000", "must be a number"),
        ("0x10", "must be a number"),
        (&"1".repeat(41), "must be a number of reasonable size"),
        ("1e13", "must be at most"),
    ] {
        let csv = format!("name,unitPrice,currency\nA,\"{price}\",EUR\n");
        let planned = planned(&csv, Vec::new());
        let Planned::Refused(reasons) = &planned[0] else {
            panic!("{price}: {planned:?}");
        };
        assert_eq!(reasons[0].column, Some(Column::UnitPrice));
        assert!(reasons[0].text.starts_with(why), "{reasons:?}");
    }
}
