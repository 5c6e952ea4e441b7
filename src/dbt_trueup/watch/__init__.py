"""The warm runner: `trueup watch` runs collections again as their logs grow, in one process.

dbt does the work. A round is one `dbt run` by `dbtRunner`. It uses the Spark session of the rounds
before, and the project is parsed only once. Between rounds the watcher looks only at the versions
of the tables that the models read, and at the times of the project's files.
"""
