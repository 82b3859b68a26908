//! Deleting a team (docs/decisions.md, X63).
//!
//! 1. The operator names the team once more.
//! 2. One short transaction marks the team as deleted, revokes its keys, and removes all its members. It waits for any
//!    change that is under way by a key or a member; anything that adds to the team locks it, and finds it gone. So once
//!    this is committed, nothing of the team is changed or added.
//! 3. When no process remembers a key of the team any more (`lease`), what is left is deleted step by step (`emptying`).
//! 4. The row stays, without the name, and so does the audit, so that it can still be found out what became of the team.

use super::App;
use super::lease;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor};
use crate::domain::holder::Holder;
use crate::domain::team::{NamedTeam, Team};
use crate::store::{Sql, api_key, audit, invitation, mail_count, member, team};

impl App {
    /// Deletes a team with all that it has, for the operator, who names it once more; only the audit stays. From the first
    /// step on the team does not exist: its keys are refused, and it has no members. What is left is deleted step by step
    /// (`emptying`); if this ends early, the same call continues, or a server's background task. Returns the team as it was.
    ///
    /// # Errors
    /// [`Error::Missing`] and [`Error::Refused`] as for [`get_team`](App::get_team); [`Error::Refused`] for a name other
    /// than the team's; any store error.
    pub async fn delete_team(&self, named: NamedTeam, name: &str) -> Result<Team, Error> {
        let team = self.find_to_delete(named).await?;
        if team.name != name.trim() {
            return Err(Team::not_confirmed(&team));
        }
        let (id, now) = (team.id, self.now());
        let event = self.event(&Actor::Operator, Action::DeleteTeam);
        let event = event.in_team(id).to(id.0);
        let delete = async move |sql: Sql<'_>| {
            let (_, deleted) = sql.run((team::lock(id), team::delete(id, now))).await?;
            if deleted > 0 {
                // These wait for any change under way by a member or a key. The members first, as whoever revokes a key
                // holds their role before the key.
                member::delete_all_of_team(sql, id).await?;
                api_key::revoke_all(sql, (&[id], None), now).await?;
                let invitations = (invitation::delete_all(id), mail_count::delete_all(id));
                sql.run((invitations, audit::insert(&event))).await?;
            }
            Ok(())
        };
        self.store.write(Holder::Service, delete).await?;
        tokio::time::sleep(lease::RUN_OUT).await;
        self.empty_team(id).await?;
        Ok(team)
    }

    /// The team with this id or name, even one whose deletion was interrupted. A name that another team has by now
    /// identifies neither.
    async fn find_to_delete(&self, named: NamedTeam) -> Result<Team, Error> {
        let find = async move |sql: Sql<'_>| sql.run(team::list_to_empty(u32::MAX)).await;
        let mut found = self.store.read(Holder::Service, find).await?;
        found.retain(|team| match &named {
            NamedTeam::Id(id) => team.id == *id,
            NamedTeam::Name(name) => team.name == *name,
        });
        match self.get_team(named.clone()).await {
            Ok(team) => found.push(team),
            Err(missing @ Error::Missing { .. }) if found.is_empty() => return Err(missing),
            Err(Error::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
        match (found.len(), &named) {
            (2.., NamedTeam::Name(name)) => Err(Team::ambiguous(name, &found)),
            // There is one, or the same one twice.
            _ => Ok(found.swap_remove(0)),
        }
    }
}
