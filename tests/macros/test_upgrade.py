"""Tables that another version of trueup has written, without a warehouse."""

from __future__ import annotations

from dataclasses import replace

from tests.macros.package import Package, Relation, in_model, one_line, refused, table_information

TRUEUP = in_model("files_batch")
NAMES = [field["name"] for field in TRUEUP._statistics_fields()]


def test_the_statistics_of_a_table_are_read_from_what_dbt_knows_of_it() -> None:
    assert TRUEUP._described_statistics(table_information()) == NAMES
    nested = "root\n |-- v: struct\n |    |-- position: int\n |-- _statistics: struct\n"
    nested += " |    |-- ties: long\n |    |-- seal: struct\n |    |    |-- own: long\n"
    nested += " |-- _certificate: array\n |    |-- element: struct\n"
    assert TRUEUP._described_statistics(nested) == ["ties", "seal"]
    assert TRUEUP._described_statistics("") == []


def test_missing_statistics_are_added_at_their_place() -> None:
    missing = [field for field in TRUEUP._statistics_fields() if field["name"] in NAMES[1:3]]
    sql = one_line(TRUEUP._add_statistics_sql(Relation(None, "lake", "files_changelog"), missing))
    added = [f"_statistics.{NAMES[at]} bigint after {NAMES[at - 1]}" for at in (1, 2)]
    assert sql.endswith(f"alter table lake.files_changelog add columns ( {', '.join(added)} )")


def test_an_operation_says_what_to_do_with_a_table_of_an_earlier_version() -> None:
    changelog = Relation(None, "lake", "files_changelog")
    now = table_information()
    earlier = "\n".join(line for line in now.splitlines() if f" {NAMES[0]}:" not in line)

    def knowing(information: str) -> Package:
        known = replace(changelog, information=information)
        return Package({**TRUEUP.context, "load_relation": lambda _: known})

    knowing(now)._require_upgraded("files", changelog)
    _, given, then = refused(knowing(earlier)._require_upgraded, "files", changelog)
    assert given == f"Got: a table of an earlier version, without {NAMES[0]}"
    assert "dbt run -s +files. Then call it again." in then


def test_a_table_of_a_later_version_is_refused() -> None:
    changelog = Relation(None, "lake", "files_changelog")
    for number in (None, TRUEUP._format_number()):
        TRUEUP._require_known_format(changelog, number)

    later = TRUEUP._format_number() + 1
    required, given, _ = refused(TRUEUP._require_known_format, changelog, later)
    assert required.startswith("The table lake.files_changelog must be written by this version")
    assert given == f"Got: format {later}"
