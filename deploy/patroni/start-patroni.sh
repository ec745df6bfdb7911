#!/bin/sh
# Starts Patroni with its passwords, which it reads from variables only, and its name and addresses: those of this host.
set -eu
host=${MEMBER_HOST:-$(hostname)}
PATRONI_NAME=$(hostname)
PATRONI_RESTAPI_CONNECT_ADDRESS="$host:8008"
PATRONI_POSTGRESQL_CONNECT_ADDRESS="$host:5432"
PATRONI_SUPERUSER_PASSWORD=$(cat /run/secrets/superuser-password)
PATRONI_REPLICATION_PASSWORD=$(cat /run/secrets/replication-password)
export PATRONI_NAME PATRONI_RESTAPI_CONNECT_ADDRESS PATRONI_POSTGRESQL_CONNECT_ADDRESS
export PATRONI_SUPERUSER_PASSWORD PATRONI_REPLICATION_PASSWORD
exec patroni /etc/patroni/runseal.yml
