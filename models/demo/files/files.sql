{{ trueup.collection('files') }}
