{{ trueup.changelog('files_by_type') }}
