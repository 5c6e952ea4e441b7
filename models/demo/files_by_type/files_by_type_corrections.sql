{{ trueup.corrections('files_by_type') }}
