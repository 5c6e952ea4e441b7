{#-
    The staged batch of a collection, as a select: the updates for the ticks `[lower, upper)` of the
    log, and one progress row. See the YAML beside this file.

    Some facts are known only at run time. Two objects of the Spark session carry them: the variable
    `plan` and the view `steps`. The materialization `trueup_batch` makes both.
-#}
{% macro batch(collection) -%}
    {{- config(materialized='trueup_batch') -}}
    {%- do trueup._require_role('batch', collection) -%}
-- depends_on: {{ trueup._ref(collection, trueup._source_role(collection)) }}
-- depends_on: {{ trueup._ref(collection, 'corrections') }}
{{ trueup._batch_select(trueup._collection('batch')) }}
{%- endmacro %}


{#-
    The select of the staged batch. The model makes it for the options as they are set. The materialization takes
    `_small_batch_select` instead if the batch is small. If the session cannot do what the options ask for, it makes
    this select again. It also makes it again for the first batch with `first_batch: snapshot` (`is_snapshot`), whose
    steps may be only the last commands (`takes_last`).
-#}
{% macro _batch_select(collection, is_snapshot=false, takes_last=false) -%}
    {%- set identity, options = collection.identity, collection.options -%}
    {%- set plan = trueup._session_name(collection.name, 'plan') -%}
    {%- set open_from = plan ~ '.upper' if trueup._is_folded_by_udaf(options) else none -%}
with

-- The fold is by key, so it needs only this shuffle. Order rows and open ticks read the steps again.
steps as (

    select
        {%- if not takes_last %} /*+ repartition({{ trueup._column_list(identity) }}) */{% endif %}
        * except (_step),
        {{ trueup._once_step_expr() }} as _step
    from {{ trueup._session_name(collection.name, 'steps') }}

),

{% if takes_last -%}
{{ trueup._folded_last_commands_ctes() }},
{%- else -%}
{{ trueup._folded_ticks_ctes(
    identity=identity, sequence=trueup._sequence_terms(options), open_from=open_from,
    keeps_orders=options.late == 'newest'
) }},
{%- endif %}

{% if open_from -%}
{{ trueup._folded_open_ticks_ctes(identity=identity, upper=open_from) }},

{% endif -%}
{{ trueup._taken_steps_ctes(identity, is_snapshot=is_snapshot and not takes_last) }},

{{ trueup._updates_ctes(
    identity=identity,
    provisional=trueup._session_name(collection.name, 'provisional') if options.eager,
    open_sides=open_from is not none,
    keeps_orders=options.late == 'newest'
) }},

{{ trueup._progress_ctes(collection) }},

{{ trueup._certificate_after_ctes(changelog=collection.changelog, last_seq=plan ~ '.seq - 1') }},

staged as (

    select * except (_digest), null as _certificate from updates
    union all
    select
        * except (_statistics, _digest_marks, _certificate),
        struct(_statistics.*, {{ trueup._staged_seal_expr(plan) }} as seal) as _statistics,
        _certificate
    from progress
    cross join certificate

)

select
    {{ trueup._column_list(identity[:-1]) }},
    _value.*,
    _error_key,
    _ts,
    _diff,
    _cause,
    _kind,
    {{ plan }}.seq as _seq,
    {{ plan }}.lower as _lower,
    {{ plan }}.upper as _upper,
    {{ plan }}.batch_id as _batch_id,
    _statistics,
    _certificate
from staged
{%- endmacro %}
