{#-
    Verification by snapshots. A state is right if each commit since the last scan was one of trueup's own.
    This needs no scan, and it finds edits that go through the table format. Damage below the table format
    is found only by the next scan. Three properties of the state describe the last scan:
    `trueup.scanned_snapshot`, `trueup.scanned_seq` (the batch) and `trueup.scanned_at` (seconds since 1970). Instead of
    a snapshot there may be the word `trusted`: a heal or a rebuild has made the state right. A run that forgets the
    scan leaves its name in `trueup.forgotten`. The state may then have wrong rows, until a scan or a heal repeats this
    name in `trueup.noted_after`.
-#}

{#- Whether this run scans the state, whatever its snapshots say. `always` scans after every 100 batches. -#}
{% macro _is_scan_due(verify, properties, last_seq) -%}
    {%- if verify == 'content' -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set every = 100 if verify == 'always' else verify -%}
    {{ return(last_seq // every > properties.get('trueup.scanned_seq', '-1') | int // every) }}
{%- endmacro %}


{#-
    Why this run must not stage the batch: somebody else may have written to the state since it was verified, or nobody
    has verified it. None if there is no such doubt. The batch is a model of its own, perhaps of another run of dbt. A
    wrong row of the state may be the prior value of a command. There is no doubt in these cases:

    - The option `verify` of the corrections is `never` or `content`, or there is no batch yet.
    - A heal or a rebuild has made the state right, so no scan is noted; and this run has not verified the state. If it
      has, there is a doubt also without a note: whoever edits the state may remove the note, too.
    - Nobody has written to the state since this run verified it.
    - The state has as many commits since the noted scan as batches, so each commit applied a batch. Without a noted
      scan both are counted from the verification of this run. If this run has healed the state, that is one commit
      more.
    - Another run has applied a batch. The append finds that out, and follows the option `on_conflict`.
-#}
{% macro _get_state_doubt(collection, plan) -%}
    {%- set verify = trueup._sibling_options(collection, 'corrections').verify -%}
    {%- set state = collection.state -%}
    {%- set properties = trueup._get_properties(state) -%}
    {%- do trueup._keep_finding(collection, 'staged_on_snapshot', trueup._iceberg_snapshot(properties)) -%}
    {%- if verify in ['never', 'content'] or plan.last_seq == 0 -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set snapshot = trueup._get_snapshot(state, properties) -%}
    {%- set scanned = trueup._scanned_snapshot(properties) -%}
    {%- set verified_by = trueup._finding(collection, 'state_verified_by') -%}
    {%- set verified = trueup._finding(collection, 'verified_snapshot') -%}
    {#- This run itself may have forgotten the scan, to rewrite the dates of a state that it had verified. -#}
    {%- set has_rewritten = verified_by and verified is none -%}
    {%- if trueup._is_unverified(properties) and not has_rewritten -%}
        {{ return('nobody has verified ' ~ state ~ ' since ' ~ (
            'trueup forgot its last scan' if 'trueup.scanned_snapshot' in properties else 'it was made or replaced'
        )) }}
    {%- endif -%}
    {%- set verified = verified if verified_by else none -%}
    {%- set commits = trueup._get_commits_since(verified, state, properties, snapshot) -%}
    {%- if commits == 0 or scanned is none and verified is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- if scanned is none -%}
        {%- set own = plan.last_seq - trueup._finding(collection, 'verified_seq') + (verified_by == 'heal') | int -%}
    {%- else -%}
        {%- set own = trueup._batches_since_scan(properties, plan.last_seq) -%}
        {%- set commits = trueup._get_commits_since(scanned, state, properties, snapshot) -%}
    {%- endif -%}
    {%- if commits == own or trueup._get_applied_seq(state) > plan.last_seq -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(
        ('the snapshots do not tell who wrote to ' if commits is none else 'somebody wrote to ')
        ~ state ~ ' after it was verified'
    ) }}
{%- endmacro %}


{#-
    Whether only trueup has written to the state since the last scan, up to the batch `last_seq`. Each batch
    is applied by one commit, which moves the progress row. So there must be as many commits that change rows as
    batches. Where trueup itself breaks this rule, it forgets the scan (`_ensure_scan_forgotten`).

    `properties` and `snapshot` are those of the state, read after `last_seq`. So a batch that another run
    applies meanwhile leads to a scan, and never hides an edit.
-#}
{% macro _get_is_untouched(state, properties, snapshot, last_seq) -%}
    {%- set commits = trueup._get_commits_since_scan(state, properties, snapshot) -%}
    {{ return(commits is not none and commits == trueup._batches_since_scan(properties, last_seq)) }}
{%- endmacro %}


{#- How many commits have changed rows of the state since the last scan; none if its snapshots do not tell. -#}
{% macro _get_commits_since_scan(state, properties, snapshot) -%}
    {{ return(trueup._get_commits_since(trueup._scanned_snapshot(properties), state, properties, snapshot)) }}
{%- endmacro %}


{#-
    How many commits have changed rows of the state after the snapshot `first`, which is not older than the last scan;
    none if its snapshots do not tell.
-#}
{% macro _get_commits_since(first, state, properties, snapshot) -%}
    {%- if first is none or snapshot is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set operations = trueup._get_commit_operations(
        state, properties, first, snapshot, properties.get('trueup.scanned_at', 0) | int
    ) -%}
    {{ return(none if operations is none else trueup._row_changes(operations) | length) }}
{%- endmacro %}


{#- How many batches follow the one at which the state was scanned, up to `last_seq`. -#}
{% macro _batches_since_scan(properties, last_seq) -%}
    {{ return(last_seq - properties['trueup.scanned_seq'] | int) }}
{%- endmacro %}
