"""`commutemap justify`: a folder for a board, on settings for a release and what each promises and costs."""

from __future__ import annotations

from pathlib import Path

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.declared_options import declared_options, read_setting
from mapapp.commands.options import STORE, json_option, print_result, quiet_option
from mapapp.kinds.release.make.margin_options import ShownMargins


@click.command()
@click.argument("dataset", type=STORE)
@click.argument("settings", nargs=-1, required=True, metavar="SETTING...")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="New folder for justification.pdf and justification.md.",
)
@declared_options(margins=ShownMargins)
@json_option
@quiet_option
def justify(
    dataset: Path, settings: tuple[str, ...], folder: Path, margins: ShownMargins, as_json: bool, quiet: bool
) -> None:
    """Write what a board needs to decide on a release of DATASET: settings side by side, from public numbers alone.

    A SETTING is a preset of "synthesize", or a TOML file of its options. The document says what each one promises in
    words, what a lone worker risks, the errors to be expected, what is not protected, what the ledger would say, and
    how to check. Nothing is spent, drawn, or read of homes.

    \b
    Examples:
      commutemap justify ri.dataset recommended onthemap-v3 -o board/
      commutemap justify ri.dataset recommended strict.toml -o board/
      commutemap justify ri.dataset recommended -o board/ --segments age --workplaces tract
    """
    from mapapp.analyst.audit.setting import chosen_parameters
    from mapapp.analyst.workbench.justification import document_markdown, justification
    from mapapp.analyst.workbench.setting import Setting
    from mapapp.answers.publication import title_of
    from mapapp.base.whole_files import new_place
    from mapapp.kinds.base.public_counts import require_declared
    from mapapp.kinds.base.residents_only import open_dataset
    from mapapp.kinds.release.make.shown_margins import add_shown_margins
    from mapapp.show.reports.pdf import document_pdf

    names = [Path(setting).stem for setting in settings]
    if len(set(names)) < len(names):
        raise UsageError(f"{' and '.join(names)}: settings side by side need different names")
    read = [read_setting(setting) for setting in settings]
    with show_progress(quiet=quiet) as report, new_place(folder, folder=True) as place:
        report("reading the dataset", 0, 0)
        store = open_dataset(dataset)
        require_declared(store)
        shown = add_shown_margins(store, margins)
        chosen = {
            name: Setting(*chosen_parameters(shown, options))
            for name, options in zip(names, read, strict=True)
        }
        title = title_of(store.manifest, dataset.name)
        document = justification(dataset, title, chosen, margins=margins, report=report)
        (place / "justification.pdf").write_bytes(document_pdf(document))
        (place / "justification.md").write_text(document_markdown(document), encoding="utf-8")
    files = [str(folder / name) for name in ("justification.pdf", "justification.md")]
    print_result({"files": files, "settings": names}, [f"{file}: written" for file in files], as_json=as_json)
