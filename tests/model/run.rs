//! Runs a plan on a server and on the model, and compares.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;
use test_support::caller::{Answer, Request};
use test_support::deployment::Skip;
use test_support::number::same;
use test_support::service::Service;

use crate::model::{Expected, Model, Success, request};
use crate::plan::{Action, Client, Members, Sent, Step};

/// Fresh teams on a server.
pub struct Stage<'a> {
    service: &'a Service,
    keys: [String; 5],
}

/// How the service's answer differs from the model's.
type Divergence = String;

/// The idempotency key of a request, if it has one, and what identifies the request.
type Kept = Option<(Option<u8>, String)>;

const PRODUCTS: &str = "/api/v1/products";

impl<'a> Stage<'a> {
    pub fn new(service: &'a Service) -> Result<Self, Skip> {
        let team = service.new_team()?;
        let too = service.api_key(&team.id, "live", "read-write")?;
        let other = service.new_team()?;
        let [live, read_only, test, other] =
            [team.live, team.live_read_only, team.test, other.live].map(|key| key.to_string());
        let keys = [live, too, read_only, test, other];
        Ok(Self { service, keys })
    }

    /// Runs a whole plan.
    pub async fn run(&self, plan: &[Step]) -> Result<(), Divergence> {
        let mut model = Model::default();
        let mut moments = BTreeMap::new();
        for (index, step) in plan.iter().enumerate() {
            self.step(&mut model, &mut moments, step)
                .await
                .map_err(|what| format!("step {index}, {step:?}: {what}"))?;
        }
        Ok(())
    }

    async fn step(
        &self,
        model: &mut Model,
        moments: &mut BTreeMap<String, (String, String)>,
        step: &Step,
    ) -> Result<(), Divergence> {
        let client = step.client;
        if let Action::Walk { status, limit } = step.action {
            return self.walk(model, moments, client, status, limit).await;
        }
        let (expected, sent, kept) = self.ask(model, client, &step.action);
        let answer = self.service.caller.send(sent).await;
        check(model, moments, client, &expected, &answer)?;
        let success = matches!(expected, Expected::Created(_) | Expected::Updated(_));
        if let Some((key, request)) = kept.filter(|_| success) {
            model.keep(client, key, request, kept_of(&answer));
        }
        Ok(())
    }

    /// The model's expectation for an action, the request for it, and what an idempotency key
    /// keeps.
    fn ask(&self, model: &mut Model, client: Client, action: &Action) -> (Expected, Request, Kept) {
        // Numbers beyond the products address missing ones, now and then.
        let count = model.products.len() + 1;
        let path = |id: &str| format!("{PRODUCTS}/{id}");
        match action {
            Action::Create { body, sent } => {
                let request = request("POST", "", body);
                let expected = model.create(client, body, sent.key);
                let create = self.with_body("POST", PRODUCTS, client, body, sent);
                (expected, create, Some((sent.key, request)))
            }
            Action::Update {
                product,
                body,
                sent,
            } => {
                let id = model.id(product % count);
                let request = request("PATCH", &id, body);
                let expected = model.update(client, product % count, body, sent.key);
                let update = self.with_body("PATCH", &path(&id), client, body, sent);
                (expected, update, Some((sent.key, request)))
            }
            Action::Archive { product } => {
                let archive = self.request("DELETE", &path(&model.id(product % count)), client);
                (model.archive(client, product % count), archive, None)
            }
            Action::Read { product } => {
                let read = self.request("GET", &path(&model.id(product % count)), client);
                (model.read(client, product % count), read, None)
            }
            Action::Walk { .. } => unreachable!("a walk is more than one request"),
        }
    }

    /// Walks through all pages of a list.
    async fn walk(
        &self,
        model: &Model,
        moments: &mut BTreeMap<String, (String, String)>,
        client: Client,
        status: Option<&str>,
        limit: usize,
    ) -> Result<(), Divergence> {
        let expected = model.list(client, status.unwrap_or("active"));
        let filter = status.map_or(String::new(), |status| format!("&status={status}"));
        let mut target = format!("{PRODUCTS}?limit={limit}{filter}");
        for (index, page) in pages(&expected, limit).iter().enumerate() {
            let answer = self
                .service
                .caller
                .send(self.request("GET", &target, client))
                .await;
            let shown: Page = parse(&answer)?;
            if shown.data.data.len() != page.len() {
                return Err(format!("page {index} of {page:?}: {}", answer.text()));
            }
            for (number, product) in page.iter().zip(&shown.data.data) {
                compare(model, moments, *number, product)?;
            }
            let last = (index + 1) * limit >= expected.len();
            if shown.data.has_more == last || shown.data.next_cursor.is_none() != last {
                return Err(format!(
                    "page {index} is the last: {last}, but {}",
                    answer.text()
                ));
            }
            let cursor = shown.data.next_cursor.unwrap_or_default();
            target = format!("{PRODUCTS}?limit={limit}{filter}&after={cursor}");
        }
        Ok(())
    }

    fn request(&self, method: &str, target: &str, client: Client) -> Request {
        Request::new(method, target).bearer(&self.keys[client as usize])
    }

    fn with_body(
        &self,
        method: &str,
        target: &str,
        client: Client,
        body: &Members,
        sent: &Sent,
    ) -> Request {
        let mut members: Vec<_> = body
            .iter()
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        let space = if sent.reversed { "\n  " } else { "" };
        if sent.reversed {
            members.reverse();
        }
        let text = format!("{{{space}{}}}", members.join(&format!(",{space}")));
        let request = self.request(method, target, client).text(text);
        match sent.key {
            Some(key) => request.header("idempotency-key", format!("key-{key}")),
            None => request,
        }
    }
}

/// The numbers of each page; an empty list has one page.
fn pages(numbers: &[usize], limit: usize) -> Vec<&[usize]> {
    match numbers {
        [] => vec![numbers],
        _ => numbers.chunks(limit).collect(),
    }
}

fn kept_of(answer: &Answer) -> Success {
    Success {
        status: answer.status(),
        text: answer.text(),
        location: answer.header("location").map(str::to_owned),
    }
}

/// Compares an answer with the expected one, and lets the model learn the service's decisions.
fn check(
    model: &mut Model,
    moments: &mut BTreeMap<String, (String, String)>,
    client: Client,
    expected: &Expected,
    answer: &Answer,
) -> Result<(), Divergence> {
    let wrong = || {
        Err(format!(
            "expected {expected:?}, got {} {}",
            answer.status(),
            answer.text()
        ))
    };
    let replayed = answer.header("idempotency-replayed").is_some();
    match expected {
        Expected::Error(status, code)
            if (answer.status(), answer.code()) == (*status, (*code).to_owned()) =>
        {
            Ok(())
        }
        Expected::Archived if answer.status() == 204 => Ok(()),
        Expected::Replayed(success) if replayed && kept_of(answer) == *success => Ok(()),
        Expected::Created(body) if answer.status() == 201 && !replayed => {
            let product: One = parse(answer)?;
            let id: String = parse_member(&product.data, "id")?;
            if answer.header("location") != Some(&format!("{PRODUCTS}/{id}")) {
                return wrong();
            }
            model.add(client.catalog(), id, body);
            compare(model, moments, model.products.len() - 1, &product.data)
        }
        Expected::Updated(number) if answer.status() == 200 && !replayed => {
            let product: One = parse(answer)?;
            let id = model.id(*number);
            let before = moments.remove(&id);
            compare(model, moments, *number, &product.data)?;
            let after = &moments[&id];
            match before {
                Some((created, updated)) if created != after.0 || updated >= after.1 => {
                    Err(format!("updatedAt went from {updated} to {}", after.1))
                }
                _ => Ok(()),
            }
        }
        Expected::Shown(number) if answer.status() == 200 => {
            let product: One = parse(answer)?;
            compare(model, moments, *number, &product.data)
        }
        _ => wrong(),
    }
}

/// A product, member by member as JSON text.
type Shown = BTreeMap<String, Box<RawValue>>;

#[derive(serde::Deserialize)]
struct One {
    data: Shown,
}

#[derive(serde::Deserialize)]
struct Page {
    data: PageData,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageData {
    data: Vec<Shown>,
    has_more: bool,
    next_cursor: Option<String>,
}

fn parse<T: serde::de::DeserializeOwned>(answer: &Answer) -> Result<T, Divergence> {
    serde_json::from_str(&answer.text()).map_err(|error| format!("{error} in {}", answer.text()))
}

fn parse_member(product: &Shown, name: &str) -> Result<String, Divergence> {
    let text = product.get(name).map_or("null", |value| value.get());
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("{name} is {text}"))
}

/// Compares a product with the model's, and its timestamps with those from when it was last seen.
fn compare(
    model: &Model,
    moments: &mut BTreeMap<String, (String, String)>,
    number: usize,
    shown: &Shown,
) -> Result<(), Divergence> {
    let expected = &model.products[number];
    let id = parse_member(shown, "id")?;
    let now = (
        parse_member(shown, "createdAt")?,
        parse_member(shown, "updatedAt")?,
    );
    let members: BTreeMap<_, _> = shown
        .iter()
        .filter(|(name, _)| !["id", "createdAt", "updatedAt"].contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.get().to_owned()))
        .collect();
    let equal = members.len() == expected.members.len()
        && members.iter().all(|(name, value)| {
            expected
                .members
                .get(name)
                .is_some_and(|expected| same(expected, value))
        });
    if id != expected.id || !equal {
        return Err(format!("expected {expected:?}, got {id} {members:?}"));
    }
    let archived = members["status"] == "\"archived\"";
    let before = moments.insert(id, now.clone());
    match before {
        // Archiving moves `updatedAt`, without a body in the answer that would show its new value.
        Some((created, updated))
            if created != now.0 || (updated != now.1 && !archived) || updated > now.1 =>
        {
            Err(format!(
                "created {created} and updated {updated} became {now:?}"
            ))
        }
        None if now.1 < now.0 => Err(format!("updated before it was created: {now:?}")),
        _ => Ok(()),
    }
}
