/** Settings of a member, as docs/deployment.md gives them to an operator; names as in Patroni's documentation, "YAML Configuration Settings". */

export type MemberPlace = {
  readonly name: string
  /** For sockets and passwords. */
  readonly folder: string
  /** PostgreSQL's data folder. */
  readonly data: string
  readonly bin: string
  /** Where it listens. */
  readonly ports: { readonly database: number; readonly rest: number }
  /** Where others reach it, and where it reaches etcd. */
  readonly relays: { readonly database: string; readonly rest: string; readonly etcd: string }
}

/** Seconds without renewal after which a leader's lease ends. Patroni wants loop_wait + 2 × retry_timeout ≤ ttl. */
export const TTL_SECONDS = 20
const LOOP_SECONDS = 2
const RETRY_SECONDS = 5

/** Settings of the whole cluster, stored in etcd by the member that makes it. */
const CLUSTER = {
  ttl: TTL_SECONDS,
  loop_wait: LOOP_SECONDS,
  retry_timeout: RETRY_SECONDS,
  // A primary that crashed is not started again where a standby can take its place.
  primary_start_timeout: 0,
  synchronous_mode: true,
  synchronous_mode_strict: true,
  postgresql: { use_pg_rewind: true, parameters: { synchronous_commit: "on", max_connections: 60 } },
}

export const patroniSettings = ({ name, folder, data, bin, ports, relays }: MemberPlace): object => ({
  scope: "runseal",
  name,
  restapi: { listen: `127.0.0.1:${ports.rest}`, connect_address: `127.0.0.1:${relays.rest}` },
  // Without use_proxies Patroni would learn etcd's own address and go past the relay.
  etcd3: { host: `127.0.0.1:${relays.etcd}`, use_proxies: true },
  bootstrap: { dcs: CLUSTER, initdb: [{ encoding: "UTF8" }, { locale: "C" }, "data-checksums", "no-sync"] },
  postgresql: {
    listen: `127.0.0.1:${ports.database}`,
    connect_address: `127.0.0.1:${relays.database}`,
    data_dir: data,
    bin_dir: bin,
    pgpass: `${folder}/${name}.pgpass`,
    authentication: { superuser: { username: "runseal" }, replication: { username: "replicator" } },
    // Loopback, and a cluster that lives for minutes: nobody needs a password.
    pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
    parameters: { unix_socket_directories: folder },
  },
  tags: {},
})
