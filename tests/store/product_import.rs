//! Imports: planned, and carried out as planned or not at all.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use openapi_dropshot_runtime::Field;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::Person;
use invoicing::domain::author::Caller;
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::member::Role;
use invoicing::domain::product::{NewProduct, Product, ProductChanges, StatusFilter};
use invoicing::domain::csv_file::Writer;
use invoicing::domain::product_csv::{Lines, cells, names};
use invoicing::domain::product_import::{Counts, ImportPlan, Planned, Seen};

use super::signed_in::join;
use super::support::{Service, plain, with_sku};

const HEADER: &str = "id,name,unitPrice,currency,description,sku,taxRate,type,unitOfMeasure,status\n";

pub async fn plan(app: &App, catalog: Catalog, csv: &str) -> ImportPlan {
    let lines = Lines::read(csv.as_bytes()).unwrap();
    let mut seen = Seen::default();
    app.plan_import(catalog, lines, &mut seen).await.unwrap()
}

/// Plans an import and carries it out.
pub async fn import(app: &App, catalog: Catalog, csv: &str) -> Counts {
    let plan = plan(app, catalog, csv).await;
    app.carry_out_import(&plan).await.unwrap();
    plan.counts()
}

pub async fn all(app: &App, catalog: Catalog) -> Vec<Product> {
    let products = app.export_products(catalog, StatusFilter::All, None, 100_000);
    products.await.unwrap()
}

fn exported(products: &[Product]) -> String {
    let mut csv = Vec::new();
    let mut writer = Writer::new(&mut csv);
    writer.line(names()).unwrap();
    for product in products {
        writer.line(cells(product)).unwrap();
    }
    writer.flush().unwrap();
    drop(writer);
    String::from_utf8(csv).unwrap()
}

/// The reasons why lines are refused, by line number.
fn refused(plan: &ImportPlan) -> Vec<(u64, String)> {
    let reasons = plan.planned.iter().filter_map(|line| match &line.planned {
        Planned::Refused(reasons) => {
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            Some((line.number, reasons.join("; ")))
        }
        _ => None,
    });
    reasons.collect()
}

/// A team's live catalog, and a user who writes to it.
pub async fn catalog(service: &Service) -> (Catalog, Person) {
    let team_id = service.team().await;
    let email = format!("{team_id}@example.com");
    let person = join(&service.app, team_id, &email, Role::Member).await;
    let mode = Mode::Live;
    (Catalog { team_id, mode }, person)
}

/// A file with this many new products.
pub fn large(lines: usize, price: &str) -> String {
    let mut csv = String::from("sku,name,unitPrice,currency,description\n");
    for number in 0..lines {
        writeln!(csv, "S-{number},Product {number},{price},EUR,It is one of many").unwrap();
    }
    csv
}

#[tokio::test]
async fn lines_are_new_changed_unchanged_or_refused() {
    let service = Service::new().await;
    let key = service.writer().await;
    let app = &service.app;
    let mut ids = Vec::new();
    for sku in ["A", "B", "C", "D"] {
        let made = app.create_product(&key, with_sku(sku), None).await.unwrap();
        ids.push(made.value.id);
    }
    app.archive_product(&key, ids[3], None).await.unwrap();
    let csv = format!(
        "id,sku,name,unitPrice,currency\n\
         {},A,Other name,19.90,EUR\n\
         ,B,Has a sku,19.9,EUR\n\
         ,D,New with the sku of an archived one,1,EUR\n\
         ,,Has no sku,1e0,EUR\n\
         {},C,Has a sku,1,5,EUR\n\
         0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47,X,A,1,EUR\n\
         nonsense,X,A,1,EUR\n\
         {},D,Archived,1,EUR\n\
         {},D,Has a sku,19.90,EUR\n\
         ,A,Has a sku,19.90,EUR\n\
         {},B,Has a sku,19.90,EUR\n\
         ,N,,-1,EURO\n\
         ,D,Twice,1,EUR\n",
        ids[0], ids[2], ids[3], ids[3], ids[2],
    );
    let plan = plan(app, key.catalog(), &csv).await;
    let refused = refused(&plan);
    let expected = [
        (6, "must have 5 cells"),
        (7, "id is of no product"),
        (8, "id is no id"),
        (9, "name would change, but the product is archived"),
        (11, "is of the same product as line 2"),
        (12, "sku is that of the active product"),
        (13, "name is required, but missing; unitPrice must be at least 0, but is -1; currency must"),
        (14, "sku is the same as in line 4"),
    ];
    assert_eq!(refused.len(), expected.len(), "{refused:#?}");
    for ((line, reasons), (number, reason)) in refused.iter().zip(expected) {
        assert_eq!(*line, number);
        assert!(reasons.starts_with(reason), "{line}: {reasons}");
    }
    let counts = plan.counts();
    assert_eq!((counts.new, counts.changed, counts.unchanged), (2, 1, 2));

    app.carry_out_import(&plan).await.unwrap();
    let products = all(app, key.catalog()).await;
    assert_eq!(products.len(), 6);
    let first = products.iter().find(|it| it.id == ids[0]).unwrap();
    assert_eq!((&*first.name, first.sku.as_deref()), ("Other name", Some("A")));
    // The last line of a file becomes the newest product.
    assert_eq!(products[0].name, "Has no sku");
}

#[tokio::test]
async fn an_empty_cell_clears_and_a_column_that_is_not_there_keeps() {
    let service = Service::new().await;
    let key = service.writer().await;
    let new = NewProduct {
        description: Some("D".into()),
        tax_rate: Some("7.70".parse().unwrap()),
        product_type: Some("GOODS".into()),
        ..with_sku("A")
    };
    let made = service.app.create_product(&key, new, None).await.unwrap().value;
    let csv = "sku,description,taxRate\nA,,\n";
    let counts = import(&service.app, key.catalog(), csv).await;
    assert_eq!(counts.changed, 1);
    let found = service.app.get_product(&key, made.id).await.unwrap();
    let expected = Product {
        description: None,
        tax_rate: None,
        updated_at: found.updated_at,
        ..made.clone()
    };
    assert_eq!(found, expected);
    assert!(found.updated_at > made.updated_at);
    let plan = plan(&service.app, key.catalog(), "sku,type,name\nA,,\n").await;
    let refused = refused(&plan);
    assert!(refused[0].1.contains("type must be a string, but is null"), "{refused:?}");
    assert!(refused[0].1.contains("name must be a string, but is null"), "{refused:?}");
}

#[tokio::test]
async fn an_export_is_imported_without_any_change_and_into_another_catalog_as_it_was() {
    let service = Service::new().await;
    let key = service.writer().await;
    for name in ["=1+1", "'quoted", "-5", "a \"b\", c\r\nd", "ünïcödé 🦀"] {
        let new = NewProduct {
            description: Some(format!("{name}\r")),
            sku: Some(name.into()),
            tax_rate: Some("7.70".parse().unwrap()),
            ..NewProduct::new(name, "0.1000000000000000055511151231257827".parse().unwrap(), "CHF")
        };
        service.app.create_product(&key, new, None).await.unwrap();
    }
    let archived = service.app.create_product(&key, plain("Old"), None).await.unwrap();
    service.app.archive_product(&key, archived.value.id, None).await.unwrap();
    let before = all(&service.app, key.catalog()).await;
    let csv = exported(&before);
    let counts = import(&service.app, key.catalog(), &csv).await;
    assert_eq!((counts.unchanged, before.len()), (6, 6));
    assert_eq!(all(&service.app, key.catalog()).await, before);

    let active: Vec<Product> = before.into_iter().filter(|it| it.name != "Old").collect();
    let (elsewhere, _) = catalog(&service).await;
    let mut csv = exported(&active);
    for product in &active {
        csv = csv.replace(&product.id.to_string(), "");
    }
    assert_eq!(import(&service.app, elsewhere, &csv).await.new, 5);
    let mut there = all(&service.app, elsewhere).await;
    there.reverse();
    for (one, other) in there.iter().zip(&active) {
        let same = Product {
            id: other.id,
            created_at: other.created_at,
            updated_at: other.updated_at,
            ..one.clone()
        };
        assert_eq!(&same, other);
        assert_eq!(one.unit_price.as_str(), other.unit_price.as_str());
    }
}

#[tokio::test]
async fn a_plan_is_refused_whatever_has_changed_of_what_it_rests_on_and_nothing_is_done() {
    let service = Service::new().await;
    let key = service.writer().await;
    let app = &service.app;
    let catalog = key.catalog();
    type Change = (&'static str, usize);
    const CHANGES: [Change; 4] = [("changed", 0), ("unchanged", 1), ("archived", 1), ("taken", 2)];
    for (number, (what, at)) in CHANGES.into_iter().enumerate() {
        let sku = |name: &str| format!("{name}{number}");
        let mut ids = Vec::new();
        for name in ["C", "U"] {
            let made = app.create_product(&key, with_sku(&sku(name)), None).await;
            ids.push(made.unwrap().value.id);
        }
        let csv = format!(
            "sku,name,unitPrice,currency\n{},Other,1,EUR\n{},Has a sku,19.90,EUR\n{},New,1,EUR\n{},More,1,EUR\n",
            sku("C"),
            sku("U"),
            sku("N"),
            sku("M")
        );
        let plan = plan(app, catalog, &csv).await;
        let counts = plan.counts();
        assert_eq!((counts.new, counts.changed, counts.unchanged), (2, 1, 1));
        match what {
            "archived" => app.archive_product(&key, ids[at], None).await.unwrap(),
            "taken" => {
                let taken = app.create_product(&key, with_sku(&sku("N")), None);
                taken.await.map(drop).unwrap();
            }
            _ => {
                let changes = ProductChanges {
                    description: Field::Value("moved".into()),
                    ..ProductChanges::default()
                };
                let update = app.update_product(&key, ids[at], changes, None);
                update.await.map(drop).unwrap();
            }
        }
        let before = all(app, catalog).await;
        let done = app.carry_out_import(&plan).await;
        assert!(matches!(done, Err(Error::CatalogChanged)), "{what}: {done:?}");
        assert_eq!(all(app, catalog).await, before, "{what}");
    }
}

#[tokio::test]
async fn a_plan_holds_whatever_happens_to_other_products_teams_and_modes() {
    let service = Service::new().await;
    let key = service.writer().await;
    let test = service.key(key.team_id, Mode::Test, Scope::ReadWrite).await;
    let stranger = service.writer().await;
    let app = &service.app;
    let csv = large(3, "1");
    for other in [&test, &stranger] {
        let made = app.create_product(other, with_sku("S-0"), None).await;
        made.unwrap();
    }
    let plan = plan(app, key.catalog(), &csv).await;
    let made = app.create_product(&key, with_sku("S-4"), None).await;
    made.unwrap();
    let elsewhere = [all(app, test.catalog()).await, all(app, stranger.catalog()).await];
    app.carry_out_import(&plan).await.unwrap();
    assert_eq!(all(app, key.catalog()).await.len(), 4);
    let after = [all(app, test.catalog()).await, all(app, stranger.catalog()).await];
    assert_eq!(after, elsewhere);
    // An id of another catalog does not match a product of this one.
    let csv = format!("{HEADER}{},A,1,EUR,,,,,,\n", elsewhere[1][0].id);
    let plan = self::plan(app, key.catalog(), &csv).await;
    assert!(refused(&plan)[0].1.starts_with("id is of no product"));
}

/// W18: if the products have grown since the plan was shown, the transaction that finds out does not read all of them.
#[tokio::test]
async fn an_import_about_more_text_than_one_may_change_changes_nothing() {
    let service = Service::new().await;
    let (catalog, _) = catalog(&service).await;
    let description = "\u{1d11e}".repeat(2_000);
    let (mut long, mut renamed) = (
        String::from("sku,name,unitPrice,currency,description\n"),
        String::from("sku,name\n"),
    );
    for number in 0..2_200 {
        writeln!(long, "S-{number},Product,1,EUR,{description}").unwrap();
        writeln!(renamed, "S-{number},Renamed").unwrap();
    }
    let lines: Vec<_> = long.lines().collect();
    for part in lines[1..].chunks(500) {
        let file = format!("{}\n{}\n", lines[0], part.join("\n"));
        import(&service.app, catalog, &file).await;
    }
    let plan = plan(&service.app, catalog, &renamed).await;
    assert!(plan.text_bytes > 16 * 1024 * 1024, "{}", plan.text_bytes);
    let refused = service.app.carry_out_import(&plan).await;
    assert!(matches!(refused, Err(Error::CatalogChanged)), "{refused:?}");
    let all = all(&service.app, catalog).await;
    assert!(all.iter().all(|it| it.name == "Product"));
}

#[tokio::test]
async fn of_two_imports_at_once_one_is_carried_out_and_the_other_is_refused() {
    let service = Service::new().await;
    let (catalog, _) = catalog(&service).await;
    let another = service.another().await;
    for round in 0..5 {
        let csv = large(700, &round.to_string());
        let backwards: Vec<&str> = csv.lines().skip(1).collect();
        let backwards: Vec<&str> = backwards.into_iter().rev().collect();
        let head = csv.lines().next().unwrap();
        let backwards = format!("{head}\n{}\n", backwards.join("\n"));
        let plans = [
            plan(&service.app, catalog, &csv).await,
            plan(&another, catalog, &backwards).await,
        ];
        let (one, other) = tokio::join!(
            service.app.carry_out_import(&plans[0]),
            another.carry_out_import(&plans[1])
        );
        let failed = match (one, other) {
            (Ok(_), Err(failed)) | (Err(failed), Ok(_)) => failed,
            both => panic!("{both:?}"),
        };
        assert!(matches!(failed, Error::CatalogChanged), "{failed:?}");
        assert_eq!(all(&service.app, catalog).await.len(), 700);
    }
}

/// Imports ten thousand lines while another team creates products. Returns how long the import and the longest create
/// took.
async fn beside_a_create(service: &Service, catalog: Catalog, csv: &str) -> [Duration; 3] {
    let key = service.writer().await;
    let begun = Instant::now();
    let plan = plan(&service.app, catalog, csv).await;
    let planning = begun.elapsed();
    let app = Arc::clone(&service.app);
    let import = tokio::spawn(async move {
        let begun = Instant::now();
        app.carry_out_import(&plan).await.unwrap();
        begun.elapsed()
    });
    let mut longest = Duration::ZERO;
    while !import.is_finished() {
        let begun = Instant::now();
        service.app.create_product(&key, plain("A"), None).await.unwrap();
        longest = longest.max(begun.elapsed());
    }
    [planning, import.await.unwrap(), longest]
}

/// Without optimization, and beside other tests, it takes many times as long: there, it only shows that nothing blocks
/// forever. CI uses a release build (`what_ten_thousand_lines_take`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_lines_are_one_transaction_beside_which_others_write() {
    let service = Service::new().await;
    let (catalog, _) = catalog(&service).await;
    for price in ["1", "2"] {
        let csv = large(10_000, price);
        let [_, _, longest] = beside_a_create(&service, catalog, &csv).await;
        let limit = if cfg!(debug_assertions) { 4 } else { 1 };
        assert!(longest < Duration::from_secs(limit), "{longest:?}");
        assert_eq!(all(&service.app, catalog).await.len(), 10_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures: cargo test --release --test store ten_thousand_lines_take -- --ignored --nocapture --test-threads 1"]
async fn what_ten_thousand_lines_take() {
    let service = Service::new().await;
    let (catalog, _) = catalog(&service).await;
    println!("            plan   import   longest create of another team");
    for (what, price) in [("new", "1"), ("changed", "2"), ("unchanged", "2"), ("changed", "3")] {
        let csv = large(10_000, price);
        let took = beside_a_create(&service, catalog, &csv).await;
        let [plan, import, longest] = took.map(|took| took.as_millis());
        println!("{what:<10} {plan:>4} ms  {import:>4} ms  {longest:>4} ms");
        assert!(longest < 1_000, "{longest} ms");
    }
}
