{{ config(alias='orders_now') }}
{{ trueup.state('orders') }}
