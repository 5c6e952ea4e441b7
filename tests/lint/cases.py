"""Incremental models as people write them, and what the rules find in each."""

from __future__ import annotations

from typing import NamedTuple

MERGE = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}\n"
FIRST = "row_number() over (partition by id order by updated_at desc, position desc) as row_no"
"""A total order of the rows of a key."""


class Case(NamedTuple):
    """A model, and the rules that it breaks, each with its line."""

    sql: str
    found: dict[str, int]


def incremental(condition: str, columns: str = "id, status, updated_at, is_deleted") -> str:
    """A merge of one row per key, with a filter of this condition."""
    return (
        f"{MERGE}select {columns} from (\n"
        f"  select *, {FIRST} from {{{{ source('shop', 'tested') }}}}\n"
        f") as rows where row_no = 1\n"
        f"{{% if is_incremental() %}}\nand {condition}\n{{% endif %}}\n"
    )


GREATEST = "(select max(updated_at) from {{ this }})"

CASES = {
    # The model that most guides show.
    "typical": Case(
        "\n\n{{\n    config(\n        materialized='incremental',\n        unique_key='id',\n"
        "        incremental_strategy='merge'\n    )\n}}\n\n"
        "select id, status, updated_at from {{ source('shop', 'orders') }}\n\n"
        "{% if is_incremental() %}\n"
        "where updated_at > (select max(updated_at) from {{ this }})\n{% endif %}\n",
        {"nullable-key": 6, "no-deduplication": 6, "late-rows-lost": 14, "no-deletes": 14},
    ),
    "clean": Case(
        incremental("updated_at >= (select max(updated_at) - interval 3 days from {{ this }})"), {}
    ),
    # Keys.
    "merge_without_a_key": Case(
        "{{ config(materialized='incremental', incremental_strategy='merge') }}\n"
        "select * from {{ source('shop', 'orders') }}",
        {"no-key": 1},
    ),
    "append_with_a_key": Case(
        "{{ config(materialized='incremental', unique_key='id') }}\n"
        "select distinct id from {{ source('shop', 'tested') }}",
        {"ignored-key": 1},
    ),
    "overwrite_with_a_key": Case(
        "{{ config(materialized='incremental', incremental_strategy='insert_overwrite',"
        " unique_key='id') }}\nselect * from {{ source('shop', 'orders') }}",
        {"ignored-key": 1},
    ),
    "default_with_a_key": Case(
        "{{ config(materialized='incremental', incremental_strategy='default', unique_key='id') }}"
        "\nselect * from {{ source('shop', 'orders') }}",
        {"ignored-key": 1},
    ),
    "append_without_a_key": Case(
        "{{ config(materialized='incremental') }}\nselect * from {{ source('shop', 'orders') }}"
        " where updated_at > (select max(updated_at) from {{ this }})",
        {},
    ),
    "a_table": Case("select uuid() as id from {{ source('shop', 'orders') }}", {}),
    "key_of_two_columns": Case(
        "{{ config(materialized='incremental', incremental_strategy='merge',"
        " unique_key=['id', 'line']) }}\n"
        "select id, line from {{ source('shop', 'tested') }} group by id, line",
        {"nullable-key": 1},
    ),
    "key_that_is_filtered": Case(
        MERGE + "select distinct o.id from {{ source('shop', 'orders') }} as o"
        " where o.id IS NOT NULL",
        {},
    ),
    "key_that_another_column_filters": Case(
        MERGE + "select distinct id from {{ source('shop', 'orders') }} where paid_id is not null",
        {"nullable-key": 1},
    ),
    "key_with_a_default": Case(
        MERGE + "select distinct coalesce(a.id, b.id) as id, x from a, b", {}
    ),
    "key_of_a_macro": Case(
        MERGE + "select distinct {{ surrogate_key(['a', 'b']) }} as id, x from a", {}
    ),
    "key_of_a_hash_that_may_be_null": Case(
        MERGE + "select distinct md5(a) as id, coalesce(b, 1) as x from a", {"nullable-key": 1}
    ),
    "key_with_a_test": Case(MERGE + "select distinct id from a", {}),
    "key_with_a_constraint": Case(MERGE + "select distinct id from a", {}),
    # One row per key.
    "key_that_a_parent_tests": Case(
        MERGE + "select id, status from {{ source('shop', 'tested') }}", {}
    ),
    "two_columns_that_a_parent_tests": Case(
        "{{ config(materialized='incremental', incremental_strategy='merge',"
        " unique_key=['id', 'line']) }}\nselect * from {{ source('shop', 'lines') }}",
        {},
    ),
    "rows_of_a_parent_that_is_deduplicated": Case(
        MERGE + "select * from {{ ref('stg_orders') }}", {}
    ),
    "rows_of_a_parent_with_the_key": Case(
        MERGE + "select * from {{ ref('clean') }} where id is not null", {}
    ),
    # Nothing in the SQL of the parent makes its rows unique: only its `unique_key` says so.
    "rows_of_a_parent_with_only_the_key": Case(
        MERGE + "select * from {{ ref('typical') }} where id is not null", {}
    ),
    "rows_of_a_parent_with_another_key": Case(
        MERGE.replace("'id'", "'status'")
        + "select * from {{ ref('typical') }} where status is not null",
        {"no-deduplication": 1},
    ),
    "rows_of_a_snapshot_with_the_key": Case(
        MERGE + "select id, status from {{ ref('kept') }} where id is not null",
        {"no-deduplication": 1},
    ),
    "rows_of_a_parent_that_only_appends": Case(
        MERGE + "select * from {{ ref('default_with_a_key') }} where id is not null",
        {"no-deduplication": 1},
    ),
    "rows_that_a_macro_deduplicates": Case(
        MERGE + "select * from ({{ only_newest(source('shop', 'orders')) }}) where id is not null",
        {},
    ),
    "qualified_rows": Case(
        MERGE + "select * from {{ source('shop', 'tested') }}\n"
        "qualify row_number() over (partition by id order by updated_at desc, position desc) = 1",
        {},
    ),
    "a_comment_is_not_sql": Case(
        MERGE + "-- group by id, where id is not null\n{# qualify #}"
        "/* select distinct */ select id, 'group by' as x from {{ source('shop', 'orders') }}",
        {"nullable-key": 1, "no-deduplication": 1},
    ),
    "a_count_of_distinct_values_is_no_deduplication": Case(
        MERGE + "select id, (select count(distinct x) from b) as n from a where id is not null",
        {"no-deduplication": 1},
    ),
    # Late rows.
    "at_least_the_greatest": Case(incremental(f"updated_at >= {GREATEST}"), {"late-rows-lost": 6}),
    "greatest_with_a_default": Case(
        incremental(
            "rows.updated_at > (select coalesce(max(updated_at), '1900-01-01') from {{ this }})"
        ),
        {"late-rows-lost": 6},
    ),
    "greatest_in_capitals": Case(
        incremental("UPDATED_AT > (SELECT MAX(UPDATED_AT) FROM {{ this }} AS t)"),
        {"late-rows-lost": 6},
    ),
    "greatest_in_a_cte": Case(
        MERGE + "with last as (\n"
        "  select coalesce(max(updated_at), '1900-01-01') as greatest from {{ this }}\n"
        f"),\nrows as (select *, {FIRST} from {{{{ source('shop', 'tested') }}}})\n"
        "select rows.*, is_deleted from rows cross join last\n"
        "where row_no = 1 and rows.updated_at > last.greatest",
        {"late-rows-lost": 7},
    ),
    "window_around_the_query": Case(incremental(f"updated_at > date_sub({GREATEST}, 3)"), {}),
    "window_in_the_query": Case(
        incremental("updated_at > (select dateadd(day, -3, max(updated_at)) from {{ this }})"), {}
    ),
    "window_after_the_query": Case(incremental(f"updated_at > {GREATEST} - interval '3 days'"), {}),
    "window_on_the_left": Case(incremental(f"updated_at + interval 3 days > {GREATEST}"), {}),
    "window_of_a_variable": Case(
        incremental("updated_at > (select max(updated_at) - {{ var('days') }} from {{ this }})"), {}
    ),
    "window_in_a_cte": Case(
        MERGE + "with last as (\n  select max(updated_at) as greatest from {{ this }}\n),\n"
        f"rows as (select *, {FIRST} from {{{{ source('shop', 'tested') }}}})\n"
        "select rows.*, is_deleted from rows cross join last\n"
        "where row_no = 1 and rows.updated_at > date_sub(last.greatest, 3)",
        {},
    ),
    "greatest_arrival": Case(
        incremental("loaded_at > (select max(loaded_at) from {{ this }})"), {"late-rows-lost": 6}
    ),
    "at_least_the_greatest_arrival": Case(
        incremental("loaded_at >= (select max(loaded_at) from {{ this }})"), {}
    ),
    "arrival_in_the_source_with_another_name_in_the_table": Case(
        incremental("loaded_at >= (select max(updated_at) from {{ this }})"), {}
    ),
    "greatest_number": Case(incremental("id > (select max(id) from {{ this }})"), {}),
    "greatest_of_another_table": Case(
        incremental("updated_at > (select max(updated_at) from {{ source('shop', 'orders') }})"), {}
    ),
    "greatest_is_a_column": Case(
        MERGE + "select id, max(updated_at) as updated_at from {{ source('shop', 'tested') }}"
        " group by id\nunion all select id, updated_at from {{ this }} where is_deleted",
        {},
    ),
    # The clock.
    "days_before_today": Case(
        incremental("updated_at >= date_sub(current_date(), 3)"), {"clock-window": 6}
    ),
    "not_in_the_future": Case(incremental("updated_at <= current_timestamp()"), {}),
    "days_before_today_in_a_subquery": Case(
        incremental("updated_at >= (select current_date() - interval 3 days)"), {"clock-window": 6}
    ),
    "rows_that_are_still_valid": Case(incremental("valid_to > current_timestamp()"), {}),
    "rows_that_end_in_the_future": Case(incremental("end_date >= current_date()"), {}),
    "rows_that_expire_in_the_future": Case(incremental("expires_at > now()"), {}),
    "the_time_of_the_run_as_a_column": Case(
        MERGE + "{% if is_incremental() %}\nselect distinct id, a > 1 as is_big,"
        " current_date() - 1 as loaded_on from {{ source('shop', 'tested') }}\n{% endif %}",
        {"nullable-key": 1},
    ),
    "days_before_today_in_every_run": Case(
        incremental("true").replace("row_no = 1", "row_no = 1 and updated_at > current_date - 90"),
        {},
    ),
    "days_before_today_in_the_first_run": Case(
        incremental("true").replace(
            "{% endif %}", "{% else %} and updated_at > now() - interval 1 year {% endif %}"
        ),
        {},
    ),
    # Updated columns.
    "filter_by_a_column_that_is_not_updated": Case(
        incremental(f"updated_at >= {GREATEST} - interval 3 days").replace(
            "unique_key='id'", "unique_key='id', merge_update_columns=['status']"
        ),
        {"frozen-filter-column": 6},
    ),
    "filter_by_a_column_that_is_excluded": Case(
        incremental(f"updated_at >= {GREATEST} - interval 3 days").replace(
            "unique_key='id'", "unique_key='id', merge_exclude_columns=['Updated_At']"
        ),
        {"frozen-filter-column": 6},
    ),
    "filter_by_a_column_that_is_updated": Case(
        incremental(f"updated_at >= {GREATEST} - interval 3 days").replace(
            "unique_key='id'", "unique_key='id', merge_update_columns=['status', 'updated_at']"
        ),
        {},
    ),
    # Deletes.
    "log_whose_operations_are_not_read": Case(
        MERGE + "select id, status, max_by(v, position) from {{ source('shop', 'log') }}"
        " group by id, status",
        {"no-deletes": 1},
    ),
    "log_of_which_all_columns_are_kept": Case(
        MERGE + "select * from {{ source('shop', 'log') }}"
        " qualify row_number() over (partition by id order by position desc) = 1",
        {},
    ),
    "log_of_which_all_columns_are_kept_through_a_cte": Case(
        MERGE + "with log as (select * from {{ source('shop', 'log') }})"
        " select * from log qualify row_number() over (partition by id order by position) = 1",
        {},
    ),
    "log_whose_operations_are_lost_beside_the_table_itself": Case(
        MERGE + "select id, max(v) as v from {{ source('shop', 'log') }} group by id"
        " union all select * from {{ this }}",
        {"no-deletes": 1},
    ),
    "log_whose_operations_are_lost_after_a_cte": Case(
        MERGE + "with log as (select * from {{ source('shop', 'log') }})"
        " select id, max(v) as v from log group by id",
        {"no-deletes": 1},
    ),
    "log_whose_operations_are_read": Case(
        MERGE + "select id, max_by(v, position) from {{ source('shop', 'log') }}"
        " where op <> 'D' group by id",
        {},
    ),
    "deletes_in_a_hook": Case(
        incremental(
            f"updated_at >= {GREATEST} - interval 3 days", "id, status, updated_at"
        ).replace("unique_key='id'", "unique_key='id', post_hook='delete from x where gone'"),
        {},
    ),
    "rows_that_are_only_added": Case(
        incremental(
            "created_at >= (select max(created_at) - interval 1 day from {{ this }})", "id, status"
        ),
        {},
    ),
    "rows_that_are_updated": Case(
        incremental(f"updated_at >= {GREATEST} - interval 3 days", "id, status, updated_at"),
        {"no-deletes": 6},
    ),
    # Other results in another run.
    "key_of_a_random_number": Case(
        MERGE + "select uuid() as id, v from a group by v", {"random-value": 2}
    ),
    "random_sample_for_developers": Case(
        MERGE + "select * from {{ ref('clean') }} where id is not null\n"
        "{% if target.name == 'dev' %} and rand() < 0.1 limit 10 {% endif %}",
        {},
    ),
    "text_of_a_random_number": Case(
        MERGE + "select distinct coalesce(a, 'uuid()') as id from a", {}
    ),
    "time_of_the_run_as_a_column": Case(
        MERGE + "select distinct id, current_timestamp() as built_at from {{ ref('clean') }}"
        " where id is not null",
        {},
    ),
    "time_of_the_run_in_the_key": Case(
        MERGE + "select distinct concat_ws('-', a, current_timestamp()) as id from a",
        {"random-value": 2},
    ),
    "newest_row_by_time": Case(
        MERGE + "select * from (select *, row_number() over (\n"
        "  partition by id order by updated_at desc nulls last\n) as row_no"
        " from {{ source('shop', 'tested') }}) where row_no = 1",
        {"arbitrary-row": 2},
    ),
    "newest_row_in_no_order": Case(
        MERGE
        + "select * from (select *, row_number() over (partition by id order by (select null))"
        " as n from {{ source('shop', 'tested') }}) where n = 1",
        {"arbitrary-row": 2},
    ),
    "newest_row_by_its_own_key": Case(
        MERGE + "select * from {{ source('shop', 'tested') }}"
        " qualify row_number() over (partition by id order by id) = 1",
        {"arbitrary-row": 2},
    ),
    "newest_row_by_an_expression": Case(
        MERGE + "select * from {{ source('shop', 'tested') }}"
        " qualify row_number() over (partition by id order by struct(a, b) desc) = 1",
        {},
    ),
    "newest_row_in_an_order_of_jinja": Case(
        MERGE + "select * from {{ source('shop', 'tested') }}"
        " qualify row_number() over (partition by id order by {{ var('order') }}) = 1",
        {},
    ),
    "some_rows": Case(
        MERGE + "select distinct * from {{ source('shop', 'tested') }}\nlimit 1000",
        {"limit-without-order": 3},
    ),
    "one_row_of_an_aggregate": Case(
        MERGE + "select distinct * from {{ source('shop', 'tested') }}"
        " where id > (select max(id) from {{ source('shop', 'tested') }} limit 1)",
        {},
    ),
    "first_rows": Case(
        MERGE + "select * from {{ source('shop', 'tested') }} order by id limit 1000", {}
    ),
    # What a model may allow.
    "rows_that_may_allow": Case(
        MERGE.replace(
            "unique_key='id'",
            "unique_key='id', meta={'trueup': {'allow': ['nullable-key', 'no-deduplication']}}",
        )
        + "select id from a",
        {},
    ),
}

PROPERTIES = """\
version: 2
sources:
  - name: shop
    tables:
      - name: orders
      - name: tested
        columns:
          - {name: id, data_tests: [not_null, unique]}
      - name: lines
        data_tests:
          - unique_lines: {arguments: {combination_of_columns: [id, line]}}
        columns:
          - {name: id, data_tests: [not_null]}
          - {name: line, data_tests: [not_null]}
      - name: log
        columns:
          - {name: id, data_tests: [not_null]}
          - {name: op}
models:
  - name: key_with_a_test
    columns:
      - {name: ID, data_tests: [not_null]}
  - name: key_with_a_constraint
    columns:
      - {name: id, constraints: [{type: not_null}]}
snapshots:
  - name: invalidated
    relation: source('shop', 'tested')
    config: {unique_key: id, strategy: check, check_cols: all, hard_deletes: invalidate}
"""

OTHER_FILES = {
    "models/stg_orders.sql": (
        "select id, max_by(status, position) as status from {{ source('shop', 'tested') }}"
        " where id is not null group by id"
    ),
    "models/in_python.py": (
        "def model(dbt, session):\n    dbt.config(materialized='incremental', unique_key='id')\n"
        "    return dbt.source('shop', 'orders')\n"
    ),
    "macros/macros.sql": (
        "{% macro only_newest(relation) %}select * from {{ relation }} qualify"
        " rank() over (partition by id order by position) = 1{% endmacro %}\n"
        "{% macro surrogate_key(columns) %}sha2({{ columns | join }}, 256){% endmacro %}\n"
        "{% test unique_lines(model, combination_of_columns) %}select 1{% endtest %}\n"
    ),
    "snapshots/kept.sql": (
        "\n{% snapshot kept %}\n"
        "{{ config(unique_key='id', strategy='timestamp', updated_at='updated_at') }}\n"
        "select * from {{ source('shop', 'tested') }}\n{% endsnapshot %}\n"
    ),
}

OTHER_FINDINGS = {"in_python": {"ignored-key": 2}, "kept": {"snapshot-deletes": 3}}
