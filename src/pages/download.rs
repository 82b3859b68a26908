//! CSV files that are made while they are sent, so that even the largest takes the memory of a few lines: the next ones are
//! read when the browser has taken those before. A user downloads one such file at a time.
//!
//! A browser may take its time. So after each piece is made, it is checked whether its user may still read it ([`Reader`]):
//! nothing written after they lose that right reaches them.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, Response};
use openapi_dropshot_runtime::Rejection;

use super::failure::Failure;
use super::site;
use super::visit::Visit;
use crate::admin::Shortage::Turns;
use crate::app::App;
use crate::domain::Error;
use crate::domain::csv_file::Writer;
use crate::domain::holder::Holder;
use crate::domain::id::{BrowserSessionId, TeamId, UserId};
use crate::domain::member::RoleRule;
use crate::http::Error::Overloaded;
use crate::http::{BrokenOff, Rest, problem};

/// The fewest bytes of a piece, except the last: with smaller ones, the server could not tell that a peer takes none.
pub(super) const PIECE: usize = 128 * 1024;

/// The user who reads what is sent piece by piece.
pub(super) struct Reader {
    app: Arc<App>,
    user_id: UserId,
    session_id: BrowserSessionId,
    /// The team whose data it is, and the roles that may read it, unless it is the user's own.
    team: Option<(TeamId, RoleRule)>,
}

impl Reader {
    /// Returns the signed-in user.
    ///
    /// # Errors
    /// When no user is signed in, or another site has sent them.
    pub(super) fn of(visit: &Visit) -> Result<Reader, Failure> {
        visit.require_no_other_site()?;
        let in_browser = visit.signed_in()?;
        Ok(Reader {
            app: Arc::clone(visit.app()),
            user_id: in_browser.user.id,
            session_id: in_browser.session.id,
            team: visit.about(),
        })
    }

    /// Refuses a user who may no longer read it.
    ///
    /// # Errors
    /// As for [`App::require_reader`].
    async fn require(&self) -> Result<(), Error> {
        let Reader {
            app,
            user_id,
            session_id,
            team,
        } = self;
        app.require_reader(Holder::Parts, *user_id, *session_id, *team)
            .await
    }

    /// The same in a turn of the user, for a caller that has none.
    ///
    /// # Errors
    /// As for [`App::require_reader`].
    pub(super) async fn require_in_turn(&self) -> Result<(), Error> {
        let user = self.user_id.into();
        self.app.make_part(user, self.require()).await
    }
}

/// What is made piece by piece, while it is sent.
pub(super) trait Pieces: Send + 'static {
    /// Returns the next piece; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Error>> + Send;
}

/// Where the lines of a file come from.
pub(super) trait Lines: Send + 'static {
    /// Writes some more, and returns whether there may be others after them. Reading them from SQLite takes some
    /// milliseconds of an async thread.
    fn write_some(
        &mut self,
        file: &mut Writer<Vec<u8>>,
    ) -> impl Future<Output = Result<bool, Error>> + Send;
}

/// Answers with a file of that name, of that team.
///
/// # Errors
/// [`Overloaded`] while the user downloads another; any error of the first lines.
pub(super) async fn download(
    visit: &Visit,
    team_id: TeamId,
    file_name: &'static str,
    lines: impl Lines,
) -> Result<Response<Bytes>, Failure> {
    // First: a turn is not free again at once.
    let reader = Reader::of(visit)?;
    let turn = visit.site.download(visit.user_id()?);
    let mut download = Download {
        reader,
        team_id,
        lines,
        goes_on: true,
        turn: turn.ok_or(Rejection::Error(Overloaded(Turns)))?,
    };
    let mut answer = Response::new(download.piece().await?);
    let headers = answer.headers_mut();
    let csv = HeaderValue::from_static("text/csv; charset=utf-8");
    headers.insert(CONTENT_TYPE, csv);
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(file_name));
    if download.goes_on {
        answer.extensions_mut().insert(rest_of(visit, download));
    }
    Ok(answer)
}

/// Returns what comes after the first piece of an answer.
///
/// Each is made on a task of its own. When a peer closes its window, nothing asks for the next one any more: whatever making
/// it holds by then, a turn or a connection to the database, would stay held.
pub(super) fn rest_of(visit: &Visit, pieces: impl Pieces) -> Rest {
    let state = (pieces, Arc::clone(&visit.context));
    Rest::new(stream::try_unfold(state, async |(mut pieces, context)| {
        let under_way = context.context().replica.traffic.further_part();
        let made = tokio::spawn(async move {
            let _under_way = under_way;
            let piece = pieces.next().await;
            piece.map(|piece| Some((piece?, pieces)))
        });
        let made = made.await.map_err(Error::internal);
        match made.and_then(|made| made) {
            Ok(made) => Ok(made.map(|(piece, pieces)| (piece, (pieces, context)))),
            Err(error) => {
                // This writes it to the log, as it does every failure.
                problem(&context, error.into());
                Err(BrokenOff)
            }
        }
    }))
}

/// A download that is under way.
struct Download<L> {
    reader: Reader,
    team_id: TeamId,
    lines: L,
    goes_on: bool,
    turn: site::Download,
}

impl<L: Lines> Download<L> {
    /// Returns the next piece; empty at the end.
    ///
    /// The turn is kept until the first piece is about to be charged to its user: of a hundred downloads that start at once,
    /// only a few hold one that is not charged.
    async fn piece(&mut self) -> Result<Bytes, Error> {
        let app = Arc::clone(&self.reader.app);
        app.make_part(self.team_id.into(), self.make_piece()).await
    }

    async fn make_piece(&mut self) -> Result<Bytes, Error> {
        let mut piece = Vec::new();
        while self.goes_on && piece.len() < PIECE {
            let mut file = Writer::new(piece);
            self.goes_on = self.lines.write_some(&mut file).await?;
            piece = file.into_inner().map_err(Error::internal)?;
        }
        piece.shrink_to_fit();
        self.reader.require().await?;
        if !self.goes_on {
            self.turn.is_done();
        }
        Ok(piece.into())
    }
}

impl<L: Lines> Pieces for Download<L> {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let piece = self.piece().await?;
        Ok(Some(piece).filter(|it| !it.is_empty()))
    }
}
