//! `invoicing product import`: imports a file of any size, in steps for which others hardly wait.
//!
//! 1. The whole file is planned, step by step, before anything is changed. Only counts, the refused lines, and the products
//!    and skus of the lines so far ([`Seen`]) are kept.
//! 2. If a line is refused, nothing is imported, unless the command was told to skip such lines.
//! 3. Then each step is planned once more and carried out, in a transaction of its own. If the catalog is changed meanwhile,
//!    the step is planned again.
//! 4. After an interruption, the same command continues: lines that were imported match their products. For that, a line
//!    needs an id or a sku. One that has neither would be added again, so it is refused unless allowed explicitly; then each
//!    step reports up to which line everything is imported, and `--from-line` continues behind it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;

use crate::app::App;
use crate::cli::command_error::CommandError;
use crate::cli::output::{Output, say};
use crate::cli::progress::bar;
use crate::cli::record::Record;
use crate::cli::word::one_of;
use crate::domain::Error;
use crate::domain::catalog::{Catalog, Mode};
use crate::domain::product_csv::{Lines, Reader, Reason, Unreadable};
use crate::domain::product_import::{Counts, ImportPlan, Planned, Seen};
use crate::domain::team::NamedTeam;

/// The most lines whose reasons are reported; the others are counted.
const TOLD: usize = 1_000;

/// How often a step is tried when the catalog changes under it, or the database does not answer in time.
const ATTEMPTS: u32 = 5;

/// The pause after the database did not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// Adds and changes products from a CSV file, and archives none.
///
/// The first line names the columns, in any order: id, name, unitPrice, currency, description, sku, taxRate, type,
/// unitOfMeasure, status. A line is for the product with its id, or else the active product with its sku; otherwise it is a
/// new product. A missing column leaves that field of a product as it is, and an empty cell clears it.
///
/// All lines are checked before anything is changed. They are then imported in steps of at most 1000 lines, each of them
/// whole or not at all. After an interruption, run the same command again: what is already imported is found unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
    invoicing product import products.csv --team Acme --mode live --dry-run
    invoicing product import products.csv --team Acme --mode live"#)]
pub(crate) struct Import {
    /// The CSV file; - is standard input.
    file: PathBuf,
    /// The team, by its id or its name.
    #[arg(long, value_name = "TEAM")]
    team: NamedTeam,
    /// Which of the team's two catalogs to import into.
    #[arg(long, value_parser = one_of(Mode::ALL))]
    mode: Mode,
    /// Only report what would be done.
    #[arg(long)]
    dry_run: bool,
    /// If some lines are refused, import the others, instead of none.
    #[arg(long)]
    skip_refused: bool,
    /// Also add products from lines with neither id nor sku; importing such a line again adds it again.
    #[arg(long)]
    allow_without_sku: bool,
    /// Skip the lines of the file before this one.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    from_line: u64,
}

/// What is known about the lines so far.
#[derive(Default)]
struct Tally {
    counts: Counts,
    /// The lines that are not imported.
    refused: HashSet<u64>,
    told: Vec<Record>,
}

impl Tally {
    fn refuse(&mut self, number: u64, reasons: &[Reason]) {
        self.refused.insert(number);
        let room = TOLD.saturating_sub(self.told.len());
        self.told.extend(reasons.iter().take(room).map(|reason| {
            Record::default()
                .with("line", number)
                .with_optional("column", reason.column)
                .with("reason", reason.text.as_ref())
        }));
    }
}

impl Import {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        let catalog = Catalog {
            team_id: app.get_team(self.team.clone()).await?.id,
            mode: self.mode,
        };
        let mut file = open(&self.file)?;
        let mut tally = self.check(app, catalog, &file).await?;
        let refused = !tally.refused.is_empty();
        let carried_out = !self.dry_run && (!refused || self.skip_refused);
        if carried_out {
            file.rewind()?;
            tally.counts = Counts {
                refused: tally.counts.refused,
                ..self.carry_out(app, catalog, &file, &tally.refused).await?
            };
        }
        let Tally { counts, told, .. } = tally;
        let record = Record::default()
            .with_text("id", catalog.team_id)
            .with_text("mode", catalog.mode)
            .with("imported", carried_out)
            .with("new", counts.new)
            .with("changed", counts.changed)
            .with("unchanged", counts.unchanged)
            .with("refused", counts.refused);
        if !refused {
            return Ok(Output::with_list(record, "refusedLines", told));
        }
        let done = match (carried_out, self.dry_run) {
            (true, _) => "the others are imported",
            (false, true) => "nothing was to be imported",
            (false, false) => {
                "nothing is imported; correct them, or import the others with --skip-refused"
            }
        };
        let why = format!("{} lines are refused; {done}", counts.refused);
        Ok(Output::with_list(record, "refusedLines", told).failing(why))
    }

    /// Step 1.
    async fn check(&self, app: &App, catalog: Catalog, file: &File) -> Result<Tally, CommandError> {
        let (mut tally, mut seen) = (Tally::default(), Seen::default());
        let bar = bar();
        bar.set_message("checking");
        bar.set_length(file.metadata()?.len());
        let mut reader = Reader::new(file)?;
        while let Some(lines) = Lines::next(&mut reader, |line| line.number >= self.from_line)? {
            let mut plan = app.plan_import(catalog, lines, &mut seen).await?;
            if !self.allow_without_sku {
                refuse_without_sku(&mut plan);
            }
            tally.counts = tally.counts + Counts::of(&plan.planned);
            for line in &plan.planned {
                if let Planned::Refused(reasons) = &line.planned {
                    tally.refuse(line.number, reasons);
                }
            }
            bar.set_position(reader.bytes());
        }
        bar.finish_and_clear();
        Ok(tally)
    }

    /// Step 3.
    async fn carry_out(
        &self,
        app: &App,
        catalog: Catalog,
        file: &File,
        refused: &HashSet<u64>,
    ) -> Result<Counts, CommandError> {
        let (mut counts, mut pause) = (Counts::default(), Duration::ZERO);
        // Everything before this line is imported.
        let mut next = self.from_line.max(2);
        let mut interrupted = pin!(tokio::signal::ctrl_c());
        let bar = bar();
        bar.set_message("importing");
        bar.set_length(file.metadata()?.len());
        let mut reader = Reader::new(file)?;
        let wanted = |number: u64| number >= self.from_line && !refused.contains(&number);
        while let Some(lines) = Lines::next(&mut reader, |line| wanted(line.number))? {
            // Behind the report of the step before.
            tokio::time::sleep(pause).await;
            if interrupted.as_mut().now_or_never().is_some() {
                return Err(self.stopped(next, "interrupted"));
            }
            let Some(last) = lines.last().map(|line| line.number) else {
                continue;
            };
            match carry_out_step(app, catalog, lines).await {
                Ok((done, its_pause)) => (counts, pause) = (counts + done, its_pause),
                Err(why) => return Err(self.stopped(next, &why)),
            }
            next = last + 1;
            if self.allow_without_sku {
                let told = format!("note: all is imported up to line {last}");
                bar.suspend(|| say(&told));
            }
            bar.set_position(reader.bytes());
        }
        bar.finish_and_clear();
        // Each step that changes something waits for all before it.
        if counts.new + counts.changed == 0 {
            let there = app.rely_on_imports(catalog.team_id).await;
            there.map_err(|error| {
                let why = error.with_causes();
                CommandError::Failed(format!(
                    "{why}; all lines were imported before, but the database may still lose that; run the same command again"
                ))
            })?;
        }
        Ok(counts)
    }

    /// The error for a step that was not carried out, with what to do next.
    fn stopped(&self, next: u64, why: &str) -> CommandError {
        let go_on = match self.allow_without_sku {
            false => "run the same command again to go on".to_owned(),
            true => format!(
                "see whether the lines from {next} on are there, then go on with --from-line"
            ),
        };
        let done = match next {
            ..=2 => "nothing is known to be imported".to_owned(),
            _ => format!("all is imported up to line {}", next - 1),
        };
        CommandError::Failed(format!("{why}; {done}; {go_on}"))
    }
}

/// Plans a step and carries it out. The error is the reason why it was not.
async fn carry_out_step(
    app: &App,
    catalog: Catalog,
    lines: Lines,
) -> Result<(Counts, Duration), String> {
    let mut attempt = 1;
    loop {
        let mut seen = Seen::default();
        let plan = app.plan_import(catalog, lines.clone(), &mut seen).await;
        let plan = plan.map_err(|error| error.with_causes())?;
        let counts = plan.counts();
        let refused = plan.planned.iter().find_map(|line| match &line.planned {
            Planned::Refused(reasons) => Some((line.number, reasons.first()?)),
            _ => None,
        });
        if let Some((number, reason)) = refused {
            return Err(format!(
                "the catalog has changed meanwhile, and line {number} is refused: {reason}"
            ));
        }
        if counts.new + counts.changed == 0 {
            return Ok((counts, Duration::ZERO));
        }
        let again = attempt < ATTEMPTS;
        match app.carry_out_import(&plan).await {
            Ok(pause) => return Ok((counts, pause)),
            Err(Error::CatalogChanged) if again => {}
            // It may have been committed: then it is found unchanged.
            Err(Error::Unavailable(_)) if again && !adds_without_sku(&plan) => {
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.with_causes()),
        }
        attempt += 1;
    }
}

fn adds_without_sku(plan: &ImportPlan) -> bool {
    let mut lines = plan.planned.iter();
    lines.any(|line| line.planned.is_without_sku())
}

/// Step 4: refuses what a second import would add again.
fn refuse_without_sku(plan: &mut ImportPlan) {
    for line in &mut plan.planned {
        if line.planned.is_without_sku() {
            let text = "has neither id nor sku, by which to know it when it is imported again; \
                        give it a sku, or ask for it with --allow-without-sku";
            line.planned = Planned::Refused(vec![Reason::of_line(text)]);
        }
    }
}

/// Opens the file, which is read twice: a source that cannot be is copied first.
fn open(path: &Path) -> Result<File, CommandError> {
    let unreadable =
        |error: io::Error| CommandError::Failed(format!("cannot read {}: {error}", path.display()));
    if path == Path::new("-") {
        return copied(io::stdin()).map_err(unreadable);
    }
    let file = File::open(path).map_err(unreadable)?;
    let kind = file.metadata().map_err(unreadable)?;
    match kind.is_file() {
        true => Ok(file),
        false => copied(file).map_err(unreadable),
    }
}

fn copied(mut from: impl io::Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut from, &mut file)?;
    file.flush()?;
    file.rewind()?;
    Ok(file)
}

impl From<Unreadable> for CommandError {
    fn from(error: Unreadable) -> Self {
        Self::Failed(error.to_string())
    }
}
