{{ trueup.corrections('orders') }}
