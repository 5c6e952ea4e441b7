{{ trueup.errors('orders') }}
