//! The hot paths, each walked again and again in one process.
//!
//! Whole requests are those that a client pays for: through the server as shipped, with its request log, over a
//! loopback connection. Server and client share one thread, and their order is always the same; the thread that
//! commits and the one that writes the log are counted with them. So is the client, whose small work never varies.
//! Parts of requests are also counted alone if their growth would drown in the whole.
//!
//! The data is the same in each run: products are functions of their numbers, and the service's clock stands still.
//! Ids and keys are random, with the same number of bytes.

use std::hint::black_box;
use std::sync::Arc;

use invoicing::app::App;
use invoicing::domain::api_key::{ApiKey, Scope};
use invoicing::domain::audit::Actor;
use invoicing::domain::author::Caller;
use invoicing::domain::catalog::Mode;
use invoicing::domain::cursor::Cursors;
use invoicing::domain::id::ProductId;
use invoicing::domain::product::StatusFilter;
use invoicing::domain::time::{ManualClock, Timestamp};
use invoicing::generated::catalog::{CreateProductRequest, types};
use invoicing::http::{self, Context};
use invoicing::log;
use invoicing::server::Server;
use invoicing::settings::{LogFormat, Settings};
use invoicing::sqlite::Sqlite;
use openapi_dropshot_runtime::{Request, json, schema};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::BoxError;

/// A hot path.
#[derive(Clone, Copy, Debug)]
pub enum HotPath {
    /// Looking up the key of a request.
    KeyCheck,
    /// A product by its id: a whole request.
    Get,
    /// The first page of 20: a whole request.
    PageOf20,
    /// A new product under a new idempotency key: a whole request, with its commit.
    Create,
    /// Reading and checking the body of a create.
    BodyValidation,
    /// Writing a cursor and reading it again.
    Cursor,
}

impl HotPath {
    /// All paths, in the order in which they are walked.
    pub const ALL: [HotPath; 6] = [
        HotPath::KeyCheck,
        HotPath::Get,
        HotPath::PageOf20,
        HotPath::Create,
        HotPath::BodyValidation,
        HotPath::Cursor,
    ];

    /// The name in the figures.
    pub fn name(self) -> &'static str {
        match self {
            HotPath::KeyCheck => "key-check",
            HotPath::Get => "get",
            HotPath::PageOf20 => "page-of-20",
            HotPath::Create => "create",
            HotPath::BodyValidation => "body-validation",
            HotPath::Cursor => "cursor",
        }
    }
}

/// How often a path is walked before it is counted.
const WARM_UP: u64 = 20;

/// Products in the catalog.
const PRODUCTS: u64 = 1_000;

/// More than the longest answer.
const ANSWER: usize = 64 * 1024;

/// Makes callgrind write its counts to a file.
#[inline(never)]
pub fn write_counts_down() {
    black_box(());
}

/// Walks all paths, `rounds` times each.
///
/// # Errors
/// When a path does not return the expected result.
#[tokio::main(flavor = "current_thread")]
pub async fn walk(rounds: u64) -> Result<(), BoxError> {
    let mut paths = Paths::prepare().await?;
    for path in HotPath::ALL {
        paths.walk(path, WARM_UP).await?;
        write_counts_down();
        paths.walk(path, rounds).await?;
        write_counts_down();
    }
    Ok(())
}

/// A server with products, and a connection to it.
struct Paths {
    app: Arc<App>,
    key: ApiKey,
    secret: String,
    product: ProductId,
    created: u64,
    cursors: Cursors,
    connection: TcpStream,
    answer: Vec<u8>,
    _files: tempfile::TempDir,
    _log: log::Guard,
}

impl Paths {
    async fn prepare() -> Result<Self, BoxError> {
        let files = tempfile::tempdir()?;
        let store = Arc::new(Sqlite::open(files.path().join("invoicing.db"))?.into());
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_795_211_340_123)));
        let settings = Settings {
            listen: ([127, 0, 0, 1], 0).into(),
            rate_limit_per_second: 1_000_000,
            rate_limit_burst: 1_000_000,
            log_format: LogFormat::Json,
            ..Settings::default()
        };
        let app = Arc::new(App::new(store, clock, settings.public_url.to_string()).await?);
        let team = app.create_team("Instructions").await?.id;
        let (key, secret) = app
            .create_api_key(
                &Actor::Operator,
                team,
                Mode::Live,
                Scope::ReadWrite,
                Some("instructions"),
                None,
            )
            .await?;
        let (log, guard) = log::to_standard_error(&settings)?;
        let replica = Arc::default();
        let context = Context::new(Arc::clone(&app), &settings, Arc::clone(&replica), &log).await;
        let http::Api {
            endpoints, methods, ..
        } = http::api()?;
        let server = Server::start(&settings, endpoints, methods, context, replica, None, &log)?;
        let connection = TcpStream::connect(server.address()).await?;
        connection.set_nodelay(true)?;
        tokio::spawn(server.run());
        let mut paths = Self {
            app,
            key,
            secret: secret.reveal().to_owned(),
            product: ProductId(Uuid::nil()),
            created: 0,
            cursors: Cursors::new([7; 32]),
            connection,
            answer: vec![0; ANSWER],
            _files: files,
            _log: guard,
        };
        paths.walk(HotPath::Create, PRODUCTS).await?;
        let newest = paths
            .app
            .list_products(&paths.key, StatusFilter::Active, 1, None)
            .await?;
        paths.product = newest.items[0].id;
        Ok(paths)
    }

    async fn walk(&mut self, path: HotPath, rounds: u64) -> Result<(), BoxError> {
        for _ in 0..rounds {
            self.walk_once(path).await?;
        }
        Ok(())
    }

    async fn walk_once(&mut self, path: HotPath) -> Result<(), BoxError> {
        match path {
            HotPath::KeyCheck => {
                black_box(self.app.authenticate_api_key(&self.secret).await?);
                Ok(())
            }
            HotPath::Get => {
                let line = format!("GET /api/v1/products/{}", self.product);
                self.ask(&line, "", "", "200").await
            }
            HotPath::PageOf20 => {
                self.ask("GET /api/v1/products?limit=20", "", "", "200")
                    .await
            }
            HotPath::Create => {
                self.created += 1;
                let body = body(self.created);
                let headers = format!(
                    "Content-Type: application/json\r\nContent-Length: {}\r\n\
                     Idempotency-Key: instructions-{:08}\r\n",
                    body.len(),
                    self.created
                );
                self.ask("POST /api/v1/products", &headers, &body, "201")
                    .await
            }
            HotPath::BodyValidation => validate(&body(0)),
            HotPath::Cursor => self.turn_page(),
        }
    }

    /// Sends one request and reads its answer, which comes in one piece.
    async fn ask(
        &mut self,
        line: &str,
        headers: &str,
        body: &str,
        status: &str,
    ) -> Result<(), BoxError> {
        let request = format!(
            "{line} HTTP/1.1\r\nHost: example\r\nAuthorization: Bearer {}\r\n{headers}\r\n{body}",
            self.secret
        );
        self.connection.write_all(request.as_bytes()).await?;
        let length = self.connection.read(&mut self.answer).await?;
        let answer = &self.answer[..length];
        let expected = format!("HTTP/1.1 {status} ");
        if !answer.starts_with(expected.as_bytes()) || !answer.ends_with(b"}") {
            return Err(format!("{line}: {}", String::from_utf8_lossy(answer)).into());
        }
        Ok(())
    }

    /// Writes a cursor and reads it again.
    fn turn_page(&self) -> Result<(), BoxError> {
        let (catalog, status) = (self.key.catalog(), StatusFilter::Active);
        let text = self.cursors.write(catalog, status, self.product);
        black_box(self.cursors.read(catalog, status, &text)?);
        Ok(())
    }
}

/// Checks a body as a request does.
fn validate(body: &str) -> Result<(), BoxError> {
    let schema = CreateProductRequest::operation()
        .body
        .and_then(|body| body.schema)
        .ok_or("create_product takes no body")?;
    let value = json::parse(body.as_bytes()).map_err(|violation| format!("{violation:?}"))?;
    let violations = schema::check(schema, &value);
    if !violations.is_empty() {
        return Err(format!("{violations:?}").into());
    }
    black_box(serde_json::from_str::<types::CreateProduct>(body)?);
    Ok(())
}

/// A body with as many members as most products have; `number` makes its sku unique.
fn body(number: u64) -> String {
    serde_json::json!({
        "name": "Consulting",
        "unitPrice": 120.5,
        "currency": "EUR",
        "description": "What an invoice says of this product, in a line or so.",
        "sku": format!("SKU-{number:08}"),
        "taxRate": 19,
        "type": "SERVICES",
        "unitOfMeasure": "hr",
    })
    .to_string()
}
