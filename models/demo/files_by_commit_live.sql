{{ config(materialized='table') }}

{{ trueup.live('files_by_commit') }}
