{{ trueup.corrections('files') }}
