"""The suite of a collection in Great Expectations, and the checkpoint that runs it.

This module can only be imported if Great Expectations is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import great_expectations as gx
from great_expectations.checkpoint.actions import UpdateDataDocsAction
from great_expectations.constants import MAX_RESULT_RECORDS
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)
from great_expectations.expectations.core.expect_column_values_to_be_unique import (
    ExpectColumnValuesToBeUnique,
)
from great_expectations.expectations.core.expect_column_values_to_not_be_null import (
    ExpectColumnValuesToNotBeNull,
)
from great_expectations.expectations.core.expect_compound_columns_to_be_unique import (
    ExpectCompoundColumnsToBeUnique,
)
from great_expectations.expectations.core.unexpected_rows_expectation import (
    UnexpectedRowsExpectation,
)
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dbt_trueup.errors import ExpectationsError

from .report import Finding, Report, describe_row, describe_rows

if TYPE_CHECKING:
    from pathlib import Path

    from great_expectations.core import ExpectationSuite, ExpectationValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import (
        EphemeralDataContext,
    )
    from great_expectations.expectations.expectation import Expectation

    from .collection import Check, Collection


class ExpectNoWrongRows(UnexpectedRowsExpectation):
    """A query must return no rows. If it does return some, the observed value describes them."""

    # Stored suites have these two names, so they stay.
    wrong: str
    """What the rows of the query are."""
    shows: tuple[str, ...] = ()
    """The columns that identify a row; empty for all columns."""

    # The base class would also count the rows, which runs each query once more.
    metric_dependencies: ClassVar[tuple[str, ...]] = ("unexpected_rows_query.table",)

    def _validate(self, metrics: dict[str, Any], *_rest: Any, **_named: Any) -> dict[str, Any]:
        rows = metrics["unexpected_rows_query.table"]
        is_part = len(rows) == MAX_RESULT_RECORDS
        found = describe_rows(self.wrong, len(rows), rows, self.shows, is_part=is_part)
        # JSON cannot hold every value of Spark, so rows become texts.
        details = {"unexpected_rows": [describe_row(row) for row in rows]}
        return {
            "success": not rows,
            "result": {"observed_value": found if rows else 0, "details": details},
        }


def build_suite(collection: Collection) -> ExpectationSuite:
    """Build the suite of a collection. It runs over a batch of the collection's view.

    Args:
        collection: The result of `read_collection`. The queries of its checks name all other
            tables.

    Returns:
        A suite with the name of the collection. It belongs to no context yet. The `meta` of each
        expectation has its name as `check`.
    """
    expected = [*_expect_key(collection), *map(_expect_check, collection.checks)]
    return gx.ExpectationSuite(name=collection.name, expectations=expected)


def _expect_key(collection: Collection) -> list[Expectation]:
    name, key = collection.name, list(collection.unique)
    expected: list[Expectation] = [
        ExpectColumnValuesToNotBeNull(
            column=column,
            description=f"no key of {name} is null",
            meta={"check": "key_is_not_null", "wrong": f"rows of {name} without a key"},
        )
        for column in collection.not_null
    ]
    unique: dict[str, Any] = {
        "description": f"no key of {name} is there twice",
        "meta": {"check": "key_is_unique", "wrong": f"rows of {name} whose key is there twice"},
    }
    if len(key) == 1:
        expected.append(ExpectColumnValuesToBeUnique(column=key[0], **unique))
    elif key:
        # In a composite key a null is an ordinary value.
        expected.append(
            ExpectCompoundColumnsToBeUnique(column_list=key, ignore_row_if="never", **unique)
        )
    return expected


def _expect_check(check: Check) -> Expectation:
    return ExpectNoWrongRows(
        # Great Expectations requires `{batch}` in every query, and fills in everything in braces.
        # Our queries name their tables, so that people can copy them from Data Docs and run them.
        unexpected_rows_query="-- beside {batch}\n"
        + check.query.replace("{", "{{").replace("}", "}}"),
        wrong=check.wrong_rows,
        shows=check.shown_columns,
        description=check.description,
        meta={"check": check.name},
    )


def run_checkpoint(collection: Collection, folder: Path) -> Report:
    """Run the suite of a collection in a checkpoint, keep its results, and build Data Docs.

    Args:
        collection: The result of `read_collection`.
        folder: The folder for suites, results and the site, absolute. The site keeps the results
            of earlier runs and other collections.

    Raises:
        ExpectationsError: The view of the collection does not exist.
    """
    context = open_context(folder)
    suite = build_suite(collection)
    names = [(expectation.meta or {})["check"] for expectation in suite.expectations]
    # Cache nothing: a table may change while this process runs.
    spark = context.data_sources.add_spark("spark", persist=False)
    batch = spark.add_dataframe_asset(collection.table).add_batch_definition_whole_dataframe("all")
    checkpoint = gx.Checkpoint(
        name=collection.name,
        validation_definitions=[
            context.validation_definitions.add(
                gx.ValidationDefinition(
                    name=collection.name, data=batch, suite=context.suites.add_or_update(suite)
                )
            )
        ],
        actions=[UpdateDataDocsAction(name="data_docs")],
        result_format="COMPLETE",
    )
    try:
        frame = SparkSession.builder.getOrCreate().table(collection.table)
    except AnalysisException as error:
        message = f"The collection `{collection.name}` must have its view {collection.table}.\n"
        message += f"Got: {str(error).partition('. ')[0]}; run: dbt run -s {collection.name}"
        raise ExpectationsError(message) from error
    run = context.checkpoints.add(checkpoint).run(
        batch_parameters={"dataframe": frame}, run_id=RunIdentifier(run_name=collection.name)
    )
    ((identifier, validated),) = run.run_results.items()
    (site,) = context.get_docs_sites_urls(resource_identifier=identifier)
    findings = [read_finding(result) for result in validated.results]
    return Report(
        collection=collection.name,
        findings=tuple(sorted(findings, key=lambda finding: names.index(finding.name))),
        page=str(site["site_url"]),
    )


def open_context(folder: Path) -> EphemeralDataContext:
    """Open a context that keeps suites, results and a site of Data Docs in a folder."""

    def in_folder(subfolder: str) -> dict[str, str]:
        path = str(folder / subfolder)
        return {"class_name": "TupleFilesystemStoreBackend", "base_directory": path}

    defaults: Any = InMemoryStoreBackendDefaults()
    defaults.stores["expectations_store"]["store_backend"] = in_folder("suites")
    defaults.stores["validation_results_store"]["store_backend"] = in_folder("results")
    defaults.data_docs_sites = {
        "site": {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "store_backend": in_folder("site"),
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        }
    }
    config = DataContextConfig(
        store_backend_defaults=defaults,
        progress_bars=ProgressBarsConfig(globally=False),
        analytics_enabled=False,
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def read_finding(result: ExpectationValidationResult) -> Finding:
    """Read the outcome of an expectation of a suite from `build_suite`."""
    config: Any = result.expectation_config
    found = result.result
    if result.success:
        reason = ""
    elif "unexpected_count" in found:
        rows = found.get("partial_unexpected_list", [])
        reason = describe_rows(config.meta["wrong"], found["unexpected_count"], rows)
    elif "observed_value" in found:
        reason = found["observed_value"]
    else:
        reason = f"could not be checked: {_first_line(result.exception_info)}"
    return Finding(
        name=config.meta["check"],
        description=config.description,
        has_passed=bool(result.success),
        reason=reason,
    )


def _first_line(raised: Any) -> str:
    """Return the first line of an exception. There may be one for each metric."""
    if "exception_message" in raised:
        return str(raised["exception_message"]).strip().partition("\n")[0]
    return "; ".join(dict.fromkeys(_first_line(one) for one in raised.values()))
