{{ trueup.state('files_by_type') }}
