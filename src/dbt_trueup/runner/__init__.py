"""Runs a dbt project again and again in one warm process. `trueup run` and `trueup watch` use it.

dbt does the work. A round is one `dbt run` by `dbtRunner`. It uses the Spark session of the rounds
before, and the project is parsed only once.
"""
