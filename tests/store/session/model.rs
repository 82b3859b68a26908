//! Random histories of one session, against a model that knows only what
//! docs/decisions.md, "Codes and sessions", says.
//!
//! The model has no digests, no store and no transactions: a list of pairs, and what was presented when.
//! Every answer of the service must be that of the model; a difference is shrunk to a short history.
//!
//! `INVOICING_HISTORIES` sets how many histories; 24 unless set.

use proptest::prelude::*;

use super::*;

const DAY: u64 = 24 * 3600;

/// One event. Pairs are counted from the newest, so that histories often touch the last few.
#[derive(Clone, Debug)]
enum Event {
    /// Time passes, and perhaps the background task runs.
    Pass { seconds: u64, cleanup: bool },
    /// A refresh.
    Refresh {
        back: usize,
        client: &'static str,
        install: Option<&'static str>,
    },
    /// A use of an access token.
    Access { back: usize },
    /// A use of the code that started the session.
    Code,
}

fn event() -> impl Strategy<Value = Event> {
    let seconds = prop_oneof![
        Just(0),
        Just(1),
        Just(29),
        Just(30),
        Just(3599),
        1..40 * DAY
    ];
    let client = prop_oneof![8 => Just("app"), 1 => Just("other"), 1 => Just("nobody")];
    let install = prop_oneof![5 => Just(Some("phone")), 1 => Just(Some("tablet")), 1 => Just(None)];
    // Mostly the newest pair: a history in which every step is a theft ends after two.
    let back = || prop_oneof![8 => Just(0_usize), 4 => Just(1), 1 => 0..6_usize];
    prop_oneof![
        2 => (seconds, any::<bool>()).prop_map(|(seconds, cleanup)| Event::Pass { seconds, cleanup }),
        10 => (back(), client, install)
            .prop_map(|(back, client, install)| Event::Refresh { back, client, install }),
        2 => back().prop_map(|back| Event::Access { back }),
        1 => Just(Event::Code),
    ]
}

/// What the service must answer to a refresh.
#[derive(Debug, PartialEq)]
enum Verdict {
    NewPair {
        expires_in: u64,
    },
    /// The pair with this index, again.
    SamePair {
        index: usize,
        expires_in: u64,
    },
    InvalidGrant,
    InvalidClient,
    Reused,
}

/// The session, as docs/decisions.md, "Codes and sessions", describes it. Times are in seconds since its
/// start.
struct Model {
    now: u64,
    alive: bool,
    expires_at: u64,
    /// When each pair was issued.
    issued: Vec<u64>,
    /// Whether the newest refresh token was ever presented.
    newest_presented: bool,
}

impl Model {
    fn new() -> Model {
        Model {
            now: 0,
            alive: true,
            expires_at: 30 * DAY,
            issued: vec![0],
            newest_presented: false,
        }
    }

    fn is_over(&self) -> bool {
        !self.alive || self.now >= self.expires_at
    }

    fn access_token_works(&self, index: usize) -> bool {
        !self.is_over() && self.now < self.issued[index] + 3600
    }

    fn left(&self, index: usize) -> u64 {
        (self.issued[index] + 3600).min(90 * DAY) - self.now
    }

    fn refresh(&mut self, index: usize, client: &str, install: Option<&str>) -> Verdict {
        let unfit = if client == "nobody" {
            Verdict::InvalidClient
        } else {
            Verdict::InvalidGrant
        };
        let right = client == "app" && install == Some("phone");
        let newest = self.issued.len() - 1;
        if self.is_over() {
            return unfit;
        }
        if index == newest {
            self.newest_presented = true;
            if !right {
                return unfit;
            }
            self.issued.push(self.now);
            self.newest_presented = false;
            self.expires_at = (self.now + 30 * DAY).min(90 * DAY);
            return Verdict::NewPair {
                expires_in: self.left(newest + 1),
            };
        }
        let in_grace =
            index + 1 == newest && !self.newest_presented && self.now < self.issued[newest] + 30;
        if right && in_grace {
            return Verdict::SamePair {
                index: newest,
                expires_in: self.left(newest),
            };
        }
        self.alive = false;
        Verdict::Reused
    }
}

/// The service and the model, side by side.
struct History {
    mobile: Mobile,
    code: Secret,
    pairs: Vec<TokenSet>,
    model: Model,
}

impl History {
    async fn begin() -> History {
        let mobile = Mobile::new().await;
        let code = mobile.code().await;
        let request = Exchange::of(&code).install(Some("phone"));
        let pairs = vec![mobile.exchange_token(request.into()).await.unwrap()];
        History {
            mobile,
            code,
            pairs,
            model: Model::new(),
        }
    }

    fn index(&self, back: usize) -> usize {
        self.pairs.len().saturating_sub(back + 1)
    }

    async fn happen(&mut self, event: &Event) -> Result<(), TestCaseError> {
        match *event {
            Event::Pass { seconds, cleanup } => {
                self.mobile.pass(seconds);
                self.model.now += seconds;
                if cleanup {
                    self.mobile.erase_successors().await.unwrap();
                    self.mobile.empty_all().await.unwrap();
                    self.mobile.delete_expired().await.unwrap();
                }
            }
            Event::Refresh {
                back,
                client,
                install,
            } => self.refresh(self.index(back), client, install).await?,
            Event::Access { back } => {
                let index = self.index(back);
                let works = self.mobile.is_alive(&self.pairs[index]).await;
                prop_assert_eq!(works, self.model.access_token_works(index));
            }
            Event::Code => {
                let result = self
                    .mobile
                    .exchange_token(Exchange::of(&self.code).into())
                    .await;
                prop_assert!(matches!(
                    result,
                    Err(Error::InvalidGrant | Error::GrantReused(_))
                ));
                self.model.alive = false;
            }
        }
        Ok(())
    }

    async fn refresh(
        &mut self,
        index: usize,
        client: &str,
        install: Option<&str>,
    ) -> Result<(), TestCaseError> {
        let token = self.pairs[index].refresh_token.clone();
        let expected = self.model.refresh(index, client, install);
        let answer = self
            .mobile
            .exchange_token(refresh(&token, client, install))
            .await;
        let verdict = match answer {
            Ok(tokens) => {
                let expires_in = tokens.expires_in;
                match self
                    .pairs
                    .iter()
                    .position(|known| pair(known) == pair(&tokens))
                {
                    Some(index) => Verdict::SamePair { index, expires_in },
                    None => {
                        self.pairs.push(tokens);
                        Verdict::NewPair { expires_in }
                    }
                }
            }
            Err(Error::InvalidGrant) => Verdict::InvalidGrant,
            Err(Error::InvalidClient) => Verdict::InvalidClient,
            Err(Error::GrantReused(_)) => Verdict::Reused,
            Err(error) => panic!("{error:?}"),
        };
        prop_assert_eq!(verdict, expected);
        Ok(())
    }
}

fn config() -> ProptestConfig {
    let set = std::env::var("INVOICING_HISTORIES");
    ProptestConfig {
        cases: set.map_or(24, |text| text.parse().expect("INVOICING_HISTORIES is a number")),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_history_goes_as_the_model_says(events in prop::collection::vec(event(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut history = History::begin().await;
            for event in &events {
                history.happen(event).await?;
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}
