//! Mail ([`crate::mail`]): limits on how much is sent, and links to reset a password.
//!
//! Anybody can request a reset for any email (docs/decisions.md, P13):
//!
//! 1. The request is answered before anything is looked up, so neither the answer nor its time reveals whether there is such
//!    an account. Room for the letter is reserved first, whether it is needed or not.
//! 2. A few are looked up at a time, so a thousand requests do not keep others from the database. A request that was looked
//!    up frees its room for others. While there is none, one of the block or site that has most is
//!    [dropped](crate::fair_room) for one of another.
//! 3. The letter is counted, and the link stored, in one transaction, for one letter per user at a time. A fourth within an
//!    hour is dropped, and so are those beyond what may wait for their turn.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::App;
use super::user::require_user;
use crate::client_address::surroundings;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::id::TeamId;
use crate::domain::letter::{Letter, Letters, Occasion};
use crate::domain::one_time_link::Purpose;
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::domain::user::{User, parse_email};
use crate::mail::{Outbox, Place};
use crate::store::{Batch, Sql, mail_count, one_time_link, user};

/// By then the answer is on its way (step 1), so its time does not tell whether some emails take more work than others.
const AFTER_ANSWER: Duration = Duration::from_millis(100);

impl App {
    /// Whether the service sends mail.
    pub fn sends_mail(&self) -> bool {
        self.outbox.is_some()
    }

    /// Gives unsent mail a last chance, when the server stops.
    pub async fn finish_mail(&self) {
        if let Some(outbox) = &self.outbox {
            outbox.finish().await;
        }
    }

    /// Where letters are sent, and how they are written.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`] if no mail is sent: the page does not exist then.
    pub(super) fn mail(&self) -> Result<(&Outbox, Letters<'_>), Error> {
        let outbox = self.outbox.as_ref().ok_or(Error::LinkNotValid)?;
        let origin = self.origin().unwrap_or_default();
        Ok((outbox, Letters { origin }))
    }

    /// Mails a link to reset the password to the user who has this email, if there is one, after the answer: step 1. Whoever
    /// asks is at this address.
    ///
    /// # Errors
    /// [`Error::PasswordsOff`]; [`Error::Invalid`] for an invalid email; [`Error::LinkNotValid`] if no mail is sent;
    /// [`Error::Unavailable`] when too many letters wait.
    pub fn ask_for_reset(self: &Arc<App>, email: &str, address: IpAddr) -> Result<(), Error> {
        self.require_passwords()?;
        let (outbox, _) = self.mail()?;
        let email = parse_email(email)?;
        let place = outbox.reserve()?;
        let mut waiting = self.resets.enter(surroundings(address))?;
        let app = Arc::clone(self);
        tokio::spawn(async move {
            let find = async {
                tokio::time::sleep(AFTER_ANSWER).await;
                app.find_for_reset(email).await
            };
            let Ok(found) = waiting.wait(find).await else {
                return;
            };
            drop(waiting);
            let sent = match found {
                Ok(Some((user, team))) => app.send_reset(place, user, team).await,
                // Nothing to send, and no one to notify.
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = sent
                && let Some(outbox) = &app.outbox
            {
                outbox.fail(Occasion::Reset, error.causes());
            }
        });
        Ok(())
    }

    /// Step 2: the user, and the team whose letter it would be.
    async fn find_for_reset(&self, email: String) -> Result<Option<(User, Option<TeamId>)>, Error> {
        // It is never closed.
        let _turn = self.reset_turns.acquire().await;
        let find = user::find_email(email);
        let found = self.store.look_up_sign_in(Holder::SignIns, find, 1).await?;
        let Some(user) = found else {
            return Ok(None);
        };
        let team = self.find_oldest_team(user.id, Holder::SignIns).await?;
        Ok(Some((user, team)))
    }

    async fn send_reset(
        &self,
        place: Place,
        user: User,
        team: Option<TeamId>,
    ) -> Result<(), Error> {
        let place = place.of(team, Occasion::Reset)?;
        if let Some(letter) = self.write_reset(user).await? {
            place.send(letter);
        }
        Ok(())
    }

    /// Step 3.
    async fn write_reset(&self, user: User) -> Result<Option<Letter>, Error> {
        let (_, letters) = self.mail()?;
        let Some(_turn) = self.resets_of_user.turn(user.id).await else {
            return Ok(None);
        };
        let (now, user_id) = (self.now(), user.id);
        let (link, issued) = self.new_one_time_link(Purpose::Reset, Some(user_id));
        let keep = async move |sql: Sql<'_>| {
            sql.run(require_user(user_id)).await?;
            // The old mailbox gets no link, however late the email has changed; nor does a deactivated user.
            let now_is = sql.run(user::find(user_id)).await?;
            let same = |it: &User| it.email == user.email && it.deactivated_at.is_none();
            let same = now_is.filter(same);
            let Some(user) = same else {
                return Ok(None);
            };
            let counted = one_more_letter(user_id, Occasion::Reset, now);
            sql.run((counted, one_time_link::replace(&link))).await?;
            Ok(Some(user))
        };
        match self.store.write(user_id, keep).await {
            Ok(user) => Ok(user.map(|user| {
                let url = issued.url(letters.origin);
                letters.reset(&user.email, &user.name, &url)
            })),
            // One letter too many, or the user is gone.
            Err(Error::Invalid(_) | Error::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Counts a letter to an address that somebody has typed: against the limit of that user, or team that invites, and against
/// that of the team for this address.
///
/// # Errors
/// As for [`one_more_letter`].
pub(super) fn one_more_typed(
    subject: impl Into<Uuid>,
    (team, email): (Option<TeamId>, &str),
    occasion: Occasion,
    now: Timestamp,
) -> impl Batch<Out = ()> {
    let team = team.unwrap_or(TeamId(Uuid::nil()));
    let address = Digest::of(format!("{team} {}", email.to_lowercase()).as_bytes());
    // Half of a digest is not the id of anything else.
    let mut half = [0; 16];
    half.copy_from_slice(&address.as_bytes()[..16]);
    let address = Uuid::from_bytes(half);
    let most = Occasion::MOST_TO_AN_ADDRESS;
    // Before anything is counted: on SQLite, what shares the transaction would otherwise be done twice.
    let has_room = mail_count::has_room(address, occasion, now, (most, Occasion::COUNTED_FOR));
    let has_room = has_room.rule(move |has_room| one_mail(has_room, most));
    let of_subject = one_more_letter(subject, occasion, now);
    let to_address = one_more(address, occasion, most, now);
    (has_room, of_subject, to_address).rule(|_| Ok(()))
}

/// Counts a letter to a user, or from a team.
///
/// # Errors
/// [`Error::Invalid`] about the email when the limit is reached.
pub(super) fn one_more_letter(
    subject: impl Into<Uuid>,
    occasion: Occasion,
    now: Timestamp,
) -> impl Batch<Out = ()> {
    one_more(subject, occasion, occasion.most_an_hour(), now)
}

fn one_more(
    subject: impl Into<Uuid>,
    occasion: Occasion,
    most: i64,
    now: Timestamp,
) -> impl Batch<Out = ()> {
    let counted = mail_count::one_more(subject, occasion, now, (most, Occasion::COUNTED_FOR));
    counted.rule(move |counted| one_mail(counted, most))
}

fn one_mail(is_allowed: bool, most: i64) -> Result<(), Error> {
    match is_allowed {
        true => Ok(()),
        false => Err(Error::invalid(
            "email",
            format!("is one mail too many: {most} an hour are sent; try again later"),
        )),
    }
}
