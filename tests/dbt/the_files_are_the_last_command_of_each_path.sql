-- The collection of the demo, computed again in the plainest way: the last command of each path,
-- unless it is a deletion. Fails on each row that only one of the two has.
{{ config(enabled=(project_name == 'trueup')) }}

with

last_commands as (

    select
        path,
        max_by(struct(mode, blob, op), struct(commit_no, change_no)) as command
    from {{ source('git', 'git_changes') }}
    group by path

),

expected as (

    select
        path,
        command.mode,
        command.blob
    from last_commands
    where command.op <> 'D'

),

missing as (

    select * from expected
    except all
    select * from {{ ref('files') }}

),

unexpected as (

    select * from {{ ref('files') }}
    except all
    select * from expected

)

select
    'missing' as problem,
    *
from missing
union all
select
    'unexpected' as problem,
    *
from unexpected
