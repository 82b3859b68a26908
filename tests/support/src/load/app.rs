//! Apps that refresh their tokens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::client::Client;
use super::history::Asked;
use crate::caller::Request;
use crate::service::Device;

/// The pause between two refreshes, which leaves time to other clients.
const PACE: Duration = Duration::from_millis(5);

/// An app that refreshes its tokens again and again, and uses them now and then.
#[derive(Debug)]
pub struct App {
    pub client: Client,
    /// Holds the app's newest tokens.
    device: Device,
}

impl App {
    pub fn new(client: Client, device: Device) -> Self {
        Self { client, device }
    }

    /// Refreshes until told to stop, or until refused.
    pub async fn run(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) && self.refresh(stop).await.is_some() {
            if self.client.one_in(4) {
                self.use_token().await;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Continues the session with the token that the app has, whether its last answer was lost or
    /// not.
    pub async fn settle(&mut self, stop: &AtomicBool) {
        for _ in 0..2 {
            let _ = self.refresh(stop).await;
            self.use_token().await;
        }
    }

    async fn refresh(&mut self, stop: &AtomicBool) -> Option<()> {
        let grant = self.device.refresh_grant(&self.device.refresh_token);
        let request = Request::new("POST", "/api/auth/mobile/token").json(&grant);
        let token = self.device.refresh_token.clone();
        let asked = Asked::Refresh { token };
        let mut answer = None;
        self.client.go_home();
        if self.client.one_in(8) {
            answer = self.client.ask_twice(&asked, &request).await;
        }
        if answer.is_none() {
            answer = self.client.insist(&asked, &request, stop).await;
        }
        let tokens = answer?.json();
        if self.client.one_in(8) {
            self.client.ask_elsewhere(&asked, &request).await;
        }
        let text = |name: &str| Some(tokens[name].as_str()?.to_owned());
        self.device.access_token = text("access_token")?;
        self.device.refresh_token = text("refresh_token")?;
        Some(())
    }

    async fn use_token(&mut self) {
        let links = Request::new("GET", self.device.links())
            .bearer(&self.device.access_token)
            .header("x-team-id", &self.device.team_id);
        self.client.ask(&Asked::UseToken, &links).await;
    }
}
