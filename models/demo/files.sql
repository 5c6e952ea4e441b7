{{ config(materialized='trueup', unique_key='path') }}

{{ trueup.commands(
    relation=source('git', 'git_changes'),
    sequence_by=['commit_no', 'change_no'],
    delete_when="op = 'D'",
    columns=['mode', 'blob']
) }}
