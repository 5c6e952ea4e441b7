{{ trueup.batch('files_by_type') }}
