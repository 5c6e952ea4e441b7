{{ trueup.batch('orders') }}
