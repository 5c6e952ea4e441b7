{{ config(schema='published') }}
{{ trueup.collection('orders') }}
