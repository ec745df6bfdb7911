/** The programs of others that the cluster consists of. */
import { spawnSync } from "node:child_process"
import { delimiter, join } from "node:path"
import { findPostgres, type PostgresPrograms } from "@runseal/server/postgres-cluster"
import { executable } from "../../../apps/server/cluster/own-servers.ts"

export type ClusterPrograms = PostgresPrograms & {
  readonly etcd: string
  readonly patroni: string
  readonly pgbouncer: string
}

/** Debian's packages with the programs; Patroni as deploy/patroni/Dockerfile installs it. */
const PACKAGES = { etcd: "etcd-server", patroni: "patroni", pgbouncer: "pgbouncer" } as const

/**
 * The first Patroni under which a member that was suspended does not take the lead back from its successor, and with it acknowledged
 * records: pull request 2689 of Patroni. Debian 12 has an older one.
 */
const PATRONI_VERSION = "3.0.3"

/** Debian has servers here, which is not on the PATH of a user. */
const SYSTEM_PROGRAMS = "/usr/sbin"

/** The path of a program of this machine; undefined: it is not here. */
export const findProgram = (name: string): string | undefined =>
  [...(process.env.PATH ?? "").split(delimiter), SYSTEM_PROGRAMS]
    .filter(folder => folder !== "")
    .map(folder => join(folder, name))
    .find(executable)

/** Finds all of them, or says in a sentence which are missing. */
export function findClusterPrograms(): ClusterPrograms | { readonly missing: string } {
  const postgres = findPostgres()
  const [etcd, patroni, pgbouncer] = [findProgram("etcd"), findProgram("patroni"), findProgram("pgbouncer")]
  const found = { etcd, patroni, pgbouncer }
  const absent = (["etcd", "patroni", "pgbouncer"] as const).filter(name => found[name] === undefined)
  const packages = [...("absent" in postgres ? ["postgresql"] : []), ...absent.map(name => PACKAGES[name])]
  if ("absent" in postgres || etcd === undefined || patroni === undefined || pgbouncer === undefined) {
    return { missing: `not on this machine: ${packages.join(", ")} (names of Debian's packages).` }
  }
  const version = versionOf(patroni)
  if (version.localeCompare(PATRONI_VERSION, "en", { numeric: true }) < 0)
    return { missing: `Patroni here is ${version}: ${PATRONI_VERSION} or later is needed.` }
  return { ...postgres, etcd, patroni, pgbouncer }
}

/** What a program prints of itself, such as `patroni 4.1.5`, without its name. */
const versionOf = (program: string): string =>
  /\d[\d.]*/.exec(spawnSync(program, ["--version"], { encoding: "utf8" }).stdout)?.[0] ?? "0"
