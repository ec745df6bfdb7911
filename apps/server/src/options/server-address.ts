/** The address of PostgreSQL: one server, or several of which one takes writes. PostgreSQL documentation, "Connection URIs". */

/** One of the servers. */
export type ServerHost = {
  /** The address with this host alone. */
  readonly url: string
  /** As it was written, with its port; for the operator. */
  readonly name: string
  readonly hostname: string
  readonly port: number
}

export type ServerAddress = {
  readonly hosts: readonly [ServerHost, ...ServerHost[]]
  /** `target_session_attrs`, which is no part of the hosts' own addresses. */
  readonly wanted: string | undefined
}

const MAX_HOSTS = 16
const DEFAULT_PORT = 5432
/** Scheme and user, the hosts, and the rest. */
const ADDRESS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s

/** Undefined for text that is no such address, or names more than 16 hosts. */
export function readServerAddress(text: string): ServerAddress | undefined {
  const [, before, names, after] = ADDRESS.exec(text) ?? []
  if (before === undefined || names === undefined || after === undefined) return undefined
  const read = names.split(",").map(name => readHost(before, name, after))
  const wanted = read[0]?.wanted
  const [first, ...others] = read.flatMap(one => one?.host ?? [])
  if (first === undefined || others.length + 1 !== read.length || read.length > MAX_HOSTS) return undefined
  return { hosts: [first, ...others], wanted }
}

function readHost(before: string, name: string, after: string) {
  const url = URL.parse(`${before}${name}${after}`)
  // Without a host it is the driver's default, which several cannot be.
  if (url === null) return undefined
  const wanted = url.searchParams.get("target_session_attrs") ?? undefined
  url.searchParams.delete("target_session_attrs")
  const host: ServerHost = {
    url: url.href,
    name,
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
  }
  return { host, wanted }
}

/** Whether only a server that takes writes will do. One server is taken for it unless the address asks. */
export const asksForPrimary = ({ hosts, wanted }: ServerAddress): boolean => wanted !== undefined || hosts.length > 1
