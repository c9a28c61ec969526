//! `kgen schema`: the JSON Schemas of documents that commands print.

use clap::{Args, builder::PossibleValuesParser};

use crate::{
    cli::{
        CommandError, Context,
        exit_codes::Exit,
        schemas::{self, OutputSchema},
        ui,
    },
    report::TextTable,
};

/// Print the JSON Schema of what a command prints with --format json
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Schema, for example eval; left out, all are listed
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(names()))]
    name: Option<String>,
}

fn names() -> impl Iterator<Item = &'static str> {
    schemas::ALL.iter().map(|schema| schema.name)
}

pub(crate) fn run(context: &Context, args: &SchemaArgs) -> Result<Exit, CommandError> {
    let text = match args.name.as_deref().and_then(OutputSchema::find) {
        Some(schema) => ui::json_text(&schema.json()),
        None => {
            let mut table = TextTable::new(&["name", "schema"]);
            for schema in schemas::ALL {
                table.row(vec![schema.name.to_owned(), schema.id()]);
            }
            table.fit(context.ui.screen())
        }
    };
    context.ui.data(&text)?;
    Ok(Exit::Ok)
}
