{#-
    The steps of a batch, and the notes, as a select. `_step_numbers` lists the notes. In a note the
    numbers of the plan are data. In expressions they would become part of the code that Spark generates, and each
    batch would compile it again.
-#}
{% macro _steps_and_notes_select(collection) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set plan = trueup._session_name(collection.name, 'plan') -%}
    {%- set fields = ['bucket'] + trueup._certificate_fields() -%}
    {%- set sequence = trueup._sequence_terms(collection.options) -%}
select
    {{ trueup._column_list(collection.identity) }},
    {{ trueup._step_columns(sequence) | join(',\n    ') }},
    _digest,
    null as _certificate_entry,
    null as _step_plan
from {{ trueup._session_name(collection.name, 'steps') }}
    {%- for note in [
        {'step': step.applied_note, 'ts': '_seq', 'source': trueup._applied_select(collection)},
        {
            'step': step.certificate_note, 'ts': 'bucket', 'entry': 'struct(' ~ (fields | join(', ')) ~ ')',
            'source': trueup._stored_certificate_select(collection.changelog, plan ~ '.seq - 1')
        },
        {'step': step.progress_note, 'plan': plan, 'source': 'select ' ~ step.progress_note ~ ' as step'},
    ] %}
union all
select
        {%- for name in collection.unique_key %}
    null as {{ trueup._quoted(name) }},
        {%- endfor %}
    {{ trueup._literal(trueup._order_key_prefix()) }} as _error_key,
    {{ note.step }} as _step,
    {{ note.get('ts', 'null') }} as _ts,
        {%- for name in ['_cause'] + sequence %}
    null as {{ name }},
        {%- endfor %}
    null as _digest,
    {{ note.get('entry', 'null') }} as _certificate_entry,
    {{ note.get('plan', 'null') }} as _step_plan
from {{ trueup._subquery(note.source) }} as notes
    {%- endfor %}
{%- endmacro %}
