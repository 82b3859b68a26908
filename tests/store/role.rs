//! Who may change and remove whom, and what ends with them. The ids at the tests are from docs/decisions.md.

use std::sync::Arc;
use std::time::Duration;

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::catalog::Mode;
use invoicing::domain::id::TeamId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;

use super::engine::{RANDOM_DIGEST, RANDOM_ID};
use super::signed_in::{actor, assert_last_owner, assert_may_not, assert_no_link, join, told};
use super::support::{Service, live_key};

/// The secret of a new key.
async fn key(app: &App, by: &Actor, team: TeamId) -> String {
    let made = app.create_api_key(by, team, Mode::Test, Scope::ReadOnly, None, None);
    made.await.unwrap().1.reveal().to_owned()
}

async fn owners(app: &App, team: TeamId) -> usize {
    let members = app.list_members(team, Part::default()).await.unwrap();
    let owners = members.iter().filter(|it| it.member.role == Role::Owner);
    owners.count()
}

/// W22: an admin who becomes an owner.
#[tokio::test]
async fn nobody_reaches_above_their_own_role() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let owner = join(app, team, "o@example.com", Role::Owner).await;
    let admin = join(app, team, "a@example.com", Role::Admin).await;
    let member = join(app, team, "m@example.com", Role::Member).await;
    let (by, owner_id) = (actor(&admin), owner.user_id);
    assert_may_not(app.set_role(&by, team, admin.user_id, Role::Owner).await);
    assert_may_not(app.set_role(&by, team, member.user_id, Role::Owner).await);
    assert_may_not(app.set_role(&by, team, owner_id, Role::Viewer).await);
    assert_may_not(app.remove_member(&by, team, owner_id, true).await);
    let below = actor(&member);
    assert_may_not(app.set_role(&below, team, member.user_id, Role::Admin).await);
    assert_may_not(app.remove_member(&below, team, admin.user_id, false).await);

    app.set_role(&by, team, member.user_id, Role::Admin)
        .await
        .unwrap();
    assert_eq!(
        app.membership(team, member.user_id).await.unwrap(),
        Role::Admin
    );
    app.set_role(&by, team, member.user_id, Role::Admin)
        .await
        .unwrap();
    assert_eq!(told(app, team, Action::SetRole).await, 1);
    app.remove_member(&by, team, member.user_id, false)
        .await
        .unwrap();
    assert_eq!(told(app, team, Action::RemoveMember).await, 1);
}

#[tokio::test]
async fn who_is_signed_out_or_no_member_changes_nobody() {
    let service = Service::new().await;
    let (app, team, other) = (&service.app, service.team().await, service.team().await);
    let owner = join(app, team, "o@example.com", Role::Owner).await;
    let member = join(app, team, "m@example.com", Role::Member).await;
    let stranger = actor(&join(app, other, "s@example.com", Role::Owner).await);
    let id = member.user_id;
    for refused in [
        app.set_role(&stranger, team, id, Role::Viewer).await,
        app.remove_member(&stranger, team, id, false).await,
    ] {
        assert!(matches!(refused, Err(Error::NotAMember)), "{refused:?}");
    }
    app.sign_out(owner.clone()).await.unwrap();
    for refused in [
        app.set_role(&actor(&owner), team, id, Role::Viewer).await,
        app.remove_member(&actor(&owner), team, id, false).await,
        app.remove_member(&actor(&owner), team, owner.user_id, false)
            .await,
        app.delete_account(owner).await,
    ] {
        assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
    }
}

/// W24.
#[tokio::test]
async fn the_last_owner_of_a_team_with_others_stays_unless_the_operator_decides() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let owner = join(app, team, "o@example.com", Role::Owner).await;
    let member = join(app, team, "m@example.com", Role::Viewer).await;
    let (by, id) = (actor(&owner), owner.user_id);
    assert_last_owner(app.remove_member(&by, team, id, false).await);
    assert_last_owner(app.set_role(&by, team, id, Role::Admin).await);
    assert_last_owner(app.delete_account(owner.clone()).await);
    assert_eq!(owners(app, team).await, 1);

    app.set_role(&by, team, member.user_id, Role::Owner)
        .await
        .unwrap();
    app.set_role(&by, team, id, Role::Viewer).await.unwrap();
    // A viewer may leave, too.
    app.remove_member(&by, team, id, false).await.unwrap();
    let operator = Actor::Operator;
    app.add_member(team, id, Role::Viewer).await.unwrap();
    app.set_role(&operator, team, member.user_id, Role::Admin)
        .await
        .unwrap();
    assert_eq!(owners(app, team).await, 0);
}

/// W22 and W24: races, in two processes.
#[tokio::test]
async fn of_two_owners_who_remove_or_demote_each_other_or_leave_one_stays() {
    let service = Service::new().await;
    let (app, another) = (&service.app, service.another().await);
    for round in 0..6 {
        let team = service.team().await;
        let one = join(app, team, &format!("1{round}@example.com"), Role::Owner).await;
        let two = join(app, team, &format!("2{round}@example.com"), Role::Owner).await;
        join(app, team, &format!("3{round}@example.com"), Role::Viewer).await;
        let (by_one, by_two) = (actor(&one), actor(&two));
        let (one_id, two_id) = (one.user_id, two.user_id);
        let results = match round % 3 {
            0 => tokio::join!(
                app.remove_member(&by_one, team, two_id, false),
                another.remove_member(&by_two, team, one_id, false)
            ),
            1 => tokio::join!(
                app.set_role(&by_one, team, one_id, Role::Admin),
                another.remove_member(&by_two, team, two_id, false)
            ),
            _ => tokio::join!(app.delete_account(one), another.delete_account(two)),
        };
        assert_ne!(results.0.is_ok(), results.1.is_ok(), "{results:?}");
        assert_eq!(owners(app, team).await, 1, "{results:?}");
    }
}

/// W23, W14.
#[tokio::test]
async fn the_keys_of_somebody_who_is_removed_are_revoked_if_that_is_wanted() {
    let service = Service::new().await;
    let (app, team, other) = (&service.app, service.team().await, service.team().await);
    let owner = actor(&join(app, team, "o@example.com", Role::Owner).await);
    let kept = key(app, &owner, team).await;
    let theirs_elsewhere = {
        let bo = join(app, other, "bo@example.com", Role::Admin).await;
        app.add_member(team, bo.user_id, Role::Admin).await.unwrap();
        let elsewhere = key(app, &actor(&bo), other).await;
        let here = key(app, &actor(&bo), team).await;
        app.remove_member(&owner, team, bo.user_id, false)
            .await
            .unwrap();
        app.authenticate_api_key(&here).await.unwrap();

        app.add_member(team, bo.user_id, Role::Admin).await.unwrap();
        let made = app.list_api_keys(Some(team), Part::default()).await.unwrap();
        assert_eq!(made.last().unwrap().key.created_by, Some(bo.user_id));
        app.remove_member(&owner, team, bo.user_id, true)
            .await
            .unwrap();
        let refused = app.authenticate_api_key(&here).await;
        assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
        elsewhere
    };
    for good in [kept, theirs_elsewhere] {
        app.authenticate_api_key(&good).await.unwrap();
    }
    assert_eq!(told(app, team, Action::RevokeApiKey).await, 1);
}

/// W24.
#[tokio::test]
async fn keys_and_invitations_end_with_the_last_member_who_leaves() {
    let service = Service::new().await;
    let app = &service.app;
    for deletes in [false, true] {
        let team = service.team().await;
        let email = format!("{deletes}@example.com");
        let owner = join(app, team, &email, Role::Owner).await;
        let by = actor(&owner);
        let keys = [
            key(app, &by, team).await,
            key(app, &Actor::Operator, team).await,
        ];
        let invited = app.invite(&Actor::Operator, team, "bo@example.com", Role::Owner);
        let link = invited.await.unwrap().secret;
        match deletes {
            true => app.delete_account(owner).await,
            false => app.remove_member(&by, team, owner.user_id, false).await,
        }
        .unwrap();
        for key in keys {
            let refused = app.authenticate_api_key(&key).await;
            assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
        }
        assert_no_link(app.get_invitation(&link).await);
        assert_eq!(told(app, team, Action::RevokeApiKey).await, 2);
    }
}

#[tokio::test]
async fn an_account_with_which_thousands_of_keys_would_end_leaves_their_teams_first() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let owner = join(app, team, "o@example.com", Role::Owner).await;
    key(app, &actor(&owner), team).await;
    let second = service.team().await;
    let added = app.add_member(second, owner.user_id, Role::Owner);
    added.await.unwrap();
    service.database().change(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
         INSERT INTO api_key (team_id, id, digest, mode, scope, created_at) \
             SELECT team.id, {RANDOM_ID}, {RANDOM_DIGEST}, mode, scope, api_key.created_at \
             FROM api_key CROSS JOIN team CROSS JOIN n"
    ));
    let refused = app.delete_account(owner.clone()).await;
    let Err(Error::Refused(why)) = refused else {
        panic!("{refused:?}");
    };
    assert!(why.contains("too many API keys"), "{why}");
    let by = actor(&owner);
    let left = app.remove_member(&by, second, owner.user_id, false);
    left.await.unwrap();
    app.delete_account(owner).await.unwrap();
}

/// W25.
#[tokio::test]
async fn a_deleted_account_leaves_an_id_in_the_audit_and_nothing_else() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    join(app, team, "o@example.com", Role::Owner).await;
    let bo = join(app, team, "bo@example.com", Role::Admin).await;
    app.change_name(bo.clone(), "Bo of Bergen").await.unwrap();
    assert_eq!(app.list_sign_ins(bo.user_id).await.unwrap().len(), 1);
    app.delete_account(bo.clone()).await.unwrap();
    app.empty_all().await.unwrap();
    let events = app.list_own_events(bo.user_id, Part::default()).await;
    let events = events.unwrap();
    assert_eq!(events[0].action, Action::DeleteAccount);
    let removed = app.list_audit_events(Some(team), Part::default()).await.unwrap().remove(0);
    assert_eq!((removed.action, removed.subject), (Action::RemoveMember, Some(bo.user_id.0)));
    assert_eq!(removed.actor, Some(bo.user_id));
    for event in &events {
        assert_eq!((&event.client_address, &event.user_agent), (&None, &None));
    }
    let database = service.database();
    let named = "\"user\" WHERE name LIKE 'Bo of%' OR email LIKE 'bo%'";
    assert_eq!(database.rows(named), 0);
    assert_eq!(database.rows("password"), 1);
    let refused = app.delete_account(bo).await;
    assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
}

#[tokio::test]
async fn whoever_is_alone_in_a_team_stays_its_owner() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let owner = join(app, team, "o@example.com", Role::Owner).await;
    let by = actor(&owner);
    let refused = app.set_role(&by, team, owner.user_id, Role::Viewer).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    assert_eq!(owners(app, team).await, 1);
}

#[tokio::test]
async fn nobody_who_is_removed_comes_back_by_an_older_invitation() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let other = app.create_team("Other").await.unwrap().id;
    let bo = join(app, other, "bo@example.com", Role::Viewer).await;
    for removes in [false, true] {
        let invited = app.invite(&Actor::Operator, team, "bo@example.com", Role::Admin);
        let link = invited.await.unwrap().secret;
        app.add_member(team, bo.user_id, Role::Viewer).await.unwrap();
        if removes {
            app.remove_member(&Actor::Operator, team, bo.user_id, false)
                .await
                .unwrap();
        }
        assert_no_link(app.join_as_user(bo.clone(), &link).await);
        if !removes {
            app.remove_member(&Actor::Operator, team, bo.user_id, false)
                .await
                .unwrap();
        }
    }
}

#[tokio::test]
async fn a_team_has_a_bound_of_valid_keys_and_of_open_invitations() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    for number in 0..200 {
        let email = format!("{number}@example.com");
        let invited = app.invite(&Actor::Operator, team, &email, Role::Viewer);
        invited.await.unwrap();
    }
    let more = app.invite(&Actor::Operator, team, "more@example.com", Role::Viewer);
    assert!(matches!(more.await, Err(Error::Invalid(_))));
    for _ in 0..500 {
        key(app, &Actor::Operator, team).await;
    }
    let (mode, scope) = (Mode::Test, Scope::ReadOnly);
    let more = app.create_api_key(&Actor::Operator, team, mode, scope, None, None);
    let more = more.await;
    assert!(matches!(more, Err(Error::Refused(_))), "{more:?}");
}

#[tokio::test]
async fn nothing_that_is_left_of_a_user_has_the_email() {
    // Without mail, the invitation of the other team would stay (P9).
    let (service, _mail) = Service::mailing().await;
    let (app, team, other) = (&service.app, service.team().await, service.team().await);
    let bo = join(app, team, "bo@example.com", Role::Owner).await;
    let invited = app.invite(&Actor::Operator, other, "BO@example.com", Role::Viewer);
    let link = invited.await.unwrap().secret;
    app.delete_account(bo).await.unwrap();
    assert_no_link(app.get_invitation(&link).await);
    let database = service.database();
    for table in ["invitation", "wrong_password", "product_import", "password"] {
        assert_eq!(database.rows(table), 0, "{table}");
    }
}

#[tokio::test]
async fn a_key_that_works_is_not_hidden_behind_those_that_have_ended() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let owner = join(app, team, "o@example.com", Role::Owner).await;
    let by = actor(&owner);
    let (mode, scope) = (Mode::Test, Scope::ReadOnly);
    let create = async |expires_in| {
        let made = app.create_api_key(&by, team, mode, scope, None, expires_in);
        made.await.unwrap().0
    };
    let works = create(None).await;
    let minute = Duration::from_secs(60);
    for _ in 0..2 {
        create(Some(minute)).await;
        let revoked = create(None).await;
        app.revoke_api_key(&by, revoked.id).await.unwrap();
    }
    service.clock.advance(minute);
    let listed = async |after, limit| {
        let part = Part { after, limit };
        let listed = app.list_newest_api_keys(owner.user_id, team, part);
        listed.await.unwrap()
    };
    let all = listed(None, 9).await;
    assert_eq!(all.len(), 5);
    let (mut walked, mut after) = (Vec::new(), None);
    while let [one] = &listed(after, 1).await[..] {
        after = Some(one.place);
        walked.push(one.clone());
    }
    assert_eq!(walked, all);
    let listed = listed(None, 2).await;
    assert_eq!(listed[0].shown.key.id, works.id);
    assert_eq!(listed[0].maker.as_deref(), Some("Bo"));
    assert!(listed[1].shown.key.revoked_at.is_some());
    let member = join(app, team, "m@example.com", Role::Member).await;
    let of_member = app.list_newest_api_keys(member.user_id, team, Part::one());
    assert_may_not(of_member.await);
}

#[tokio::test]
async fn a_name_that_stays_as_it_is_is_told_of_by_nobody() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let bo = join(app, team, "bo@example.com", Role::Viewer).await;
    for name in ["Bo", "Bob", "Bob"] {
        app.change_name(bo.clone(), name).await.unwrap();
    }
    let events = app.list_own_events(bo.user_id, Part::default()).await;
    let events = events.unwrap();
    let told = events.iter().filter(|it| it.action == Action::ChangeName);
    assert_eq!(told.count(), 1);
}

#[tokio::test]
async fn a_key_that_ends_with_an_account_is_refused_everywhere_once_that_is_deleted() {
    let service = Service::new().await;
    let (app, other) = (&service.app, service.another().await);
    let team = service.team().await;
    let ada = join(app, team, "ada@example.com", Role::Owner).await;
    let (_, secret) = live_key(app, team).await.unwrap();
    let mut deleted = std::pin::pin!(app.delete_account(ada));
    let mut accepted = 0;
    loop {
        let used = async {
            tokio::task::yield_now().await;
            other.authenticate_api_key(secret.reveal()).await
        };
        tokio::select! {
            biased;
            deleted = &mut deleted => break deleted.unwrap(),
            used = used => accepted += usize::from(used.is_ok()),
        }
    }
    assert!(accepted > 0);
    let refused = other.authenticate_api_key(secret.reveal()).await;
    assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_being_revoked_is_refused_everywhere_once_whoever_made_it_is_removed() {
    let service = Service::new().await;
    let (app, other) = (&service.app, service.another().await);
    let team = service.team().await;
    join(app, team, "ada@example.com", Role::Owner).await;
    let bo = join(app, team, "bo@example.com", Role::Admin).await;
    let secret = key(app, &actor(&bo), team).await;
    let id = app.authenticate_api_key(&secret).await.unwrap().id;
    other.authenticate_api_key(&secret).await.unwrap();
    let revoked = {
        let app = Arc::clone(app);
        tokio::spawn(async move { app.revoke_api_key(&Actor::Operator, id).await })
    };
    // It is committed, but not waited for.
    while service.database().rows("api_key WHERE revoked_at IS NOT NULL") == 0 {
        tokio::task::yield_now().await;
    }
    let removed = app.remove_member(&Actor::Operator, team, bo.user_id, true);
    removed.await.unwrap();
    let refused = other.authenticate_api_key(&secret).await;
    assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
    revoked.await.unwrap().unwrap();
}
