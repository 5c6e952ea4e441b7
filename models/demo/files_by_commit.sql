{{ config(materialized='trueup', unique_key='path') }}

{{ trueup.commands(
    relation=source('git', 'git_changes'),
    ts='commit_no',
    sequence_by=['change_no'],
    delete_when="op = 'D'",
    columns=['mode', 'blob']
) }}
