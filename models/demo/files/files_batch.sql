{{ trueup.batch('files') }}
