#!/bin/sh
# Called once by Patroni, with the address of the new cluster: makes the service's user and database.
set -eu
psql --dbname "$1" --no-psqlrc --set ON_ERROR_STOP=1 --set password="$(cat /run/secrets/postgres-password)" <<'SQL'
create role runseal login password :'password';
create database runseal owner runseal;
SQL
