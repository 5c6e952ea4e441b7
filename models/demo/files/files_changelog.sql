{{ trueup.changelog('files') }}
