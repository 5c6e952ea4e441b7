{{ trueup.collection('files_by_type') }}
