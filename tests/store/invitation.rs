//! Invitations. The ids at the tests are from docs/decisions.md.

use std::time::Duration;

use invoicing::app::sign_in::SignIn;
use invoicing::domain::Error;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::id::InvitationId;
use invoicing::domain::invitation::LIFETIME;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::secret::Secret;

use super::signed_in::{
    PASSWORD, actor, assert_may_not, assert_no_link, browser, join, look_up, new_user, told,
};
use super::support::Service;

const BO: &str = "bo@example.com";

/// P6, P8, P34, T1: with a link whose secret is stored nowhere.
#[tokio::test]
async fn somebody_without_an_account_makes_one_by_an_invitation_once() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let ada = join(app, team, "ada@example.com", Role::Owner).await;
    let invited = app.invite(&actor(&ada), team, BO, Role::Member).await;
    let invited = invited.unwrap();
    let found = app.get_invitation(&invited.secret).await.unwrap();
    assert_eq!(
        (found.team_name.as_str(), found.has_user),
        ("Acme", false)
    );
    assert_eq!(app.list_invitations(team).await.unwrap().len(), 1);
    assert!(!service.database().keeps(invited.secret.reveal().as_bytes()));

    let (joined, cookies) = app.join_as_new(new_user(&invited.secret)).await.unwrap();
    assert_eq!(joined, team);
    let bo = look_up(app, &cookies).await.user;
    assert_eq!((bo.email.as_str(), bo.name.as_str()), (BO, "Bo"));
    assert_eq!(app.membership(team, bo.id).await.unwrap(), Role::Member);
    assert_no_link(app.join_as_new(new_user(&invited.secret)).await);
    assert_no_link(app.get_invitation(&invited.secret).await);
    assert_eq!(app.list_invitations(team).await.unwrap(), []);

    // One of them was by the operator, for the owner.
    assert_eq!(told(app, team, Action::Invite).await, 2);
    assert_eq!(told(app, team, Action::AcceptInvitation).await, 2);
    let events = app.list_audit_events(Some(team), Part::default()).await;
    assert!(!format!("{:?}", events.unwrap()).contains(BO));
}

/// P9: nobody makes thousands of users.
#[tokio::test]
async fn a_team_makes_a_hundred_users_at_once_and_no_more() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let made = async |number: u32| {
        let email = format!("{number}@example.com");
        let invited = app.invite(&Actor::Operator, team, &email, Role::Viewer).await;
        app.join_as_new(new_user(&invited.unwrap().secret)).await
    };
    for number in 0..100 {
        made(number).await.unwrap();
    }
    let refused = made(100).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    assert_eq!(app.list_invitations(team).await.unwrap().len(), 1);
    // Others are not in the way.
    let other = service.team().await;
    join(app, other, "ada@example.com", Role::Owner).await;
}

/// P6.
#[tokio::test]
async fn an_invitation_is_good_for_seven_days() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let invited = app.invite(&Actor::Operator, team, BO, Role::Viewer).await;
    let link = invited.unwrap().secret;
    let week = Duration::from_secs(7 * 24 * 60 * 60);
    service.clock.advance(week - Duration::from_secs(1));
    app.get_invitation(&link).await.unwrap();
    service.clock.advance(Duration::from_secs(1));
    assert_no_link(app.join_as_new(new_user(&link)).await);
    assert_eq!(app.list_invitations(team).await.unwrap(), []);
    app.delete_expired().await.unwrap();
    assert_eq!(service.database().rows("invitation"), 0);
}

/// P34, and W22: who may withdraw.
#[tokio::test]
async fn a_newer_invitation_of_an_email_replaces_the_one_before_and_a_withdrawn_one_is_gone() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let operator = Actor::Operator;
    let first = app.invite(&operator, team, BO, Role::Viewer).await.unwrap();
    let second = app.invite(&operator, team, "BO@example.com", Role::Admin);
    let second = second.await.unwrap();
    assert_no_link(app.join_as_new(new_user(&first.secret)).await);
    let found = app.get_invitation(&second.secret).await.unwrap();
    assert_eq!(found.invitation.role, Role::Admin);

    let id = second.invitation.id;
    app.uninvite(&operator, team, id).await.unwrap();
    assert_no_link(app.join_as_new(new_user(&second.secret)).await);
    assert_no_link(app.uninvite(&operator, team, id).await);
    let nobody = InvitationId(uuid::Uuid::nil());
    assert_no_link(app.uninvite(&operator, team, nobody).await);
    assert_eq!(told(app, team, Action::Uninvite).await, 1);
}

/// P34: 200 are open at most, and each of them can be replaced.
#[tokio::test]
async fn an_invitation_is_replaced_also_when_the_team_may_have_no_more() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let invite = async |email: &str| {
        let invited = app.invite(&Actor::Operator, team, email, Role::Viewer);
        invited.await.map(|it| it.secret)
    };
    let first = invite(BO).await.unwrap();
    for number in 1..200 {
        invite(&format!("member-{number}@example.com")).await.unwrap();
    }
    let one_more = invite("ada@example.com").await;
    assert!(matches!(one_more, Err(Error::Invalid(_))), "{one_more:?}");
    let second = invite(BO).await.unwrap();
    assert_no_link(app.get_invitation(&first).await);
    app.get_invitation(&second).await.unwrap();
    assert_eq!(service.database().rows("invitation"), 200);
}

#[tokio::test]
async fn invitations_of_a_deactivated_user_are_not_among_those_that_a_team_may_have() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let ada = join(app, team, "ada@example.com", Role::Admin).await;
    let (user_id, ada) = (ada.user_id, actor(&ada));
    for number in 0..200 {
        let email = format!("member-{number}@example.com");
        let invited = app.invite(&ada, team, &email, Role::Viewer);
        invited.await.unwrap();
    }
    let invite = || app.invite(&Actor::Operator, team, BO, Role::Viewer);
    assert!(matches!(invite().await, Err(Error::Invalid(_))));
    app.deactivate_user(user_id).await.unwrap();
    assert_eq!(app.list_invitations(team).await.unwrap(), []);
    invite().await.unwrap();
}

/// P8: an attempted take-over.
#[tokio::test]
async fn an_invitation_gives_nobody_an_account_that_there_is_already() {
    let service = Service::new().await;
    let (app, team, other) = (&service.app, service.team().await, service.team().await);
    let bo = join(app, other, BO, Role::Owner).await;
    let eve = join(app, other, "eve@example.com", Role::Owner).await;
    let invited = app.invite(&Actor::Operator, team, "Bo@Example.com", Role::Owner);
    let link = invited.await.unwrap().secret;
    assert!(app.get_invitation(&link).await.unwrap().has_user);

    let other_password = Secret::from_text("velvet onion staircase moon");
    let mut take_over = new_user(&link);
    take_over.password = other_password.clone();
    assert_no_link(app.join_as_new(take_over).await);
    let attempt = |password| SignIn {
        email: BO.into(),
        password,
        browser: browser(),
    };
    let with_new = app.sign_in(attempt(other_password)).await;
    assert!(matches!(with_new, Err(Error::WrongPassword)), "{with_new:?}");
    app.sign_in(attempt(Secret::from_text(PASSWORD)))
        .await
        .unwrap();

    assert_no_link(app.join_as_user(eve, &link).await);
    assert_eq!(
        app.join_as_user(bo.clone(), &link).await.unwrap(),
        team
    );
    assert_eq!(
        app.membership(team, bo.user_id).await.unwrap(),
        Role::Owner
    );
    assert_no_link(app.join_as_user(bo, &link).await);
}

/// The operator has made them a member meanwhile.
#[tokio::test]
async fn who_is_a_member_by_now_keeps_the_role() {
    let service = Service::new().await;
    let (app, team, other) = (&service.app, service.team().await, service.team().await);
    let bo = join(app, other, BO, Role::Owner).await;
    let invited = app.invite(&Actor::Operator, team, BO, Role::Owner).await;
    app.add_member(team, bo.user_id, Role::Viewer).await.unwrap();
    let link = invited.unwrap().secret;
    assert_no_link(app.join_as_user(bo.clone(), &link).await);
    let role = app.membership(team, bo.user_id).await;
    assert_eq!(role.unwrap(), Role::Viewer);
    let again = app.invite(&Actor::Operator, team, BO, Role::Owner).await;
    assert!(matches!(again, Err(Error::Invalid(_))), "{again:?}");
}

/// Their email has become the invited one.
#[tokio::test]
async fn who_was_a_member_before_the_invitation_keeps_the_role_and_nothing_is_told() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let ada = join(app, team, "ada@example.com", Role::Viewer).await;
    let invited = app.invite(&Actor::Operator, team, BO, Role::Owner).await;
    let rename = format!("UPDATE \"user\" SET email = '{BO}'");
    service.database().change(&rename);
    app.join_as_user(ada.clone(), &invited.unwrap().secret).await.unwrap();
    assert_eq!(app.membership(team, ada.user_id).await.unwrap(), Role::Viewer);
    assert_eq!(told(app, team, Action::AcceptInvitation).await, 1);
}

/// P9.
#[tokio::test]
async fn an_invitation_ends_with_the_right_to_make_it() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let operator = Actor::Operator;
    join(app, team, "owner@example.com", Role::Owner).await;
    for (number, left) in [None, Some(Role::Admin), Some(Role::Viewer)]
        .into_iter()
        .enumerate()
    {
        let email = format!("ada{number}@example.com");
        let ada = join(app, team, &email, Role::Owner).await;
        let as_owner = app.invite(&actor(&ada), team, BO, Role::Owner).await;
        let carl = "carl@example.com";
        let as_member = app.invite(&actor(&ada), team, carl, Role::Member).await;
        let (as_owner, as_member) = (as_owner.unwrap().secret, as_member.unwrap().secret);
        match left {
            None => app.remove_member(&operator, team, ada.user_id, false).await,
            Some(role) => app.set_role(&operator, team, ada.user_id, role).await,
        }
        .unwrap();
        assert_no_link(app.join_as_new(new_user(&as_owner)).await);
        let still = app.get_invitation(&as_member).await;
        match left {
            Some(Role::Admin) => assert!(still.is_ok()),
            _ => assert_no_link(still),
        }
        // It does not come back along with the right.
        match left {
            None => {
                let again = app.add_member(team, ada.user_id, Role::Owner).await;
                again.unwrap();
            }
            Some(_) => {
                let again = app.set_role(&operator, team, ada.user_id, Role::Owner);
                again.await.unwrap();
            }
        }
        assert_no_link(app.get_invitation(&as_owner).await);
    }
}

/// P9: whichever comes first.
#[tokio::test]
async fn no_invitation_is_left_to_an_email_that_a_member_gets_at_the_same_time() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let another = service.another().await;
    let bo = join(app, team, BO, Role::Viewer).await;
    for number in 0..20 {
        let email = format!("bo{number}@example.com");
        let invite = another.invite(&Actor::Operator, team, &email, Role::Owner);
        let (changed, invited) = tokio::join!(app.set_email(bo.user_id, &email), invite);
        changed.unwrap();
        let left = app.list_invitations(team).await.unwrap();
        assert!(left.is_empty(), "{left:?}, {invited:?}");
    }
}

/// P9: or whoever is removed under the new email would come back by the old one, as a new user.
#[tokio::test]
async fn an_invitation_ends_when_the_invited_user_gets_another_email() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let bo = join(app, service.team().await, BO, Role::Member).await;
    let invited = app.invite(&Actor::Operator, team, "BO@example.com", Role::Admin).await;
    let other = app.invite(&Actor::Operator, team, "carl@example.com", Role::Admin).await;
    let link = invited.unwrap().secret;
    // The same one (P2).
    app.set_email(bo.user_id, "Bo@Example.com").await.unwrap();
    app.get_invitation(&link).await.unwrap();
    app.set_email(bo.user_id, "bob@example.com").await.unwrap();
    assert_no_link(app.get_invitation(&link).await);
    assert_no_link(app.join_as_new(new_user(&link)).await);
    assert_no_link(app.join_as_user(bo, &link).await);
    let left = app.list_invitations(team).await.unwrap();
    assert_eq!(left.len(), 1);
    app.get_invitation(&other.unwrap().secret).await.unwrap();
}

/// P9: whoever follows the link that their own team shows may have any email.
#[tokio::test]
async fn without_mail_whoever_deletes_their_account_ends_no_invitation_of_another_team() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let by_the_operator = join(app, service.team().await, "carl@example.com", Role::Owner).await;
    let by_themselves = join(app, service.team().await, BO, Role::Owner).await;
    let invite = async |email| {
        let invited = app.invite(&Actor::Operator, team, email, Role::Admin).await;
        invited.unwrap().secret
    };
    let (of_bo, of_carl) = (invite(BO).await, invite("carl@example.com").await);
    app.delete_account(by_themselves).await.unwrap();
    app.delete_user(by_the_operator.user_id).await.unwrap();
    app.join_as_new(new_user(&of_bo)).await.unwrap();
    assert_no_link(app.get_invitation(&of_carl).await);
}

/// P9: a creator whom the operator has removed altogether.
#[tokio::test]
async fn an_invitation_ends_with_its_maker() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let ada = join(app, team, "ada@example.com", Role::Owner).await;
    let invited = app.invite(&actor(&ada), team, BO, Role::Member).await;
    app.delete_user(ada.user_id).await.unwrap();
    let link = invited.unwrap().secret;
    assert_no_link(app.get_invitation(&link).await);
    assert_no_link(app.join_as_new(new_user(&link)).await);
    assert_eq!(app.list_invitations(team).await.unwrap(), []);
    // It does not block another one.
    app.invite(&Actor::Operator, team, BO, Role::Viewer)
        .await
        .unwrap();
}

/// W22: an admin who makes an owner.
#[tokio::test]
async fn nobody_invites_withdraws_or_replaces_above_their_own_role() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let admin = actor(&join(app, team, "ada@example.com", Role::Admin).await);
    assert_may_not(app.invite(&admin, team, BO, Role::Owner).await);
    let owner = app.invite(&Actor::Operator, team, BO, Role::Owner).await;
    let owner = owner.unwrap();
    assert_may_not(app.uninvite(&admin, team, owner.invitation.id).await);
    assert_may_not(app.invite(&admin, team, BO, Role::Viewer).await);
    app.get_invitation(&owner.secret).await.unwrap();
    app.invite(&admin, team, "carl@example.com", Role::Admin)
        .await
        .unwrap();
    // An expired one does not block others, from the very moment that it expires.
    service.clock.advance(LIFETIME - Duration::from_millis(1));
    assert_may_not(app.invite(&admin, team, BO, Role::Viewer).await);
    service.clock.advance(Duration::from_millis(1));
    app.invite(&admin, team, BO, Role::Viewer).await.unwrap();

    for (email, role) in [("m@example.com", Role::Member), ("v@example.com", Role::Viewer)] {
        let below = actor(&join(app, team, email, role).await);
        assert_may_not(app.invite(&below, team, "x@example.com", Role::Viewer).await);
        assert_may_not(app.uninvite(&below, team, owner.invitation.id).await);
    }
    let other = service.team().await;
    let stranger = actor(&join(app, other, "s@example.com", Role::Owner).await);
    for refused in [
        app.invite(&stranger, team, "x@example.com", Role::Viewer)
            .await
            .map(drop),
        app.uninvite(&stranger, team, owner.invitation.id).await,
    ] {
        assert!(matches!(refused, Err(Error::NotAMember)), "{refused:?}");
    }
    // An id of another team is not found.
    assert_no_link(app.uninvite(&stranger, other, owner.invitation.id).await);
}

#[tokio::test]
async fn of_two_who_accept_at_once_one_is_let_in() {
    let service = Service::new().await;
    let (app, another) = (&service.app, service.another().await);
    for _ in 0..3 {
        let team = service.team().await;
        let email = format!("{team}@example.com");
        let invited = app.invite(&Actor::Operator, team, &email, Role::Member);
        let link = invited.await.unwrap().secret;
        let (one, two) = tokio::join!(
            app.join_as_new(new_user(&link)),
            another.join_as_new(new_user(&link))
        );
        assert_ne!(one.is_ok(), two.is_ok(), "{one:?} {two:?}");
        assert_no_link([one, two].into_iter().find(Result::is_err).unwrap());
        let members = app.list_members(team, Part::default()).await.unwrap();
        assert_eq!(members.len(), 1);
    }
}
