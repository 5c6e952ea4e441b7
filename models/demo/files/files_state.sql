{{ trueup.state('files') }}
