{{ trueup.changelog('orders') }}
