{{ config(
    materialized='trueup',
    unique_key='path',
    meta={'trueup': {'input_upper': 'log_upper - 1'}}
) }}

{{ trueup.commands(
    relation=source('git', 'git_changes'),
    ts='commit_no',
    sequence_by=['change_no'],
    delete_when="op = 'D'",
    columns=['mode', 'blob']
) }}
