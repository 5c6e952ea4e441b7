{{ trueup.errors('files') }}
