"""The ledger: network alone, density alone, both, and what they keep, for every setting that is not told the task."""

from fabricated import fabricate, rewrite
from hibnn.report.page.render import page_of
from hibnn.report.tables.comparison import HEADER as COMPARED
from hibnn.report.tables.comparison import comparison_table
from hibnn.report.tables.ledger import HEADER, ledger_table
from hibnn.report.tables.table import markdown
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below

NUMBERS = {
    **{"acc_network": 0.5, "acc_density": 0.94, "nll": 0.07, "nll_network": 1.5, "nll_density": 0.08},
    **{"bytes_network": 40_000, "bytes_density": 8_550_000, "stored_examples": 0},
}


def study(folder):
    for seed, acc in enumerate((0.95, 0.96)):
        rewrite(fabricate(folder / f"class-{seed}", acc, seed=seed, scenario="class"), "result.json", **NUMBERS)
    fabricate(folder / "task", 0.99)
    er = fabricate(folder / "er", 0.9, method="er", scenario="class")
    rewrite(er, "result.json", acc_network=0.9, nll=0.3, nll_network=0.3, bytes_network=600_000, stored_examples=500)
    fabricate(folder / "waiting", None, scenario="class", method="vcl")
    return records_below([folder])


def test_a_row_has_all_three_answers_bytes_and_examples(tmp_path):
    table = ledger_table(group_by_setting(study(tmp_path)))
    assert len(table.header) == len(HEADER) == len(table.rows[0])
    first, second = ([*row] for row in table.rows)
    assert first[3:] == [
        *("50.00 ± 0.00", "94.00 ± 0.00", "95.50 ± 0.50", "1.5000", "0.0800", "0.0700", "40 kB", "8.55 MB", "0", "2"),
    ]
    assert second[3:] == ["90.00", "-", "90.00", "0.3000", "-", "0.3000", "600 kB", "-", "500", "1"]
    assert "| stored examples |" in markdown(table)


def test_the_papers_tables_have_what_is_alone_beside_both(tmp_path):
    table = comparison_table("mnist", group_by_setting(study(tmp_path)))
    cells = {row[:3]: dict(zip(COMPARED, row, strict=True)) for row in table.rows}
    ibnn = cells["Split MNIST", "class", "IBNN"]
    assert ibnn["network / density alone"] == "50.00 ± 0.00 / 94.00 ± 0.00"
    assert ibnn["bytes: network + density"] == "40 kB + 8.55 MB"
    assert cells["Split MNIST", "class", "VCL"]["network / density alone"] == "-"


def test_the_page_has_the_ledger_where_a_task_is_inferred(tmp_path):
    records = study(tmp_path)
    page = page_of(records, [tmp_path])
    assert '<section id="ledger">' in page
    assert "8.55 MB" in page
    told = [record for record in records if record.scenario == "task"]
    assert '<section id="ledger">' not in page_of(told, [tmp_path])
